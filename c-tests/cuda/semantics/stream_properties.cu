// Flags and priorities of streams, their range, the special handles, and invalid
// handles.
#include "../common.h"

__global__ void add(int *v) { atomicAdd(v, 1); }

int main()
{
    int least = 99, greatest = 99, priority = 99, *d = nullptr, h = 0;
    unsigned flags = 99;
    NEED(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    expect(least == 0 && greatest <= least, "priority range");
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));

    cudaStream_t plain = nullptr, apart = nullptr, high = nullptr, beyond = nullptr;
    CK(cudaStreamCreate(&plain));
    CK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    CK(cudaStreamCreateWithPriority(&beyond, cudaStreamDefault, greatest - 100));
    for (cudaStream_t s : {plain, apart, high, beyond}) {
        CK(cudaStreamGetFlags(s, &flags));
        CK(cudaStreamGetPriority(s, &priority));
        printf("flags %u, priority %s\n", flags,
               priority == greatest && greatest < 0 ? "greatest" : priority == 0 ? "least" : "other");
        add<<<1, 1, 0, s>>>(d);
        LAUNCHED("add");
    }
    CK(cudaStreamGetFlags(cudaStreamLegacy, &flags));
    CK(cudaStreamGetPriority(nullptr, &priority));
    printf("default stream: flags %u, priority %d\n", flags, priority);
    CK(cudaStreamGetFlags(cudaStreamPerThread, &flags));
    printf("per-thread stream: flags %u\n", flags);
#if CUDART_VERSION >= 12000
    unsigned long long one = 0, two = 0, again = 0;
    CK(cudaStreamGetId(plain, &one));
    CK(cudaStreamGetId(apart, &two));
    CK(cudaStreamGetId(plain, &again));
    expect(one != two && one == again, "identifiers");
#else
    expect(true, "identifiers");
#endif
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("sum %d\n", h);

    cudaStream_t kept = (cudaStream_t)0x40;
    show("no such flags", cudaStreamCreateWithFlags(&kept, 0x20));
    show("to nowhere", cudaStreamCreate(nullptr));
    show("flags to nowhere", cudaStreamGetFlags(plain, nullptr));
    show("priority to nowhere", cudaStreamGetPriority(plain, nullptr));
    show("destroy the default stream", cudaStreamDestroy(nullptr));
    show("destroy the legacy stream", cudaStreamDestroy(cudaStreamLegacy));
    expect(kept == (cudaStream_t)0x40 || kept == nullptr, "no stream after an error");
    cudaGetLastError();

    cudaStreamAttrValue value = {};
    CK(cudaStreamGetAttribute(plain, cudaStreamAttributeSynchronizationPolicy, &value));
    printf("synchronization policy %d\n", (int)value.syncPolicy);
    value.syncPolicy = cudaSyncPolicyYield;
    CK(cudaStreamSetAttribute(plain, cudaStreamAttributeSynchronizationPolicy, &value));
    value.syncPolicy = cudaSyncPolicyAuto;
    CK(cudaStreamCopyAttributes(apart, plain));
    CK(cudaStreamGetAttribute(apart, cudaStreamAttributeSynchronizationPolicy, &value));
    printf("copied policy %d\n", (int)value.syncPolicy);
    for (cudaStream_t s : {plain, apart, high, beyond})
        CK(cudaStreamDestroy(s));
    return finish();
}
