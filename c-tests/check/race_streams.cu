// A kernel in one stream reads what a kernel in another stream writes, and nothing orders the two: that the host waits some time
// does not, it only makes the report the same each time.
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
