// A graph with every simple kind of node: memset, copies, kernels, a host function, an
// empty node, a child graph, event records and waits.
#include "../common.h"

__global__ void add(int *v, int by) { v[threadIdx.x] += by; }

static void CUDART_CB note(void *p) { *(int *)p += 1; }

int main()
{
    const int n = 16;
    int *d = nullptr, *in = nullptr, *out = nullptr, calls = 0, seven = 7, hundred = 100;
    NEED(cudaMalloc(&d, n * sizeof(int)));
    NEED(cudaMallocHost(&in, n * sizeof(int)));
    NEED(cudaMallocHost(&out, n * sizeof(int)));
    for (int i = 0; i < n; i++)
        in[i] = i;
    cudaGraph_t graph = nullptr, child = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t set, up, kernel, empty, inner, host, down, record, waiting;
    cudaEvent_t event = nullptr;
    NEED(cudaGraphCreate(&graph, 0));
    CK(cudaGraphCreate(&child, 0));
    CK(cudaEventCreate(&event));

    cudaMemsetParams m = {};
    m.dst = d;
    m.value = 3;
    m.elementSize = 4;
    m.width = n;
    m.height = 1;
    NEED(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &m));
    CK(cudaGraphAddMemcpyNode1D(&up, graph, &set, 1, d, in, n / 2 * sizeof(int), cudaMemcpyHostToDevice));
    void *args[] = {&d, &seven}, *inner_args[] = {&d, &hundred};
    cudaKernelNodeParams k = {};
    k.func = (void *)add;
    k.gridDim = dim3(1);
    k.blockDim = dim3(n);
    k.kernelParams = args;
    CK(cudaGraphAddKernelNode(&kernel, graph, &up, 1, &k));
    CK(cudaGraphAddEmptyNode(&empty, graph, &kernel, 1));
    CK(cudaGraphAddEventRecordNode(&record, graph, &empty, 1, event));
    CK(cudaGraphAddEventWaitNode(&waiting, graph, &record, 1, event));
    k.kernelParams = inner_args;
    cudaGraphNode_t in_child;
    CK(cudaGraphAddKernelNode(&in_child, child, nullptr, 0, &k));
    CK(cudaGraphAddChildGraphNode(&inner, graph, &waiting, 1, child));
    cudaHostNodeParams hp = {};
    hp.fn = note;
    hp.userData = &calls;
    CK(cudaGraphAddHostNode(&host, graph, &inner, 1, &hp));
    cudaMemcpy3DParms cp = {};
    cp.srcPtr = make_cudaPitchedPtr(d, n * sizeof(int), n * sizeof(int), 1);
    cp.dstPtr = make_cudaPitchedPtr(out, n * sizeof(int), n * sizeof(int), 1);
    cp.extent = make_cudaExtent(n * sizeof(int), 1, 1);
    cp.kind = cudaMemcpyDeviceToHost;
    CK(cudaGraphAddMemcpyNode(&down, graph, &host, 1, &cp));

    for (cudaGraphNode_t node : {set, up, kernel, empty, record, waiting, inner, host, down}) {
        cudaGraphNodeType type = cudaGraphNodeTypeCount;
        CK(cudaGraphNodeGetType(node, &type));
        printf("%d ", (int)type);
    }
    printf("\n");
    cudaGraph_t embedded = nullptr;
    size_t count = 0;
    CK(cudaGraphChildGraphNodeGetGraph(inner, &embedded));
    CK(cudaGraphGetNodes(embedded, nullptr, &count));
    printf("child: %zu nodes, %s graph\n", count, embedded == child ? "the same" : "another");
    cudaMemsetParams back = {};
    CK(cudaGraphMemsetNodeGetParams(set, &back));
    printf("memset: value %u, width %zu, of %u bytes\n", back.value, back.width, back.elementSize);
    cudaHostNodeParams host_back = {};
    CK(cudaGraphHostNodeGetParams(host, &host_back));
    expect(host_back.fn == note && host_back.userData == &calls, "host function read back");

    cudaStream_t s = nullptr;
    CK(cudaStreamCreate(&s));
    NEED(instantiate(&exec, graph));
    for (int i = 0; i < 3; i++) {
        in[0] = 10 * i;
        CK(cudaGraphLaunch(exec, s));
        CK(cudaStreamSynchronize(s));
        printf("launch %d: %d %d %d, host function %d\n", i, out[0], out[7], out[8], calls);
    }
    show("event", cudaEventQuery(event));
    // The child graph was copied and may be destroyed.
    CK(cudaGraphDestroy(child));
    CK(cudaGraphDestroy(graph));
    CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
    printf("without the graph: %d\n", calls);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaStreamDestroy(s));
    return finish();
}
