// Conditional graph nodes whose body runs as often as a kernel decides: if and while.
#include "../common.h"

__global__ void choose(cudaGraphConditionalHandle handle, int *count, int limit)
{
    cudaGraphSetConditional(handle, *count < limit);
}

__global__ void more(cudaGraphConditionalHandle handle, int *count, int limit)
{
    *count += 1;
    cudaGraphSetConditional(handle, *count < limit);
}

__global__ void add(int *count) { *count += 100; }

static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t many,
                            cudaGraphNodeParams *params)
{
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, after, nullptr, many, params);
#else
    return cudaGraphAddNode(node, graph, after, many, params);
#endif
}

int main()
{
    int *count = nullptr, h = 0, limit = 5;
    NEED(cudaMalloc(&count, sizeof *count));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphConditionalHandle loop, once;
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
    CK(cudaGraphConditionalHandleCreate(&once, graph, 0, cudaGraphCondAssignDefault));

    cudaGraphNode_t repeated = nullptr, first = nullptr, maybe = nullptr, inside = nullptr;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = loop;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    NEED(add_node(&repeated, graph, nullptr, 0, &params));
    cudaGraph_t body = params.conditional.phGraph_out[0];
    cudaKernelNodeParams kernel = {};
    void *args[] = {&loop, &count, &limit};
    kernel.func = (void *)more;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = args;
    CK(cudaGraphAddKernelNode(&inside, body, nullptr, 0, &kernel));

    int high = 6;
    void *choice[] = {&once, &count, &high};
    kernel.func = (void *)choose;
    kernel.kernelParams = choice;
    CK(cudaGraphAddKernelNode(&first, graph, &repeated, 1, &kernel));
    params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = once;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    NEED(add_node(&maybe, graph, &first, 1, &params));
    void *plain[] = {&count};
    kernel.func = (void *)add;
    kernel.kernelParams = plain;
    CK(cudaGraphAddKernelNode(&inside, params.conditional.phGraph_out[0], nullptr, 0, &kernel));

    CK(instantiate(&exec, graph));
    for (int start : {0, 9}) {
        CK(cudaMemcpy(count, &start, sizeof start, cudaMemcpyHostToDevice));
        CK(cudaGraphLaunch(exec, 0));
        CK(cudaDeviceSynchronize());
        CK(cudaMemcpy(&h, count, sizeof h, cudaMemcpyDeviceToHost));
        printf("from %d: %d\n", start, h);
    }
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
    return finish();
}
