// The second unit of units.cu.
#include <cuda_runtime.h>
#include <cstdio>

static __global__ void fill(int *out) { out[threadIdx.x] += 100; }
namespace {
__global__ void hidden(int *out) { out[threadIdx.x] += 1000; }
}

void other_unit(int *out, int threads)
{
    fill<<<1, threads>>>(out);
    hidden<<<1, threads>>>(out);
    printf("other unit: %s\n", cudaGetErrorName(cudaGetLastError()));
}
