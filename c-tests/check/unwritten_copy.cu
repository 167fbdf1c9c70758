// A copy moves unwritten memory to another array, and a copy to the host reads that.
#include <cstdio>

int main() {
    char *a, *b, host[100];
    cudaMalloc(&a, 100);
    cudaMalloc(&b, 100);
    cudaMemset(a, 0, 60);
    cudaMemcpy(b, a, 100, cudaMemcpyDeviceToDevice);
    cudaMemcpy(host, b, 60, cudaMemcpyDeviceToHost);
    cudaMemcpy(host, b, 61, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
}
