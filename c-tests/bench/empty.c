/* `empty PTX BURSTS LAUNCHES ROUNDS`: the same as hsa.c through the driver in libcuda.so.1: an empty kernel `k` without arguments.
   The first line is the nanoseconds until the module, which the driver may have to compile, has returned its function. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    void *library = argc > 4 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (!library) return 2;
#define GET(type, name) __typeof__(type) *name = (__typeof__(type) *)dlsym(library, #name)
    GET(int(unsigned), cuInit);
    GET(int(int *, int), cuDeviceGet);
    GET(int(void **, int), cuDevicePrimaryCtxRetain);
    GET(int(void *), cuCtxSetCurrent);
    GET(int(void), cuCtxSynchronize);
    GET(int(void **, const char *), cuModuleLoad);
    GET(int(void **, void *, const char *), cuModuleGetFunction);
    GET(int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), cuLaunchKernel);
    int device, bursts = atoi(argv[2]), launches = atoi(argv[3]), rounds = atoi(argv[4]);
    void *context, *module, *function;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) return 3;
    double begun = now(CLOCK_MONOTONIC);
    if (cuModuleLoad(&module, argv[1]) || cuModuleGetFunction(&function, module, "k")) return 4;
    if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize()) return 5;
    printf("load %.0f\n", now(CLOCK_MONOTONIC) - begun);
    for (int burst = 0; burst < bursts; burst++) {
        begun = now(CLOCK_THREAD_CPUTIME_ID);
        for (int n = 0; n < launches; n++)
            if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) return 1;
        printf("burst %.1f\n", (now(CLOCK_THREAD_CPUTIME_ID) - begun) / launches);
        if (cuCtxSynchronize()) return 1;
    }
    for (int n = 0; n < rounds; n++) {
        begun = now(CLOCK_MONOTONIC);
        if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize()) return 1;
        printf("wait %.1f\n", now(CLOCK_MONOTONIC) - begun);
    }
    return 0;
}
