// A kernel reads memory that was freed before its launch.
#include <cstdio>

__global__ void read(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

int main() {
    int *from, *to;
    cudaMalloc(&from, 64 * sizeof(int));
    cudaMalloc(&to, 64 * sizeof(int));
    cudaMemset(from, 1, 64 * sizeof(int));
    cudaFree(from);
    read<<<1, 64>>>(from, to);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
