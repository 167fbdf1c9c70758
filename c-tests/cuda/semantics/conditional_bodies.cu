// Conditional nodes of every kind: else, switch, nested loops, a captured body, another default value, and
// refused calls.
#include "../common.h"

__global__ void countdown(cudaGraphConditionalHandle handle, int *left)
{
    *left -= 1;
    cudaGraphSetConditional(handle, *left);
}

__global__ void set(cudaGraphConditionalHandle handle, unsigned to) { cudaGraphSetConditional(handle, to); }

__global__ void add(int *to, int what) { *to += what; }

static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t many,
                            cudaGraphNodeParams *params)
{
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, after, nullptr, many, params);
#else
    return cudaGraphAddNode(node, graph, after, many, params);
#endif
}

static cudaError_t conditional(cudaGraph_t *bodies, cudaGraph_t graph, cudaGraphNode_t *node, const cudaGraphNode_t *after,
                               cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size)
{
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaError_t status = add_node(node, graph, after, after ? 1 : 0, &params);
    for (unsigned i = 0; status == cudaSuccess && i < size; i++)
        bodies[i] = params.conditional.phGraph_out[i];
    return status;
}

template <class... A>
static cudaGraphNode_t kernel(cudaGraph_t graph, const cudaGraphNode_t *after, void (*function)(A...), A... given)
{
    void *args[] = {&given...};
    cudaKernelNodeParams params = {};
    params.func = (void *)function;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = args;
    cudaGraphNode_t node = nullptr;
    CK(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params));
    return node;
}

static void run(cudaGraphExec_t exec, int *sums, int first, int second)
{
    int h[4] = {first, second, 0, 0};
    CK(cudaMemcpy(sums, h, sizeof h, cudaMemcpyHostToDevice));
    CK(cudaGraphLaunch(exec, 0));
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost));
    printf("  %d %d %d %d\n", h[0], h[1], h[2], h[3]);
}

static void refused(const char *what, cudaError_t status)
{
    printf("%s: %s\n", what, status == cudaSuccess ? "taken" : "refused");
    cudaGetLastError();
}

static void choices(int *sums)
{
    for (unsigned value : {0u, 1u, 2u, 7u}) {
        cudaGraph_t graph = nullptr, either[2] = {}, one[3] = {};
        cudaGraphNode_t first = nullptr, second = nullptr;
        cudaGraphConditionalHandle a, b;
        cudaGraphExec_t exec = nullptr;
        CK(cudaGraphCreate(&graph, 0));
        CK(cudaGraphConditionalHandleCreate(&a, graph, value, cudaGraphCondAssignDefault));
        CK(cudaGraphConditionalHandleCreate(&b, graph, 0, 0));
        CK(conditional(either, graph, &first, nullptr, a, cudaGraphCondTypeIf, 2));
        kernel(either[0], nullptr, add, sums, 1);
        kernel(either[1], nullptr, add, sums, 2);
        cudaGraphNode_t before = kernel(graph, &first, set, b, value);
        CK(conditional(one, graph, &second, &before, b, cudaGraphCondTypeSwitch, 3));
        for (int i = 0; i < 3; i++)
            kernel(one[i], nullptr, add, sums + 1, 10 * (i + 1));
        CK(instantiate(&exec, graph));
        printf("value %u\n", value);
        run(exec, sums, 0, 0);
        CK(cudaGraphExecDestroy(exec));
        CK(cudaGraphDestroy(graph));
    }
}

// A nested loop; the inner body is captured from a stream.
static void loops(int *sums)
{
    cudaGraph_t graph = nullptr, outer = nullptr, inner = nullptr, captured = nullptr;
    cudaGraphNode_t node = nullptr, within = nullptr;
    cudaGraphConditionalHandle a, b;
    cudaGraphExec_t exec = nullptr;
    cudaStream_t stream = nullptr;
    CK(cudaStreamCreate(&stream));
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphConditionalHandleCreate(&a, graph, 1, cudaGraphCondAssignDefault));
    CK(cudaGraphConditionalHandleCreate(&b, graph, 1, cudaGraphCondAssignDefault));
    CK(conditional(&outer, graph, &node, nullptr, a, cudaGraphCondTypeWhile, 1));
    cudaGraphNode_t counted = kernel(outer, nullptr, add, sums + 1, 3);
    cudaGraphNode_t ready = kernel(outer, &counted, set, b, 1u);
    CK(conditional(&inner, outer, &within, &ready, b, cudaGraphCondTypeWhile, 1));
    kernel(outer, &within, countdown, a, sums);
    CK(cudaStreamBeginCaptureToGraph(stream, inner, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(sums + 2, 1);
    countdown<<<1, 1, 0, stream>>>(b, sums + 1);
    CK(cudaStreamEndCapture(stream, &captured));
    expect(captured == inner, "captured into the body");
    CK(instantiate(&exec, graph));
    run(exec, sums, 4, 0);
    run(exec, sums, 1, 2);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
    CK(cudaStreamDestroy(stream));
}

static void rules()
{
    cudaGraph_t graph = nullptr, other = nullptr, bodies[3] = {};
    cudaGraphNode_t node = nullptr;
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec = nullptr, second = nullptr;
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphCreate(&other, 0));
    refused("unknown flags", cudaGraphConditionalHandleCreate(&handle, graph, 0, 6));
    CK(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    refused("two bodies of a loop", conditional(bodies, graph, &node, nullptr, handle, cudaGraphCondTypeWhile, 2));
    refused("no body", conditional(bodies, graph, &node, nullptr, handle, cudaGraphCondTypeIf, 0));
    CK(conditional(bodies, graph, &node, nullptr, handle, cudaGraphCondTypeIf, 1));
    cudaGraphNodeType type;
    CK(cudaGraphNodeGetType(node, &type));
    expect(type == cudaGraphNodeTypeConditional, "its type");
    refused("a clone", cudaGraphClone(&other, graph));
    refused("a child", cudaGraphAddChildGraphNode(&node, other, nullptr, 0, graph));
    CK(instantiate(&exec, graph));
    refused("a second instance", instantiate(&second, graph));
    CK(cudaGraphExecDestroy(exec));
    CK(instantiate(&exec, graph));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
    CK(cudaGraphDestroy(other));
}

int main()
{
    int *sums = nullptr;
    NEED(cudaMalloc(&sums, 4 * sizeof *sums));
    choices(sums);
    loops(sums);
    rules();
    CK(cudaFree(sums));
    return finish();
}
