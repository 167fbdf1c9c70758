// Threads beyond the end of an array have already exited when the others reach a barrier of the whole block.
#include <cstdio>

__global__ void shift(const int *from, int *to, int n) {
    __shared__ int room[64];
    if (threadIdx.x >= n)
        return;
    room[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = room[(threadIdx.x + 1) % n];
}

int main() {
    int *from, *to;
    cudaMalloc(&from, 64 * sizeof(int));
    cudaMalloc(&to, 64 * sizeof(int));
    cudaMemset(from, 1, 64 * sizeof(int));
    shift<<<1, 64>>>(from, to, 40);
    cudaDeviceSynchronize();
    cudaFree(from);
    cudaFree(to);
}
