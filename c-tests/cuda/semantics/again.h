// Runs this program again as a process of its own, with other words: what one does to its
// process, and how it ends, the next does not see.
//
// For programs with and without CUDA, and for libraries: nothing here may keep a library from being
// unloaded, as std::to_string does and static members of templates do.
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

// Seconds until a process that does not end is ended. Alone each takes 1 to 4 on an H200; contexts are made one
// after the other there, so beside many programs that make some it takes long.
static const int PATIENCE = 50;

// Where the threads of a process are, on stderr: what they wait for in the kernel, if they do.
static inline void tell_threads(pid_t pid)
{
    char path[320], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    while (struct dirent *task = tasks ? readdir(tasks) : nullptr) {
        if (task->d_name[0] == '.')
            continue;
        fprintf(stderr, "  thread %s:", task->d_name);
        for (const char *what : {"comm", "wchan", "syscall"}) {
            snprintf(path, sizeof path, "/proc/%d/task/%s/%s", (int)pid, task->d_name, what);
            FILE *file = fopen(path, "r");
            size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
            if (file)
                fclose(file);
            text[length] = 0;
            text[strcspn(text, "\n")] = 0;
            fprintf(stderr, " %s", text);
        }
        fprintf(stderr, "\n");
    }
    if (tasks)
        closedir(tasks);
}

// Runs this program with one or two words, and says how it ended where that is not well.
static inline void again(const char *one, const char *two = nullptr, int patience = PATIENCE)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "again", one, two, (char *)nullptr);
        _exit(127);
    }
    int status = 0;
    // By time and not by a signal of its own: threads that block signals need the one that they cannot.
    for (int tries = 0; waitpid(pid, &status, WNOHANG) == 0; tries++) {
        if (tries == patience * 100) {
            fprintf(stderr, "%s: still running after %d s\n", one, patience);
            tell_threads(pid);
            kill(pid, SIGKILL);
        }
        usleep(10000);
    }
    const char *between = two ? " " : "";
    two = two ? two : "";
    if (WIFSIGNALED(status))
        printf("%s%s%s: ended by signal %d\n", one, between, two, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("%s%s%s: ended with %d\n", one, between, two, WEXITSTATUS(status));
    fflush(stdout);
}
