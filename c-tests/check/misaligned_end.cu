// A kernel writes to a misaligned address, and beyond the end of a variable: a GPU says the former.
#include <cstdio>

__device__ int x;

__global__ void write() { *(int *)((char *)&x + 1) = 42; }

int main() {
    write<<<1, 1>>>();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
