// A kernel reads past the end of a table in the module, where the next variable may be.
#include <cstdio>

__device__ int table[10] = {1, 2, 3};
__device__ int other = 7;

__global__ void look(int *to, int n) { to[threadIdx.x] = table[threadIdx.x % n] + other; }

int main() {
    int *to;
    cudaMalloc(&to, 32 * sizeof(int));
    look<<<1, 32>>>(to, 11);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
