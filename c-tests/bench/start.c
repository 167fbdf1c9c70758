/* `start N PROGRAM LIBRARY [VARIABLE=VALUE]...`: starts PROGRAM and waits for
   its end, alternately without and with LIBRARY in LD_PRELOAD and these
   variables, N times each. Prints a line `bare ns` or `preloaded ns` for each. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static double run(char *program, char **environment) {
    struct timespec begin, end;
    pid_t child;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (posix_spawn(&child, program, NULL, NULL, (char *[]){program, NULL}, environment)) exit(1);
    waitpid(child, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    char preload[4096];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[3]);
    char *bare[] = {"PATH=/usr/bin:/bin", NULL}, *preloaded[20] = {"PATH=/usr/bin:/bin", preload};
    for (int i = 4; i < argc && i < 20; i++) preloaded[i - 2] = argv[i];
    for (int i = 0; i < atoi(argv[1]); i++) {
        printf("bare %.0f\n", run(argv[2], bare));
        printf("preloaded %.0f\n", run(argv[2], preloaded));
    }
    return 0;
}
