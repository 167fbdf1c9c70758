// An access one element past the end of dynamic shared memory.
#include <cstdio>

__global__ void turn(int *to) {
    extern __shared__ int room[];
    room[threadIdx.x + 1] = threadIdx.x;
    __syncthreads();
    to[threadIdx.x] = room[threadIdx.x];
}

int main() {
    int *to;
    cudaMalloc(&to, 64 * sizeof(int));
    turn<<<1, 64, 64 * sizeof(int)>>>(to);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
