/* A signal handler that launches while the program launches. */
#include <signal.h>
#include <sys/time.h>

#include "cuda.h"

static volatile int handled;

static void handler(int number) {
    (void)number;
    if (handled >= 50) return;
    handled++;
    cudaLaunchKernel((void *)beta, d3(2, 1, 1), d3(1, 1, 1), NULL, 0, NULL);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    /* The handler makes the first launch of the process. */
    raise(SIGUSR1);
    struct itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &often, NULL);
    int launches = 0;
    while (handled < 50) {
        cudaLaunchKernel((void *)beta, d3(1, 1, 1), d3(1, 1, 1), NULL, 0, NULL);
        launches++;
    }
    printf("%s\n", stub_launches() == (unsigned long)(launches + handled) ? "all arrived" : "some are missing");
    return 0;
}
