// Stream-ordered allocation: cudaMallocAsync, user-created pools, their attributes,
// and refused calls.
#include "../common.h"

__global__ void add(int *v, int by) { v[threadIdx.x] += by; }

int main()
{
    int pools = 0;
    NEED(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    printf("pools %d\n", pools);
    cudaStream_t s = nullptr;
    int *a = nullptr, *b = nullptr, h[32] = {};
    CK(cudaStreamCreate(&s));
    for (int round = 0; round < 3; round++) {
        NEED(cudaMallocAsync(&a, sizeof h, s));
        CK(cudaMemsetAsync(a, 0, sizeof h, s));
        add<<<1, 32, 0, s>>>(a, round + 1);
        LAUNCHED("add");
        CK(cudaMemcpyAsync(h, a, sizeof h, cudaMemcpyDeviceToHost, s));
        CK(cudaFreeAsync(a, s));
        CK(cudaStreamSynchronize(s));
        printf("round %d: %d %d\n", round, h[0], h[31]);
    }
    NEED(cudaMalloc(&b, 64));
    CK(cudaFreeAsync(b, s));
    NEED(cudaMallocAsync(&a, 64, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaFree(a));

    cudaMemPool_t standard = nullptr, current = nullptr, own = nullptr;
    CK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CK(cudaDeviceGetMemPool(&current, 0));
    expect(standard && standard == current, "the default pool is the current one");
    unsigned long long threshold = 77, used = 77;
    CK(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
    printf("threshold %llu\n", threshold);

    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    NEED(cudaMemPoolCreate(&own, &props));
    threshold = 1 << 20;
    CK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    printf("own threshold %llu\n", threshold);
    CK(cudaMallocFromPoolAsync(&a, 1 << 16, own, s));
    CK(cudaMallocFromPoolAsync(&b, 1 << 16, own, s));
    expect(a && b && a != b, "two blocks of a pool");
    CK(cudaStreamSynchronize(s));
    CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
    printf("used %llu\n", used);
    CK(cudaFreeAsync(a, s));
    CK(cudaFreeAsync(b, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
    printf("used %llu\n", used);
    CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &used));
    printf("used at most %llu\n", used);
    CK(cudaMemPoolTrimTo(own, 0));
    CK(cudaDeviceSetMemPool(0, own));
    CK(cudaDeviceGetMemPool(&current, 0));
    expect(current == own, "own pool is the current one");
    CK(cudaMallocAsync(&a, 512, s));
    CK(cudaFreeAsync(a, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaDeviceSetMemPool(0, standard));
    CK(cudaMemPoolDestroy(own));

    void *kept = (void *)0x40;
    show("no bytes", cudaMallocAsync(&kept, 0, s));
    show("to nowhere", cudaMallocAsync((void **)nullptr, 64, s));
    show("free of nothing", cudaFreeAsync(nullptr, s));
    show("free of the stack", cudaFreeAsync(h, s));
    show("destroy the default pool", cudaMemPoolDestroy(standard));
    cudaGetLastError();
    CK(cudaStreamDestroy(s));
    return finish();
}
