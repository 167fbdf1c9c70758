// cudaDeviceReset destroys the primary context with its resources; later calls
// start anew, and variables have their initial values.
#include "../common.h"

static const size_t FAR = 512 << 20;

__device__ int counter = 5;

__global__ void count(int *out) { *out = ++counter; }

int main()
{
    int *d = nullptr, *far = nullptr, h = 0;
    for (int round = 0; round < 3; round++) {
        NEED(cudaMalloc(&d, sizeof h));
        count<<<1, 1>>>(d);
        count<<<1, 1>>>(d);
        LAUNCHED("count");
        CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
        printf("round %d: %d\n", round, h);
        if (round == 1)
            CK(cudaFree(d));
        // The end of a large block, as a profiler's own memory in the new context may begin where `d` did.
        if (round == 2) {
            CK(cudaMalloc(&far, FAR));
            far += FAR / sizeof h - 1;
        }
        CK(cudaDeviceReset());
    }
    show("memory from before the reset", cudaMemset(far, 0, sizeof h));
    cudaGetLastError();
    int device = -1;
    CK(cudaGetDevice(&device));
    printf("device %d\n", device);
    CK(cudaDeviceReset());
    CK(cudaDeviceReset());
    return finish();
}
