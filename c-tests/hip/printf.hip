// printf in a kernel: the kernel waits while its text goes to the host, by signals and an interrupt.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void hello(int n) {
    if (threadIdx.x == 5)
        printf("of %d: %s %g %lld %c\n", n, "text", 1.5, 1ll << 40, 'x');
    __syncthreads();
    if (threadIdx.x < 3)
        printf("lane %d\n", (int)threadIdx.x);
}

int main() {
    hello<<<1, 64>>>(2);
    hipError_t error = hipDeviceSynchronize();
    fflush(stdout);
    printf("%s\n", hipGetErrorString(error));
    return error != hipSuccess;
}
