// Plain reads together with atomics: the first read of a compare-and-swap loop is no race, a read of a sum that others add to is one.
#include <cstdio>

__device__ float product = 1;

__global__ void multiply(const float *by) {
    int old = *(int *)&product, seen;
    do {
        seen = old;
        old = atomicCAS((int *)&product, seen, __float_as_int(__int_as_float(seen) * by[threadIdx.x]));
    } while (old != seen);
}

__global__ void count(const float *from, int *found, int *to) {
    if (from[threadIdx.x] > 0)
        atomicAdd(found, 1);
    if (threadIdx.x == 0)
        *to = *found;
}

int main() {
    float *from;
    int *found;
    cudaMalloc(&from, 64 * sizeof(float));
    cudaMalloc(&found, 2 * sizeof(int));
    cudaMemset(from, 0x3f, 64 * sizeof(float));
    cudaMemset(found, 0, 2 * sizeof(int));
    multiply<<<2, 64>>>(from);
    count<<<1, 64>>>(from, found, found + 1);
    cudaDeviceSynchronize();
    cudaFree(from);
    cudaFree(found);
}
