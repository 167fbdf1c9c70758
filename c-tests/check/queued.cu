// A kernel writes past the end of an array; the next kernel in the stream would read data that the first did not write: a GPU does not run it.
#include <cstdio>

__global__ void fill(float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        to[i] = i;
}

__global__ void add(float *sum, const float *of, int n) {
    float all = 0;
    for (int i = 0; i < n; i++)
        all += of[i];
    *sum = all;
}

int main() {
    float *to, *sum;
    cudaMalloc(&to, 100 * sizeof(float));
    cudaMalloc(&sum, sizeof(float));
    fill<<<1, 128>>>(to, 100);
    add<<<1, 1>>>(sum, to + 50, 100);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
    cudaFree(sum);
}
