/* `N`: launches N times. `N END`: then ends in another way: `kill` and `term` by a signal,
   `abort`, `fault`, `_exit`, `quick`, `call` by the system call alone, `last` by a thread
   that outlives main and launches N times more. `N limit BYTES`: lowers its own
   RLIMIT_FSIZE first. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

static void *outlives(void *count) {
    for (int i = 0; i < (int)(intptr_t)count; i++) LAUNCH1(alpha(NULL, i, 0));
    exit(3);
}

int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (i == 100 && argc > 3) {
            struct rlimit limit = {(rlim_t)atol(argv[3]), (rlim_t)atol(argv[3])};
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        LAUNCH1(alpha(NULL, i, 0));
    }
    printf("%lu\n", stub_launches());
    fflush(stdout);
    const char *end = argc > 2 ? argv[2] : "";
    if (!strcmp(end, "kill")) raise(SIGKILL);
    if (!strcmp(end, "term")) raise(SIGTERM);
    if (!strcmp(end, "abort")) abort();
    if (!strcmp(end, "fault")) *(volatile int *)8 = 1;
    if (!strcmp(end, "_exit")) _exit(3);
    if (!strcmp(end, "quick")) quick_exit(3);
    if (!strcmp(end, "call")) syscall(SYS_exit_group, 3);
    if (!strcmp(end, "last")) {
        pthread_t thread;
        pthread_create(&thread, NULL, outlives, (void *)(intptr_t)atoi(argv[1]));
        pthread_exit(NULL);
    }
    return 0;
}
