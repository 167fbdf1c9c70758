/* A library with its own kernels, like plug-ins and Python extensions. GRID
   distinguishes two of them. It unregisters its kernels when it is closed: atexit in a
   library runs then. */
#include "cuda.h"

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
