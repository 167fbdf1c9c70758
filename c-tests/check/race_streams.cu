// A kernel in one stream reads data that a kernel in another stream writes, without any order. The host's delay does not order
// them: it only makes the report the same in each run.
#include <cstdio>
#include <unistd.h>

__global__ void fill(int *to) { to[threadIdx.x] = threadIdx.x; }

__global__ void twice(const int *from, int *to) { to[threadIdx.x] = 2 * from[threadIdx.x]; }

int main() {
    int *from, *to;
    cudaStream_t one, other;
    cudaMalloc(&from, 64 * sizeof(int));
    cudaMalloc(&to, 64 * sizeof(int));
    cudaMemset(from, 0, 64 * sizeof(int));
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    fill<<<1, 64, 0, one>>>(from);
    usleep(300000);
    twice<<<1, 64, 0, other>>>(from, to);
    cudaDeviceSynchronize();
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
    cudaFree(from);
    cudaFree(to);
}
