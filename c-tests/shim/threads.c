/* `together N M`: N threads use CUDA for the first time at the same moment, with M launches each.
   `short N`: N threads one after another, two launches each. */
#include <pthread.h>

#include "cuda.h"

static pthread_barrier_t barrier;
static int each;

static void *together(void *number) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < each; i++)
        LAUNCH(d3((unsigned)(intptr_t)number + 1, 1, 1), d3(i + 1, 1, 1), 0, NULL, alpha((float *)number, i, 0));
    return NULL;
}
static void *shortly(void *number) {
    LAUNCH(d3(1, 1, 1), d3(1, 1, 1), 0, NULL, alpha((float *)number, 1, 0));
    LAUNCH(d3(1, 1, 1), d3(1, 1, 1), 0, NULL, alpha((float *)number, 2, 0));
    return NULL;
}

int main(int argc, char **argv) {
    int count = atoi(argv[2]);
    pthread_t threads[1024];
    if (!strcmp(argv[1], "together")) {
        each = argc > 3 ? atoi(argv[3]) : 1;
        pthread_barrier_init(&barrier, NULL, count);
        for (intptr_t i = 0; i < count; i++) pthread_create(&threads[i], NULL, together, (void *)i);
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    } else {
        for (intptr_t i = 0; i < count; i++) {
            pthread_create(&threads[0], NULL, shortly, (void *)i);
            pthread_join(threads[0], NULL);
        }
    }
    printf("%lu launches\n", stub_launches());
    return 0;
}
