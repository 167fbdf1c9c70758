// Launches that the runtime or the driver refuses: each returns its error, and none affects
// later calls.
#include "common.h"

__global__ void good(int *v) { *v += 1; }
__global__ void __launch_bounds__(64) small(int *v) { *v += 1; }
static void not_a_kernel() {}

int main()
{
    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    good<<<1, 2048>>>(d);
    show("too many threads", cudaGetLastError());
    good<<<0, 32>>>(d);
    show("empty grid", cudaGetLastError());
    good<<<1, 0>>>(d);
    show("empty block", cudaGetLastError());
    good<<<1, 1, 1 << 20>>>(d);
    show("too much shared memory", cudaGetLastError());
    small<<<1, 128>>>(d);
    show("beyond the launch bounds", cudaGetLastError());
    void *args[] = {&d};
    show("not a kernel", cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), args, 0, nullptr));
    cudaGetLastError();
    show("a null kernel", cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), args, 0, nullptr));
    cudaGetLastError();
    good<<<1, 1>>>(d);
    LAUNCHED("good");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("value %d\n", h);
    return finish();
}
