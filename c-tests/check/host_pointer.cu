// A copy in the wrong direction, and a kernel that gets a pointer to host memory.
#include <cstdio>
#include <cstdlib>

__global__ void add(int *at, int n) {
    int i = threadIdx.x;
    if (i < n) at[i] += 1;
}

int main() {
    int *host = (int *)calloc(32, sizeof(int)), *device;
    cudaMalloc(&device, 32 * sizeof(int));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(host, device, 32 * sizeof(int), cudaMemcpyHostToDevice)));
    cudaMemset(device, 0, 32 * sizeof(int));
    add<<<1, 1>>>(device, 1);
    add<<<1, 1>>>(host, 1);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
