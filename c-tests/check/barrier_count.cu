// A barrier for a part of the block has a thread count that is no multiple of the warp size.
#include <cstdio>

__global__ void half(int *to) {
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 48;" ::: "memory");
    to[threadIdx.x] = threadIdx.x;
}

int main() {
    int *to;
    cudaMalloc(&to, 128 * sizeof(int));
    half<<<1, 128>>>(to);
    cudaDeviceSynchronize();
    cudaFree(to);
}
