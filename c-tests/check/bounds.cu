// One thread too many writes 4 bytes past the end of an array, on the same page as the array.
#include <cstdio>

__global__ void fill(float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        to[i] = i;
}

int main() {
    float *to;
    cudaMalloc(&to, 100 * sizeof(float));
    fill<<<4, 32>>>(to, 100);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
