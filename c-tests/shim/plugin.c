/* A library with its own kernels, as plug-ins and Python extensions are. NAME and
   GRID tell two of them apart. */
#include "cuda.h"

#ifndef NAME
#define NAME one
#endif
#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)

int plugin_run(int n) {
    int status = 0;
    for (int i = 0; i < n; i++) status |= LAUNCH(d3(GRID, 1, 1), d3(i % 32 + 1, 1, 1), 0, NULL, alpha(NULL, i, GRID));
    return status;
}
int plugin_version(void) {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    return version;
}
__attribute__((destructor)) static void gone(void) { unregister_program(); }
