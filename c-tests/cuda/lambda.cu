// Kernels that take device lambdas and function objects: unnamed types in the names.
#include "common.h"

template <typename F> __global__ void for_each(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        f(i);
}

struct Square {
    int *out;
    __device__ void operator()(int i) const { out[i] = i * i; }
};

int main()
{
    const int n = 100;
    int *d = nullptr, h[n] = {}, offset = 1000;
    CK(cudaMalloc(&d, sizeof h));
    for_each<<<2, 64>>>(n, Square{d});
    LAUNCHED("function object");
    for_each<<<2, 64>>>(n, [=] __device__(int i) { d[i] += offset; });
    LAUNCHED("lambda");
    for_each<<<4, 32>>>(n, [=] __device__(int i) { d[i] *= i % 2 ? 1 : 2; });
    LAUNCHED("second lambda");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d %d\n", h[0], h[3], h[98]);
    return finish();
}
