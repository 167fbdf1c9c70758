// A kernel gets a null pointer: an allocation that was too large failed, and the program did not check.
#include <cstdio>

__global__ void fill(int *at, int from) { at[from] = 1; }

int main() {
    int *small, *large = nullptr;
    cudaMalloc(&small, 4096);
    printf("%s\n", cudaGetErrorName(cudaMalloc(&large, (size_t)1 << 50)));
    fill<<<1, 1>>>(large, 2);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
