// Lanes of a warp execute one shuffle with different masks.
#include <cstdio>

__global__ void exchange(int *to) {
    unsigned mask = threadIdx.x < 16 ? 0xffffffffu : 0xfffffff0u;
    to[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 4);
}

int main() {
    int *to;
    cudaMalloc(&to, 32 * sizeof(int));
    exchange<<<1, 32>>>(to);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
