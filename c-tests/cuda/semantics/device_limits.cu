// Limits of a device: read, set and read again; invalid limits.
#include "../common.h"

// Needs a stack deeper than the default.
__device__ __noinline__ int deep(int n)
{
    volatile int frame[64];
    for (int i = 0; i < 64; i++)
        frame[i] = n + i;
    return n == 0 ? frame[63] : deep(n - 1) + frame[n % 64];
}

__global__ void descend(int *out, int n) { *out = deep(n); }

__global__ void take(int *failed, size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        atomicAdd(failed, 1);
    free(p);
}

int main()
{
    size_t value = 0;
    NEED(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    expect(value >= 512 && value <= 65536, "stack to begin with");
    CK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    expect(value >= 65536, "printf buffer to begin with");
    CK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    printf("heap %zu\n", value);

    CK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    CK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    expect(value >= (16 << 20), "heap set");
    CK(cudaDeviceSetLimit(cudaLimitStackSize, 32768));
    CK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    printf("stack %zu\n", value);

    show("no limit", cudaDeviceSetLimit((cudaLimit)0x77, 1));
    value = 13;
    show("no limit read", cudaDeviceGetLimit(&value, (cudaLimit)0x77));
    show("limit to nowhere", cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
    printf("untouched %zu\n", value);
    cudaGetLastError();

    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    descend<<<1, 1>>>(d, 60);
    LAUNCHED("descend");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    int want = 63;
    for (int n = 1; n <= 60; n++)
        want += n + n % 64;
    expect(h == want, "deep recursion");

    CK(cudaMemset(d, 0, sizeof h));
    take<<<1, 4>>>(d, 1 << 20);
    LAUNCHED("take");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("failed %d\n", h);
    take<<<1, 1>>>(d, (size_t)1 << 40);
    LAUNCHED("take too much");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("failed %d\n", h);
    show("heap after a kernel used it", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    cudaGetLastError();

    cudaFuncCache cache = cudaFuncCachePreferNone;
    CK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    CK(cudaDeviceGetCacheConfig(&cache));
    expect(cache == cudaFuncCachePreferL1 || cache == cudaFuncCachePreferNone, "cache preference");
    return finish();
}
