// A kernel uses memory after its cudaFreeAsync in the same stream.
#include <cstdio>

__global__ void write(int *to) { to[threadIdx.x] = threadIdx.x; }

int main() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *to;
    cudaMallocAsync(&to, 64 * sizeof(int), stream);
    write<<<1, 64, 0, stream>>>(to);
    cudaFreeAsync(to, stream);
    write<<<1, 64, 0, stream>>>(to);
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
    cudaStreamDestroy(stream);
}
