// Kernel nodes of graphs that kernels change while the graph runs: parameters, grid size, enabled or not.
#include "../common.h"

__global__ void add(int *sum, int value)
{
    if (threadIdx.x == 0)
        atomicAdd(sum, value);
}

__device__ void say(const char *what, cudaError_t error)
{
    if (error != cudaSuccess)
        printf("%s: %s\n", what, cudaGetErrorName(error));
}

// How `add` runs next: 0 not at all, 1 with another value, 2 with more blocks, 3 both at once.
__global__ void decide(int how, cudaGraphDeviceNode_t node)
{
    switch (how) {
    case 0:
        say("off", cudaGraphKernelNodeSetEnabled(node, false));
        break;
    case 1:
        say("on", cudaGraphKernelNodeSetEnabled(node, true));
        say("value", cudaGraphKernelNodeSetParam(node, 8, 100));
        break;
    case 2:
        say("blocks", cudaGraphKernelNodeSetGridDim(node, dim3(3, 2, 1)));
        break;
    default:
        alignas(cudaGraphKernelNodeUpdate) char room[2 * sizeof(cudaGraphKernelNodeUpdate)];
        cudaGraphKernelNodeUpdate *updates = (cudaGraphKernelNodeUpdate *)room;
        int value = 7;
        updates[0].node = node;
        updates[0].field = cudaGraphKernelNodeFieldGridDim;
        updates[0].updateData.gridDim = dim3(2, 1, 1);
        updates[1].node = node;
        updates[1].field = cudaGraphKernelNodeFieldParam;
        updates[1].updateData.param.pValue = &value;
        updates[1].updateData.param.offset = 8;
        updates[1].updateData.param.size = sizeof value;
        say("all", cudaGraphKernelNodeUpdatesApply(updates, 2));
    }
}

int main()
{
    int *sum;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    NEED(cudaMallocManaged(&sum, sizeof *sum));
    NEED(cudaStreamCreate(&stream));
    NEED(cudaGraphCreate(&graph, 0));

    int how = 0, value = 1;
    cudaGraphDeviceNode_t node = nullptr;
    void *deciding[] = {&how, &node}, *adding[] = {&sum, &value};
    cudaKernelNodeParams params = {};
    params.func = (void *)add;
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = adding;
    NEED(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &params));
    cudaLaunchAttributeValue attribute = {};
    attribute.deviceUpdatableKernelNode.deviceUpdatable = 1;
    NEED(cudaGraphKernelNodeSetAttribute(second, cudaLaunchAttributeDeviceUpdatableKernelNode, &attribute));
    cudaLaunchAttributeValue read = {};
    NEED(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributeDeviceUpdatableKernelNode, &read));
    node = read.deviceUpdatableKernelNode.devNode;
    printf("a handle: %s\n", node ? "yes" : "no");
    params.func = (void *)decide;
    params.blockDim = dim3(1);
    params.kernelParams = deciding;
    NEED(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &params));
#if CUDART_VERSION >= 13000
    NEED(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
#else
    NEED(cudaGraphAddDependencies(graph, &first, &second, 1));
#endif

    cudaGraphExec_t exec;
    NEED(cudaGraphInstantiate(&exec, graph, 0));
    NEED(cudaGraphUpload(exec, stream));
    for (how = 0; how < 4; how++) {
        *sum = 0;
        NEED(cudaGraphExecKernelNodeSetParams(exec, first, &params));
        NEED(cudaGraphLaunch(exec, stream));
        NEED(cudaStreamSynchronize(stream));
        printf("%d: %d\n", how, *sum);
    }

    // Restrictions on such nodes and their graphs.
    attribute.deviceUpdatableKernelNode.deviceUpdatable = 0;
    printf("taken back: %s\n",
           cudaGraphKernelNodeSetAttribute(second, cudaLaunchAttributeDeviceUpdatableKernelNode, &attribute) ? "refused"
                                                                                                            : "done");
    cudaGraphExec_t other;
    printf("a second instance: %s\n", cudaGraphInstantiate(&other, graph, 0) ? "refused" : "done");
    printf("removed: %s\n", cudaGraphDestroyNode(second) ? "refused" : "done");
    cudaGetLastError();
    return finish();
}
