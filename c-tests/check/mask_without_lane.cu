// Lanes execute a shuffle with a mask of the lower half; the upper half executes it, too.
#include <cstdio>

__global__ void shuffle(int *to) {
    to[threadIdx.x] = __shfl_xor_sync(0x0000ffff, (int)threadIdx.x, 1);
}

int main() {
    int *to;
    cudaMalloc(&to, 32 * sizeof(int));
    shuffle<<<1, 32>>>(to);
    cudaDeviceSynchronize();
    cudaFree(to);
}
