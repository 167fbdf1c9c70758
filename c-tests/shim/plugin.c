/* A library with its own kernels, as plug-ins and Python extensions are. GRID
   tells two of them apart. What it registers goes when it is closed: atexit in a
   library runs there. */
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
