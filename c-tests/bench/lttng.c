/* `lttng THREADS EVENTS`: the cost of an LTTng-UST tracepoint that holds as much data
   as cushim records of a launch. Per event, by the time-stamp counter, minus the cost of two
   readings, as crates/trace/examples/recorder_bench.rs measures ours. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-provider.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

static int events;

static int less(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void *work(void *at) {
    uint64_t *took = at;
    uint32_t shape[6] = {1, 1, 1, 256, 1, 1};
    uint8_t arguments[28] = {0};
    for (int i = 0; i < events; i++) {
        uint64_t before = __rdtsc();
        shape[0] = i % 64 + 1;
        *(uint32_t *)(arguments + 24) = i;
        lttng_ust_tracepoint(bench, launch, 1 + i % 8, 0, 0, shape, arguments, before, 0);
        took[i] = __rdtsc() - before;
    }
    return NULL;
}

static double ns_per_tick(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t begin = __rdtsc();
    struct timespec nap = {0, 200000000};
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (double)(__rdtsc() - begin);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int threads = atoi(argv[1]);
    events = atoi(argv[2]);
    size_t all = (size_t)threads * events;
    uint64_t *took = malloc(all * sizeof *took);
    double unit = ns_per_tick();
    for (int i = 0; i < events; i++) {
        uint64_t before = __rdtsc();
        took[i] = __rdtsc() - before;
    }
    qsort(took, events, sizeof *took, less);
    uint64_t nothing = took[events / 2];
    pthread_t ids[64];
    for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, took + (size_t)i * events);
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    qsort(took, all, sizeof *took, less);
    const double at[] = {0.5, 0.999, 0.9999};
    printf("%d thread%s:", threads, threads > 1 ? "s" : "");
    for (int i = 0; i < 3; i++) {
        uint64_t ticks = took[(size_t)(at[i] * (all - 1))];
        printf(" %s %.0f ns%s", i == 0 ? "median" : i == 1 ? "p99.9" : "p99.99", ticks > nothing ? (ticks - nothing) * unit : 0, i < 2 ? "," : "\n");
    }
    return 0;
}
