// Runs this program again as another process, with other arguments: effects on the
// process, and the way it ends, do not reach the next one.
//
// For programs with and without CUDA, and for libraries: nothing here may keep a library from being
// unloaded, as std::to_string and static members of templates do.
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

// Time limit of a process, in seconds. Alone each takes 1 to 4 on an H200; contexts are created one
// at a time there, so beside many programs that create some it takes long.
static const int PATIENCE = 50;

// Prints to stderr where the threads of a process are in the kernel, and what they wait for.
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

// Runs this program with one or two arguments, and reports a bad end.
static inline void again(const char *one, const char *two = nullptr, int patience = PATIENCE)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "again", one, two, (char *)nullptr);
        _exit(127);
    }
    int status = 0;
    // By a time limit, not by a signal of its own: threads that block signals need SIGKILL.
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
