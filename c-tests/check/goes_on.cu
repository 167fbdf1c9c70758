// options: --destroy-on-device-error kernel
// Two launches write past the end of an array and stop there; the launch after them runs, and the program sees no error.
#include <cstdio>

__global__ void fill(float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        to[i] = i;
}

__global__ void twice(float *to, int n) {
    if (threadIdx.x < n)
        to[threadIdx.x] *= 2;
}

int main() {
    float *to, last = 0;
    cudaMalloc(&to, 100 * sizeof(float));
    cudaMemset(to, 0, 100 * sizeof(float));
    fill<<<1, 128>>>(to, 100);
    fill<<<1, 64>>>(to + 50, 50);
    fill<<<1, 64>>>(to, 63);
    twice<<<1, 64>>>(to, 64);
    cudaError_t end = cudaMemcpy(&last, to + 63, sizeof last, cudaMemcpyDeviceToHost);
    fprintf(stderr, "%s %g\n", cudaGetErrorName(end), last);
    cudaFree(to);
}
