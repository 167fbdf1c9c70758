// A kernel writes past the end of memory from malloc.
#include <cstdio>

__global__ void make(int *to) {
    char *own = (char *)malloc(20);
    for (int n = 0; n < 24; n += 4)
        *(int *)(own + n) = n;
    *to = own[16];
    free(own);
}

int main() {
    int *to;
    cudaMalloc(&to, sizeof(int));
    make<<<1, 1>>>(to);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(to);
}
