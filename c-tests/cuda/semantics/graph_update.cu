// Updates of an executable graph: from a changed graph as a whole, node by node, and
// changes that an update refuses.
#include "../common.h"

__global__ void add(int *v, int by) { *v += by; }
__global__ void multiply(int *v, int by) { *v *= by; }

static cudaStream_t s;
static int *d;

static cudaGraph_t captured(int first, int second, bool third)
{
    cudaGraph_t graph = nullptr;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemsetAsync(d, 0, sizeof(int), s));
    add<<<1, 1, 0, s>>>(d, first);
    multiply<<<1, 1, 0, s>>>(d, second);
    if (third)
        add<<<1, 1, 0, s>>>(d, 1);
    CK(cudaStreamEndCapture(s, &graph));
    return graph;
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, int *result)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info = {};
    cudaError_t e = cudaGraphExecUpdate(exec, graph, &info);
    *result = (int)info.result;
#else
    cudaGraphNode_t node = nullptr;
    cudaGraphExecUpdateResult r = cudaGraphExecUpdateSuccess;
    cudaError_t e = cudaGraphExecUpdate(exec, graph, &node, &r);
    *result = (int)r;
#endif
    return e;
}

static void run(cudaGraphExec_t exec, const char *what)
{
    int h = -1;
    CK(cudaGraphLaunch(exec, s));
    CK(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("%s: %d\n", what, h);
}

int main()
{
    NEED(cudaMalloc(&d, sizeof(int)));
    NEED(cudaStreamCreate(&s));
    cudaGraph_t graph = captured(3, 5, false), changed = captured(4, 6, false), longer = captured(1, 1, true);
    cudaGraphExec_t exec = nullptr;
    NEED(instantiate(&exec, graph));
    run(exec, "first");
    int result = -1;
    CK(update(exec, changed, &result));
    printf("update %d\n", result);
    run(exec, "updated");
    show("update to another shape", update(exec, longer, &result));
    printf("update %d\n", result);
    cudaGetLastError();
    run(exec, "unchanged");

    cudaGraphNode_t nodes[8] = {};
    size_t count = 8;
    CK(cudaGraphGetNodes(graph, nodes, &count));
    printf("%zu nodes\n", count);
    for (size_t i = 0; i < count; i++) {
        cudaGraphNodeType type = cudaGraphNodeTypeCount;
        CK(cudaGraphNodeGetType(nodes[i], &type));
        if (type == cudaGraphNodeTypeMemset) {
            cudaMemsetParams m = {};
            CK(cudaGraphMemsetNodeGetParams(nodes[i], &m));
            m.value = m.elementSize == 1 ? 1 : 0x01010101;
            CK(cudaGraphExecMemsetNodeSetParams(exec, nodes[i], &m));
            continue;
        }
        cudaKernelNodeParams k = {};
        CK(cudaGraphKernelNodeGetParams(nodes[i], &k));
        int other = k.func == (void *)add ? -0x01010101 + 9 : 2;
        void *args[] = {&d, &other};
        k.kernelParams = args;
        CK(cudaGraphExecKernelNodeSetParams(exec, nodes[i], &k));
    }
    run(exec, "node by node");
    // The graph itself did not change.
    cudaGraphExec_t second = nullptr;
    NEED(instantiate(&second, graph));
    run(second, "a second instance");
    CK(cudaGraphUpload(second, s));
    CK(cudaStreamSynchronize(s));
    CK(update(second, changed, &result));
    run(second, "updated");
    for (cudaGraph_t g : {graph, changed, longer})
        CK(cudaGraphDestroy(g));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphExecDestroy(second));
    return finish();
}
