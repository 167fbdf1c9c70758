// Attributes of a kernel, and those that may be set: static and dynamic shared memory,
// constants, launch bounds, local memory; invalid functions.
#include "../common.h"

__constant__ int table[100];

__global__ void plain(int *v) { *v = 1; }
__global__ void __launch_bounds__(128) bounded(int *v) { *v = table[threadIdx.x % 100]; }
__global__ void with_shared(int *v)
{
    __shared__ int tile[1000];
    tile[threadIdx.x] = v[threadIdx.x];
    __syncthreads();
    v[threadIdx.x] = tile[(threadIdx.x * 7) % blockDim.x];
}
__global__ void dynamic(int *v, int n)
{
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        tile[i] = i;
    __syncthreads();
    if (threadIdx.x == 0)
        *v = tile[n - 1];
}
__global__ void local(int *v, int at)
{
    volatile int array[300];
    for (int i = 0; i < 300; i++)
        array[i] = i * at;
    *v = array[at];
}
static void on_the_host() {}

int main()
{
    cudaFuncAttributes a = {};
    int *d = nullptr, h = 0;
    NEED(cudaMalloc(&d, 4096));
    NEED(cudaFuncGetAttributes(&a, plain));
    expect(a.numRegs > 0 && a.maxThreadsPerBlock == 1024, "plain");
    printf("shared %zu, constant %zu\n", a.sharedSizeBytes, a.constSizeBytes);
    expect(a.binaryVersion >= 50 && a.ptxVersion >= 50, "versions");
    CK(cudaFuncGetAttributes(&a, bounded));
    printf("bounded: %d threads, constant %zu\n", a.maxThreadsPerBlock, a.constSizeBytes);
    CK(cudaFuncGetAttributes(&a, with_shared));
    printf("with shared: %zu, dynamic up to %s\n", a.sharedSizeBytes,
           a.maxDynamicSharedSizeBytes == 49152 - 4000 ? "the rest" : "another size");
    CK(cudaFuncGetAttributes(&a, local));
    expect(a.localSizeBytes >= 1200, "local memory");
    CK(cudaFuncGetAttributes(&a, dynamic));
    printf("dynamic: shared %zu, up to %d\n", a.sharedSizeBytes, a.maxDynamicSharedSizeBytes);

    int optin = 0;
    CK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    dynamic<<<1, 64, 60000>>>(d, 15000);
    show("60000 bytes at first", cudaGetLastError());
    CK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    CK(cudaFuncGetAttributes(&a, dynamic));
    printf("dynamic now up to %d\n", a.maxDynamicSharedSizeBytes);
    dynamic<<<1, 64, 60000>>>(d, 15000);
    LAUNCHED("60000 bytes");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d\n", h);
    show("more than there is", cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1));
    show("less than nothing", cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, -5));
    show("no such attribute", cudaFuncSetAttribute(dynamic, (cudaFuncAttribute)99, 1));
    CK(cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    CK(cudaFuncGetAttributes(&a, dynamic));
    printf("carveout %d\n", a.preferredShmemCarveout);
    CK(cudaFuncSetCacheConfig(dynamic, cudaFuncCachePreferShared));

    show("no kernel", cudaFuncGetAttributes(&a, (const void *)on_the_host));
    show("no function", cudaFuncGetAttributes(&a, (const void *)nullptr));
    show("attributes to nowhere", cudaFuncGetAttributes(nullptr, (const void *)plain));
    show("attribute of no kernel",
         cudaFuncSetAttribute((const void *)on_the_host, cudaFuncAttributeMaxDynamicSharedMemorySize, 16));
    cudaFunction_t function = nullptr;
    CK(cudaGetFuncBySymbol(&function, (const void *)plain));
    expect(function != nullptr, "function of a stub");
    show("function of no kernel", cudaGetFuncBySymbol(&function, (const void *)on_the_host));
#if CUDART_VERSION >= 12030
    const char *name = nullptr;
    CK(cudaFuncGetName(&name, (const void *)with_shared));
    printf("name %s\n", name ? name : "none");
#else
    printf("name _Z11with_sharedPi\n");
#endif
    cudaGetLastError();
    with_shared<<<1, 64>>>(d);
    local<<<1, 1>>>(d, 17);
    bounded<<<1, 128>>>(d);
    plain<<<1, 1>>>(d);
    LAUNCHED("the rest");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d\n", h);
    return finish();
}
