// Reads before the start of an array, where another array may be.
#include <cstdio>

__global__ void blur(const float *from, float *to) {
    int i = threadIdx.x;
    to[i] = from[i - 1] + from[i];
}

int main() {
    float *from, *to;
    cudaMalloc(&from, 64 * sizeof(float));
    cudaMalloc(&to, 64 * sizeof(float));
    cudaMemset(from, 0, 64 * sizeof(float));
    cudaMemset(to, 0, 64 * sizeof(float));
    blur<<<1, 64>>>(to, from);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(from);
    cudaFree(to);
}
