// The other ways to launch: cudaLaunchKernel, cudaLaunchKernelExC with attributes,
// a function pointer chosen at run time, and the driver's launch with the function
// of a host stub; the program gets both through the runtime at run time.
#include <cuda.h>
#include "common.h"

__global__ void store(int *out, int value) { out[blockIdx.x] = value; }
template <int N> __global__ void store_n(int *out, int value) { out[blockIdx.x] = value + N; }

static void print(const char *what, int *d)
{
    int h[2] = {};
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%s: %d %d\n", what, h[0], h[1]);
}

int main()
{
    int *d = nullptr, value = 1;
    CK(cudaMalloc(&d, 2 * sizeof(int)));
    void *args[] = {&d, &value};

    CK(cudaLaunchKernel((const void *)store, dim3(2), dim3(1), args, 0, nullptr));
    print("cudaLaunchKernel", d);

    value = 2;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributePriority;
    attribute[0].val.priority = 0;
    config.gridDim = dim3(2);
    config.blockDim = dim3(1);
    config.attrs = attribute;
    config.numAttrs = 1;
    CK(cudaLaunchKernelExC(&config, (const void *)store, args));
    print("cudaLaunchKernelExC", d);

    void (*choice[])(int *, int) = {store_n<10>, store_n<20>};
    for (auto kernel : choice) {
        kernel<<<2, 1>>>(d, 3);
        LAUNCHED("by pointer");
        print("by pointer", d);
    }

    cudaFunction_t function = nullptr;
    void *launch = nullptr;
    CK(cudaGetFuncBySymbol(&function, (const void *)store));
#if CUDART_VERSION >= 12050
    cudaDriverEntryPointQueryResult result;
    CK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &launch, 12000, cudaEnableDefault, &result));
#elif CUDART_VERSION >= 12000
    cudaDriverEntryPointQueryResult result;
    CK(cudaGetDriverEntryPoint("cuLaunchKernel", &launch, cudaEnableDefault, &result));
#else
    CK(cudaGetDriverEntryPoint("cuLaunchKernel", &launch, cudaEnableDefault));
#endif
    value = 5;
    if (function && launch) {
        CUresult r = ((decltype(&cuLaunchKernel))launch)((CUfunction)function, 2, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr);
        printf("driver launch: %d\n", (int)r);
        print("driver launch", d);
    }
    cudaFuncAttributes attributes = {};
    CK(cudaFuncGetAttributes(&attributes, (const void *)store));
    expect(cuda_errors || attributes.maxThreadsPerBlock > 0, "attributes");
    return finish();
}
