// Managed memory: host and device access it in turn, copies and memsets of it, advice, prefetching,
// and refused calls.
#include "../common.h"

struct Node {
    int value;
    Node *next;
};

__managed__ int table[4] = {1, 2, 3, 4};
__managed__ Node *list;

__global__ void sum_list(int *out)
{
    int sum = 0;
    for (Node *n = list; n; n = n->next)
        sum += n->value;
    *out = sum;
}

__global__ void twice(int *v) { v[threadIdx.x] *= 2; }

static cudaError_t prefetch(void *p, size_t bytes, bool to_device)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {};
    where.type = to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
    return cudaMemPrefetchAsync(p, bytes, where, 0, nullptr);
#else
    return cudaMemPrefetchAsync(p, bytes, to_device ? 0 : cudaCpuDeviceId, nullptr);
#endif
}

int main()
{
    int *v = nullptr;
    Node *nodes = nullptr;
    NEED(cudaMallocManaged(&v, 32 * sizeof(int)));
    NEED(cudaMallocManaged(&nodes, 3 * sizeof(Node), cudaMemAttachGlobal));
    for (int i = 0; i < 32; i++)
        v[i] = i;
    for (int i = 0; i < 3; i++)
        nodes[i] = {10 * (i + 1), i < 2 ? nodes + i + 1 : nullptr};
    list = nodes;
    sum_list<<<1, 1>>>(v);
    LAUNCHED("sum_list");
    CK(cudaDeviceSynchronize());
    printf("list %d\n", v[0]);

    int concurrent = 0;
    CK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    if (concurrent) {
        CK(prefetch(v, 32 * sizeof(int), true));
        twice<<<1, 32>>>(v);
        CK(prefetch(v, 32 * sizeof(int), false));
    } else {
        twice<<<1, 32>>>(v);
    }
    twice<<<1, 4>>>(table);
    LAUNCHED("twice");
    CK(cudaDeviceSynchronize());
    printf("%d %d, table %d %d\n", v[0], v[31], table[0], table[3]);

    int from[4] = {};
    CK(cudaMemset(v, 0, 16));
    CK(cudaMemcpy(from, table, sizeof from, cudaMemcpyDefault));
    CK(cudaDeviceSynchronize());
    printf("%d %d %d, copied %d %d\n", v[0], v[3], v[4], from[0], from[3]);
    CK(cudaMemcpyFromSymbol(from, table, sizeof from));
    printf("by symbol %d\n", from[2]);

    void *kept = (void *)0x40;
    show("no bytes", cudaMallocManaged(&kept, 0));
    show("no such flags", cudaMallocManaged(&kept, 64, 77));
    show("to nowhere", cudaMallocManaged((void **)nullptr, 64));
    cudaGetLastError();
    CK(cudaFree(nodes));
    CK(cudaFree(v));
    return finish();
}
