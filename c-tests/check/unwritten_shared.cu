// The last element of an array in shared memory is never written.
#include <cstdio>

__global__ void differences(int *to) {
    __shared__ int room[65];
    room[threadIdx.x] = threadIdx.x * threadIdx.x;
    __syncthreads();
    to[threadIdx.x] = room[threadIdx.x + 1] - room[threadIdx.x];
}

int main() {
    int *to;
    cudaMalloc(&to, 64 * sizeof(int));
    differences<<<2, 64>>>(to);
    cudaDeviceSynchronize();
    cudaFree(to);
}
