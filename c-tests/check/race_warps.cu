// Two warps exchange values through shared memory, but each synchronises with a warp barrier only.
#include <cstdio>

__global__ void exchange(const int *from, int *to) {
    __shared__ int room[64];
    room[threadIdx.x] = from[threadIdx.x];
    __syncwarp();
    to[threadIdx.x] = room[threadIdx.x ^ 32];
}

int main() {
    int *from, *to;
    cudaMalloc(&from, 64 * sizeof(int));
    cudaMalloc(&to, 64 * sizeof(int));
    cudaMemset(from, 1, 64 * sizeof(int));
    exchange<<<1, 64>>>(from, to);
    cudaDeviceSynchronize();
    cudaFree(from);
    cudaFree(to);
}
