// A launch that cannot be, of which the program never hears.
#include <cstdio>

__global__ void nothing() {}

int main() {
    nothing<<<1, 2000>>>();
    cudaDeviceSynchronize();
    cudaStreamSynchronize(0);
}
