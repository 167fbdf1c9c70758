// The last block to arrive reads the data of all blocks; no fence orders their writes before the counter.
#include <cstdio>

__device__ unsigned came;

__global__ void sum(const int *from, int *parts, int *to) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = from[blockIdx.x] + 1;
        last = atomicAdd(&came, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++)
            all += parts[block];
        *to = all;
    }
}

int main() {
    int *from, *parts, *to;
    cudaMalloc(&from, 8 * sizeof(int));
    cudaMalloc(&parts, 8 * sizeof(int));
    cudaMalloc(&to, sizeof(int));
    cudaMemset(from, 1, 8 * sizeof(int));
    sum<<<8, 64>>>(from, parts, to);
    cudaDeviceSynchronize();
    cudaFree(from);
    cudaFree(parts);
    cudaFree(to);
}
