// Managed memory: a __managed__ variable and cudaMallocManaged, written by host and device.
#include "common.h"

__managed__ int shared_counter = 5;
__managed__ float shared_table[16];

__global__ void touch(int *extra)
{
    atomicAdd(&shared_counter, 1);
    shared_table[threadIdx.x] = threadIdx.x * 0.5f;
    extra[threadIdx.x] += 1;
}

int main()
{
    int can = 0, *extra = nullptr;
    CK(cudaDeviceGetAttribute(&can, cudaDevAttrManagedMemory, 0));
    if (!CK(cudaMallocManaged(&extra, 16 * sizeof(int)))) {
        touch<<<1, 16>>>(extra);
        LAUNCHED("touch");
        return finish();
    }
    for (int i = 0; i < 16; i++)
        extra[i] = i;
    shared_counter += 10;
    touch<<<1, 16>>>(extra);
    LAUNCHED("touch");
    CK(cudaDeviceSynchronize());
    printf("%d %g %d\n", shared_counter, shared_table[15], extra[15]);
    touch<<<1, 16>>>(extra);
    CK(cudaDeviceSynchronize());
    printf("%d %g %d\n", shared_counter, shared_table[15], extra[15]);
    CK(cudaFree(extra));
    return finish();
}
