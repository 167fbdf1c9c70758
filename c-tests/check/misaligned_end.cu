// A kernel writes to a misaligned address beyond the end of a variable: a GPU reports the misalignment.
#include <cstdio>

__device__ int x;

__global__ void write() { *(int *)((char *)&x + 1) = 42; }

int main() {
    write<<<1, 1>>>();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
