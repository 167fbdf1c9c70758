// One of several libraries in a process, each built with and bound to the runtime of
// another CUDA major. PART is the name of its functions.
#include <cstdio>
#include <cuda_runtime.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define KERNEL JOIN(kernel_, PART)

__global__ void KERNEL(int *out, int value) { *out = value; }

// Each runtime has its own error state: a launch that reached the wrong runtime would leave its
// error there.
extern "C" void JOIN(launch_, PART)(const char *name)
{
    int version = 0;
    cudaRuntimeGetVersion(&version);
    cudaError_t before = cudaPeekAtLastError();
    KERNEL<<<1, PART>>>(nullptr, PART);
    printf("%s: runtime %d, before %d, launch %d\n", name, version, (int)before, (int)cudaPeekAtLastError());
}

extern "C" void JOIN(after_, PART)(const char *name)
{
    printf("%s: last %d", name, (int)cudaGetLastError());
    printf(", then %d\n", (int)cudaGetLastError());
}
