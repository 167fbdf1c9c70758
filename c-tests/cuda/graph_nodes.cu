// A graph of explicit kernel nodes whose parameters are read back, changed in the
// graph and changed in the executable graph.
#include "common.h"

__global__ void add(int *v, int by) { *v += by; }
__global__ void multiply(int *v, int by) { *v *= by; }

int main()
{
    int *d = nullptr, h = 0, five = 5, three = 3, seven = 7;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t first = nullptr, second = nullptr;
    cudaStream_t stream = nullptr;
    CK(cudaStreamCreate(&stream));
    CK(cudaGraphCreate(&graph, 0));

    void *add_args[] = {&d, &five}, *multiply_args[] = {&d, &three}, *changed_args[] = {&d, &seven};
    cudaKernelNodeParams p = {};
    p.func = (void *)add;
    p.gridDim = dim3(1);
    p.blockDim = dim3(1);
    p.kernelParams = add_args;
    bool built = CK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    p.func = (void *)multiply;
    p.kernelParams = multiply_args;
    built = built && CK(cudaGraphAddKernelNode(&second, graph, &first, 1, &p));
    if (!built)
        return finish();

    cudaKernelNodeParams back = {};
    CK(cudaGraphKernelNodeGetParams(second, &back));
    expect(back.func == (void *)multiply, "function read back");
    expect(*(int *)back.kernelParams[1] == 3, "argument read back");

#if CUDART_VERSION >= 12000
    CK(cudaGraphInstantiate(&exec, graph, 0));
#else
    CK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
    CK(cudaGraphLaunch(exec, stream));
    CK(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    printf("first %d\n", h);

    p.kernelParams = changed_args;
    CK(cudaGraphExecKernelNodeSetParams(exec, second, &p));
    CK(cudaGraphLaunch(exec, stream));
    CK(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    printf("second %d\n", h);

    p.func = (void *)add;
    p.kernelParams = add_args;
    CK(cudaGraphKernelNodeSetParams(second, &p));
    CK(cudaGraphExecDestroy(exec));
#if CUDART_VERSION >= 12000
    CK(cudaGraphInstantiate(&exec, graph, 0));
#else
    CK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
    CK(cudaGraphLaunch(exec, stream));
    CK(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    printf("third %d\n", h);
    return finish();
}
