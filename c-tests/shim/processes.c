/* `before`, `after`: fork before and after the first use of CUDA. `clone`: the raw system
   call. `vfork`: vfork and exec of this program. `exec`: exec of this program, the same
   process id twice. `many`: forks of forks. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

static void one(unsigned n) { LAUNCH(d3(n, 1, 1), d3(1, 1, 1), 0, NULL, alpha(NULL, (int)n, 0)); }
static void two(unsigned n) { one(n), one(n + 1); }

static void wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *mode = argv[1];
    (void)argc;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(mode, "leaf")) {
        two(50);
        return 9;
    }
    if (!strcmp(mode, "before")) {
        pid_t child = fork();
        if (!child) { two(10); exit(4); }
        wait_for(child);
        two(20);
    } else if (!strcmp(mode, "after")) {
        two(20);
        for (unsigned i = 0; i < 3; i++) {
            pid_t child = fork();
            if (!child) { two(30 + 10 * i); if (i == 1) _exit(5); exit(4); }
            two(100 + 10 * i);
            wait_for(child);
        }
    } else if (!strcmp(mode, "clone")) {
        two(20);
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!child) { two(10); _exit(6); }
        wait_for(child);
        two(40);
    } else if (!strcmp(mode, "vfork")) {
        two(20);
        pid_t child = vfork();
        if (!child) { execl("/proc/self/exe", argv[0], "leaf", NULL); _exit(1); }
        wait_for(child);
        two(40);
    } else if (!strcmp(mode, "exec")) {
        two(20);
        execl("/proc/self/exe", argv[0], "leaf", NULL);
        return 1;
    } else if (!strcmp(mode, "many")) {
        two(20);
        for (int level = 0; level < 4; level++) {
            pid_t child = fork();
            if (child) { int status; waitpid(child, &status, 0); exit(0); }
            two(100 * (level + 1));
        }
    }
    return 0;
}
