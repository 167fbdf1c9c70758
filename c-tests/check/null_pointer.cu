// A kernel whose pointer is null: an allocation that was too large failed, and nobody looked.
#include <cstdio>

__global__ void fill(int *at, int from) { at[from] = 1; }

int main() {
    int *small, *large = nullptr;
    cudaMalloc(&small, 4096);
    printf("%s\n", cudaGetErrorName(cudaMalloc(&large, (size_t)1 << 50)));
    fill<<<1, 1>>>(large, 2);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
