// Half of an array is written, but all of it is summed.
#include <cstdio>

__global__ void write(float *to, int n) {
    if (threadIdx.x < n)
        to[threadIdx.x] = 1;
}

__global__ void sum(const float *from, float *to, int n) {
    float all = 0;
    for (int i = 0; i < n; i++)
        all += from[i];
    *to = all;
}

int main() {
    float *from, *to, got;
    cudaMalloc(&from, 64 * sizeof(float));
    cudaMalloc(&to, sizeof(float));
    write<<<1, 64>>>(from, 32);
    sum<<<1, 1>>>(from, to, 64);
    cudaMemcpy(&got, to, sizeof got, cudaMemcpyDeviceToHost);
    cudaFree(from);
    cudaFree(to);
}
