// Relocatable device code: the kernel calls a function and reads variables of the
// other unit; at run time both units are one image.
#include "common.h"
#include "separate.h"

__device__ int here_scale = 3;

__global__ void across(int *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = far_away(i) * here_scale + there_offset[i % 4];
}

int main()
{
    int *d = nullptr, h[8] = {};
    CK(cudaMalloc(&d, sizeof h));
    across<<<1, 8>>>(d, 8);
    LAUNCHED("across");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int v : h)
        printf("%d ", v);
    printf("\n");
    launch_there(d, 8);
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int v : h)
        printf("%d ", v);
    printf("\n");
    return finish();
}
