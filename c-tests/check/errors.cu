// An invalid launch whose error the program never checks.
#include <cstdio>

__global__ void nothing() {}

int main() {
    nothing<<<1, 2000>>>();
    cudaDeviceSynchronize();
    cudaStreamSynchronize(0);
}
