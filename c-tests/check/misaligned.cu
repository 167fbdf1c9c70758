// Accesses to float2 at an address that is no multiple of its size.
#include <cstdio>

__global__ void add(float *at) {
    float2 *pairs = (float2 *)(at + 1);
    pairs[threadIdx.x].x += 1;
    pairs[threadIdx.x].y += pairs[threadIdx.x].x;
}

int main() {
    float *at;
    cudaMalloc(&at, 1000);
    cudaMemset(at, 0, 1000);
    add<<<1, 32>>>(at);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(at);
}
