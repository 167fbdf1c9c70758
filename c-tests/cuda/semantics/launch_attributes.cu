// Launch attributes: cooperative, priority, and invalid ones in a configuration;
// a template's arguments are converted for the launch.
#include <cooperative_groups.h>
#include "../common.h"

namespace cg = cooperative_groups;

__global__ void exchange(int *data, int *out, int by)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank(), n = (int)grid.size();
    data[i] = i * by;
    grid.sync();
    out[i] = data[n - 1 - i];
}
template <typename T> __global__ void store(T *out, T value) { out[threadIdx.x] = value; }

int main()
{
    int *data = nullptr, *out = nullptr, h[128] = {};
    NEED(cudaMalloc(&data, sizeof h));
    NEED(cudaMalloc(&out, sizeof h));
    cudaStream_t s = nullptr;
    CK(cudaStreamCreate(&s));
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[1].val.priority = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = dim3(32);
    config.stream = s;
    config.attrs = attributes;
    config.numAttrs = 2;
    CK(cudaLaunchKernelEx(&config, exchange, data, out, 3));
    CK(cudaMemcpyAsync(h, out, sizeof h, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("cooperative %d %d\n", h[0], h[127]);

    double *reals = (double *)data, real = 0;
    cudaLaunchConfig_t plain = {};
    plain.gridDim = dim3(1);
    plain.blockDim = dim3(8);
    // The int is converted to the kernel's double.
    CK(cudaLaunchKernelEx(&plain, store<double>, reals, 7));
    CK(cudaMemcpy(&real, reals + 7, sizeof real, cudaMemcpyDeviceToHost));
    printf("converted %g\n", real);

    attributes[0].id = cudaLaunchAttributeIgnore;
    CK(cudaLaunchKernelEx(&config, store<int>, out, 5));
    CK(cudaStreamSynchronize(s));
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    printf("ignored %d %d\n", h[0], h[31]);
    config.numAttrs = 0;
    config.attrs = nullptr;
    config.blockDim = dim3(2000);
    show("too many threads", cudaLaunchKernelEx(&config, store<int>, out, 6));
    cudaGetLastError();

    // More blocks than can be resident at once.
    int by = 1;
    void *args[] = {&data, &out, &by};
    show("too many for a cooperative launch",
         cudaLaunchCooperativeKernel((void *)exchange, dim3(1 << 20), dim3(32), args, 0, nullptr));
    cudaGetLastError();
    CK(cudaDeviceSynchronize());
    return finish();
}
