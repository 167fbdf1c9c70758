// Each block writes its number to the same place.
#include <cstdio>

__global__ void write(int *to) {
    if (threadIdx.x == 0)
        *to = blockIdx.x + 1;
}

int main() {
    int *to;
    cudaMalloc(&to, sizeof(int));
    write<<<3, 32>>>(to);
    cudaDeviceSynchronize();
    cudaFree(to);
}
