// cudaDeviceReset destroys the primary context with its resources; later calls
// start anew, and variables have their initial values.
#include "../common.h"

__device__ int counter = 5;

__global__ void count(int *out) { *out = ++counter; }

int main()
{
    int *d = nullptr, h = 0;
    for (int round = 0; round < 3; round++) {
        NEED(cudaMalloc(&d, sizeof h));
        count<<<1, 1>>>(d);
        count<<<1, 1>>>(d);
        LAUNCHED("count");
        CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
        printf("round %d: %d\n", round, h);
        if (round == 1)
            CK(cudaFree(d));
        CK(cudaDeviceReset());
    }
    show("memory from before the reset", cudaMemset(d, 0, sizeof h));
    cudaGetLastError();
    int device = -1;
    CK(cudaGetDevice(&device));
    printf("device %d\n", device);
    CK(cudaDeviceReset());
    CK(cudaDeviceReset());
    return finish();
}
