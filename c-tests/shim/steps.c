/* Executes its arguments in order: `launch N` (each launch with its number as an argument, from 0
   on), `sync`, `start`, `stop` (the profiler range), `sleep MS`, `touch FILE`, `await FILE`, `threads N M`
   (N threads with M launches each, as many at a time as the machine allows), `forks N M` (N children with M
   launches each, all at once), `count FILE N` (N launches; after each one that returned, its number is
   stored in the mapped FILE), `exit`. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

static int next;

static void launch(int count) {
    for (int i = 0; i < count; i++) LAUNCH1(alpha(NULL, next++, 0));
}

static void *thread(void *count) {
    for (int i = 0; i < (int)(intptr_t)count; i++) LAUNCH1(alpha(NULL, i, 0));
    return NULL;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i];
        if (!strcmp(step, "launch")) launch(atoi(argv[++i]));
        else if (!strcmp(step, "sync")) cudaDeviceSynchronize();
        else if (!strcmp(step, "start")) cudaProfilerStart();
        else if (!strcmp(step, "stop")) cudaProfilerStop();
        else if (!strcmp(step, "sleep")) usleep(1000 * atoi(argv[++i]));
        else if (!strcmp(step, "touch")) close(open(argv[++i], O_CREAT | O_WRONLY, 0600));
        else if (!strcmp(step, "await")) {
            i++;
            for (int n = 0; access(argv[i], F_OK) != 0; n++) {
                if (n > 60000) fail(argv[i]);
                usleep(1000);
            }
        } else if (!strcmp(step, "threads")) {
            int threads = atoi(argv[i + 1]);
            void *each = (void *)(intptr_t)atoi(argv[i + 2]);
            pthread_t *all = calloc(threads, sizeof *all);
            pthread_attr_t small;
            pthread_attr_init(&small);
            pthread_attr_setstacksize(&small, 256 << 10);
            for (int t = 0; t < threads; t++)
                if (pthread_create(&all[t], &small, thread, each)) fail("pthread_create");
            for (int t = 0; t < threads; t++) pthread_join(all[t], NULL);
            free(all);
            i += 2;
        } else if (!strcmp(step, "forks")) {
            for (int child = 0; child < atoi(argv[i + 1]); child++) {
                pid_t pid = fork();
                if (pid < 0) fail("fork");
                if (pid == 0) {
                    launch(atoi(argv[i + 2]));
                    _exit(0);
                }
            }
            while (wait(NULL) > 0) {}
            i += 2;
        } else if (!strcmp(step, "count")) {
            int file = open(argv[i + 1], O_RDWR);
            volatile int *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (done == MAP_FAILED) fail(argv[i + 1]);
            for (int n = 0; n < atoi(argv[i + 2]); n++) {
                LAUNCH1(alpha(NULL, n, 0));
                *done = n + 1;
            }
            i += 2;
        } else if (!strcmp(step, "exit")) {
            _exit(0);
        } else {
            fprintf(stderr, "unknown step %s\n", step);
            return 2;
        }
    }
    printf("%lu launches\n", stub_launches());
    return 0;
}
