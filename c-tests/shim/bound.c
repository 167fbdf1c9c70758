/* A program, or with -DPLUGIN a library, whose image has variables that its host code sets. The driver's lines of the
   log show the values that its launches see (variables=).

   `launches`; `devices`; `plugin LIBRARY`. */
#define MORE_PTX                                                       \
    ".visible .const .align 4 .u32 scale = 1;\n"                       \
    ".visible .global .align 4 .u32 cells[2] = {2, 3};\n"              \
    ".visible .global .align 4 .u32 unseen = 4;\n"
static int scale, cells;
#define REGISTER_MORE(h)                                                                     \
    do {                                                                                     \
        __cudaRegisterVar(h, (char *)&scale, (char *)"scale", "scale", 0, 4, 1, 0);          \
        __cudaRegisterVar(h, (char *)&cells, (char *)"cells", "cells", 0, 8, 0, 0);          \
    } while (0)
#include <dlfcn.h>

#include "cuda.h"

cudaError_t cudaSetDevice(int);

/* Sets the variables to this value. */
static void set(int to) {
    int both[] = {to + 1, to + 2};
    printf("set %d %d\n", cudaMemcpyToSymbol(&scale, &to, sizeof to, 0, 1), cudaMemcpyToSymbol(&cells, both, sizeof both, 0, 1));
}

int plugin_run(int);
int plugin_run(int to) {
    set(to);
    return LAUNCH1(alpha(NULL, to, 0));
}

#ifndef PLUGIN
static void *in_thread(void *data) {
    printf("device 1: %d", cudaSetDevice(1));
    printf(", alpha %d\n", LAUNCH1(alpha(data, 0, 0)));
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    if (!strcmp(argv[1], "launches")) {
        for (int i = 0; i < 3; i++) {
            set(0x40 + 0x10 * i);
            for (int j = 0; j < 2; j++) printf("alpha %d\n", LAUNCH1(alpha(NULL, i, 0)));
            printf("beta %d\n", LAUNCH1(beta()));
        }
    } else if (!strcmp(argv[1], "devices")) {
        pthread_t thread;
        for (int device = 0; device < 3; device++) {
            printf("device %d: %d\n", device, cudaSetDevice(device));
            set(0x100 * (device + 1));
            printf("alpha %d\n", LAUNCH1(alpha(NULL, device, 0)));
        }
        for (int device = 0; device < 3; device++) {
            printf("device %d: %d", device, cudaSetDevice(device));
            printf(", alpha %d\n", LAUNCH1(alpha(NULL, device, 0)));
        }
        if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL)) return 1;
    } else if (!strcmp(argv[1], "plugin")) {
        for (int round = 0; round < 3; round++) {
            void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
            int (*run)(int) = library ? (int (*)(int))dlsym(library, "plugin_run") : NULL;
            if (!run) { printf("%s\n", dlerror()); return 1; }
            printf("plugin %d\n", run(0x700 + 0x10 * round));
            printf("own %d\n", plugin_run(0x800 + 0x10 * round));
            dlclose(library);
        }
    }
    return 0;
}
#endif
