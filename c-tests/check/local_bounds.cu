// A thread writes far past the end of its local array.
#include <cstdio>

__global__ void scatter(int *to, int at) {
    int own[64];
    for (int i = 0; i < 64; i++)
        own[i] = i;
    own[at] = threadIdx.x;
    to[threadIdx.x] = own[threadIdx.x] + own[at % 64];
}

int main() {
    int *to;
    cudaMalloc(&to, 32 * sizeof(int));
    scatter<<<1, 32>>>(to, 1 << 20);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
