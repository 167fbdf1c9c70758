// Kernels without arguments: the argument array is garbage or missing.
#include "common.h"

__device__ int touched;
__global__ void touch() { atomicAdd(&touched, 1); }

int main()
{
    touch<<<2, 3>>>();
    LAUNCHED("touch");
    CK(cudaLaunchKernel((const void *)touch, dim3(1), dim3(1), nullptr, 0, nullptr));
    void *garbage[] = {(void *)1};
    CK(cudaLaunchKernel((const void *)touch, dim3(1), dim3(1), garbage, 0, nullptr));
    int h = 0;
    CK(cudaMemcpyFromSymbol(&h, touched, sizeof h));
    printf("touched %d\n", h);
    return finish();
}
