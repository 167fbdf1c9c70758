// Kernels without mangled names: the types must come from the
// image, as the name does not contain them.
#include "common.h"

extern "C" __global__ void c_kernel(int *out, int a, double b) { *out = a + int(b); }
extern "C" __global__ void c_kernel2(int *out, unsigned long long a) { *out += int(a); }

int main()
{
    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    c_kernel<<<1, 1>>>(d, 40, 2.75);
    LAUNCHED("c_kernel");
    c_kernel2<<<dim3(1, 1, 1), dim3(1, 1, 1)>>>(d, 58);
    LAUNCHED("c_kernel2");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("value %d\n", h);
    return finish();
}
