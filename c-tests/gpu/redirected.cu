// A program whose kernels redirected_new.cu replaces: every printed line shows which
// code ran. c-tests/harness/redirected.py knows the expected lines.
#include "../cuda/common.h"

__device__ int state = 5;
__constant__ int factor = 3;
// clang has no managed variables for CUDA.
#ifdef __clang__
__device__ int counter = 40;
static void set_counter(int to) { CK(cudaMemcpyToSymbol(counter, &to, sizeof to)); }
static int get_counter()
{
    int now = 0;
    CK(cudaMemcpyFromSymbol(&now, counter, sizeof now));
    return now;
}
#else
__managed__ int counter = 40;
static void set_counter(int to) { counter = to; }
static int get_counter() { return counter; }
#endif

extern "C" __global__ void step(int *v, int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(v, 1);
}
extern "C" __global__ void stateful(int *v)
{
    *v = state * factor;
    state++;
}
extern "C" __global__ void shape(int *v)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *v = gridDim.x;
}
extern "C" __global__ void count(int *v)
{
    *v = counter;
    counter += 2;
}
extern "C" __global__ void leave_out(int *v) { *v = 1; }

static int *d;

static int take()
{
    int h = -1;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    CK(cudaMemset(d, 0, sizeof h));
    return h;
}

int main()
{
    NEED(cudaMalloc(&d, 256));
    NEED(cudaMemset(d, 0, 256));
    for (int i = 0; i < 3; i++)
        step<<<1, 32>>>(d, 1);
    LAUNCHED("step");
    printf("plain %d\n", take());

    cudaFuncAttributes attributes = {};
    CK(cudaFuncGetAttributes(&attributes, step));
    printf("static shared %zu\n", attributes.sharedSizeBytes);
    int blocks = 0;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, step, 32, 0));
    printf("occupancy %s\n", blocks > 8 ? "many" : "few");

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    NEED(cudaStreamCreate(&stream));
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step<<<1, 32, 0, stream>>>(d, 1);
    NEED(cudaStreamEndCapture(stream, &graph));
    NEED(instantiate(&exec, graph));
    for (int i = 0; i < 2; i++)
        CK(cudaGraphLaunch(exec, stream));
    printf("captured %d\n", take());

    cudaGraph_t second;
    cudaGraphNode_t node;
    cudaKernelNodeParams p = {};
    int one = 1;
    void *args[] = {&d, &one};
    p.func = (void *)step;
    p.gridDim = dim3(1);
    p.blockDim = dim3(32);
    p.kernelParams = args;
    NEED(cudaGraphCreate(&second, 0));
    NEED(cudaGraphAddKernelNode(&node, second, nullptr, 0, &p));
    NEED(instantiate(&exec, second));
    CK(cudaGraphLaunch(exec, stream));
    printf("node %d\n", take());

    stateful<<<1, 1>>>(d);
    int first = take();
    stateful<<<1, 1>>>(d);
    int now = 0;
    printf("stateful %d %d\n", first, take());
    CK(cudaMemcpyFromSymbol(&now, state, sizeof now));
    printf("state %d\n", now);
    shape<<<4, 32>>>(d);
    printf("shape %d\n", take());
    leave_out<<<1, 1>>>(d);
    printf("left out %d\n", take());
    count<<<1, 1>>>(d);
    first = take();
    printf("managed %d %d", first, get_counter());
    set_counter(50);
    count<<<1, 1>>>(d);
    printf(" %d\n", take());
    int three = 30;
    CK(cudaMemcpyToSymbol(factor, &three, sizeof three));
    stateful<<<1, 1>>>(d);
    printf("constant %d\n", take());
    // A node whose parameters are changed, in its graph and in the executable graph.
    p.gridDim = dim3(2);
    CK(cudaGraphKernelNodeSetParams(node, &p));
    NEED(instantiate(&exec, second));
    CK(cudaGraphLaunch(exec, stream));
    printf("node set %d\n", take());
    p.func = (void *)shape;
    p.gridDim = dim3(3);
    args[1] = nullptr;
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
    NEED(instantiate(&exec, graph));
    CK(cudaGraphLaunch(exec, stream));
    printf("shape node %d", take());
    p.gridDim = dim3(4);
    CK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
    CK(cudaGraphLaunch(exec, stream));
    printf(" %d\n", take());
    p.func = (void *)leave_out;
    p.gridDim = dim3(1);
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
    NEED(instantiate(&exec, graph));
    CK(cudaGraphLaunch(exec, stream));
    printf("node left out %d\n", take());
    return finish();
}
