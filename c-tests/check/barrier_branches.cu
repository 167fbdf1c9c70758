// Each side of a branch has its own barrier, and lanes of one warp take both sides.
#include <cstdio>

__global__ void sides(int *to) {
    __shared__ int room[64];
    room[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 2) {
        asm volatile("barrier.sync 0;" ::: "memory");
        to[threadIdx.x] = room[threadIdx.x ^ 1];
    } else {
        asm volatile("barrier.sync 0;" ::: "memory");
        to[threadIdx.x] = -room[threadIdx.x ^ 3];
    }
}

int main() {
    int *to;
    cudaMalloc(&to, 64 * sizeof(int));
    sides<<<1, 64>>>(to);
    cudaDeviceSynchronize();
    cudaFree(to);
}
