// A double free, and a free of an address that was never allocated.
#include <cstdio>

int main() {
    int *a;
    cudaMalloc(&a, 1000);
    printf("%s\n", cudaGetErrorName(cudaFree(a + 4)));
    printf("%s\n", cudaGetErrorName(cudaFree(a)));
    printf("%s\n", cudaGetErrorName(cudaFree(a)));
}
