// Allocation and free inside a graph: as nodes, and captured from stream-ordered
// calls.
#include "../common.h"

__global__ void fill(int *v, int with) { v[threadIdx.x] = with * threadIdx.x; }
__global__ void gather(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }

int main()
{
    int *d = nullptr, h[32] = {};
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t alloc, make, use, release;
    cudaStream_t s = nullptr;
    CK(cudaStreamCreate(&s));
    NEED(cudaGraphCreate(&graph, 0));

    cudaMemAllocNodeParams a = {};
    a.poolProps.allocType = cudaMemAllocationTypePinned;
    a.poolProps.location.type = cudaMemLocationTypeDevice;
    a.bytesize = sizeof h;
    NEED(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &a));
    expect(a.dptr != nullptr, "address at the time of building");
    int two = 2;
    void *fill_args[] = {&a.dptr, &two}, *gather_args[] = {&d, &a.dptr};
    cudaKernelNodeParams k = {};
    k.func = (void *)fill;
    k.gridDim = dim3(1);
    k.blockDim = dim3(32);
    k.kernelParams = fill_args;
    CK(cudaGraphAddKernelNode(&make, graph, &alloc, 1, &k));
    k.func = (void *)gather;
    k.kernelParams = gather_args;
    CK(cudaGraphAddKernelNode(&use, graph, &make, 1, &k));
    CK(cudaGraphAddMemFreeNode(&release, graph, &use, 1, a.dptr));
    cudaGraphNodeType type = cudaGraphNodeTypeCount;
    CK(cudaGraphNodeGetType(alloc, &type));
    printf("types %d", (int)type);
    CK(cudaGraphNodeGetType(release, &type));
    printf(" %d\n", (int)type);
    void *freed = nullptr;
    CK(cudaGraphMemFreeNodeGetParams(release, &freed));
    expect(freed == a.dptr, "address of the release");
    NEED(instantiate(&exec, graph));
    for (int i = 0; i < 3; i++)
        CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[1], h[31]);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));

    NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    int *inside = nullptr;
    CK(cudaMallocAsync(&inside, sizeof h, s));
    fill<<<1, 32, 0, s>>>(inside, 5);
    gather<<<1, 32, 0, s>>>(d, inside);
    LAUNCHED("captured");
    CK(cudaFreeAsync(inside, s));
    NEED(cudaStreamEndCapture(s, &graph));
    size_t nodes = 0;
    CK(cudaGraphGetNodes(graph, nullptr, &nodes));
    printf("%zu nodes\n", nodes);
    NEED(instantiate(&exec, graph));
    CK(cudaGraphLaunch(exec, s));
    CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[1], h[31]);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
    unsigned long long reserved = 1;
    CK(cudaDeviceGraphMemTrim(0));
    CK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &reserved));
    printf("in use %llu\n", reserved);
    return finish();
}
