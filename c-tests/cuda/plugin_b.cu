// A library with a kernel, loaded by plugin_main.cpp.
#include "common.h"

__global__ void work(int *out, int factor) { *out = 2000 * factor; }

extern "C" int plugin_run(int factor)
{
    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    work<<<1, 1>>>(d, factor);
    LAUNCHED("work");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("plugin_b %d\n", h);
    CK(cudaFree(d));
    return finish();
}
