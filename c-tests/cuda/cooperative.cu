// A cooperative launch: the grid synchronises in the middle of the kernel.
#include <cooperative_groups.h>
#include "common.h"

namespace cg = cooperative_groups;

__global__ void ring(int *data, int *out, int n)
{
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    if (i < n)
        data[i] = i * i;
    grid.sync();
    if (i < n)
        out[i] = data[(i + 1) % n];
}

int main()
{
    int n = 64, *data = nullptr, *out = nullptr, h[64] = {}, can = 0;
    CK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    printf("cooperative launch: %d\n", can);
    CK(cudaMalloc(&data, sizeof h));
    CK(cudaMalloc(&out, sizeof h));
    void *args[] = {&data, &out, &n};
    CK(cudaLaunchCooperativeKernel((void *)ring, dim3(2), dim3(32), args, 0, nullptr));
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d %d\n", h[0], h[31], h[63]);
    return finish();
}
