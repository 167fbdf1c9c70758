// A copy and a memset that write past the end of their destination.
#include <cstdio>

int main() {
    char host[200] = {};
    char *to;
    cudaMalloc(&to, 100);
    printf("%s\n", cudaGetErrorName(cudaMemcpy(to, host, 101, cudaMemcpyHostToDevice)));
    printf("%s\n", cudaGetErrorName(cudaMemset(to + 50, 0, 51)));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(to, host, 100, cudaMemcpyHostToDevice)));
    cudaFree(to);
}
