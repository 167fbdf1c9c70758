/* `driver LIBRARY BURSTS LAUNCHES`: the cost of a launch by the driver in LIBRARY, without a runtime above it;
   the yardstick for launch.c. Prints the nanoseconds per launch of each burst. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return 2;
    int (*load)(void **, const void *) = (int (*)(void **, const void *))dlsym(library, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) = (int (*)(void **, void *, const char *))dlsym(library, "cuModuleGetFunction");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    launch = (__typeof__(launch))dlsym(library, "cuLaunchKernel");
    void *module, *function;
    if (load(&module, ".version 7.0\n.target sm_52\n.address_size 64\n"
                      ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d)\n{ ret; }\n")
        || get(&function, module, "k"))
        return 2;
    float *a = NULL;
    int n = 0, launches = atoi(argv[3]);
    void *args[] = {&a, &a, &a, &n};
    for (int burst = 0; burst < atoi(argv[2]); burst++) {
        double begun = now();
        for (n = 0; n < launches; n++)
            if (launch(function, 16, 1, 1, 256, 1, 1, 0, NULL, args, NULL)) return 1;
        printf("%.2f\n", (now() - begun) / launches);
    }
    return 0;
}
