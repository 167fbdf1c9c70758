// A thread reads an element of its local array that it has not written.
#include <cstdio>

__global__ void pick(int *to, int n) {
    int own[64];
    for (int i = 0; i < n; i++)
        own[i * 3 % 64] = i;
    to[threadIdx.x] = own[(threadIdx.x + n) % 64];
}

int main() {
    int *to;
    cudaMalloc(&to, 32 * sizeof(int));
    pick<<<1, 32>>>(to, 40);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
