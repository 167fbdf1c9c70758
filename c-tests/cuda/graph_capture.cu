// A graph by stream capture, launched many times; the host executes the captured
// launches once.
#include "common.h"

__global__ void increment(int *v, int by) { *v += by; }
__global__ void twice(int *v) { *v *= 2; }

int main()
{
    int *d = nullptr, h = 0;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    CK(cudaStreamCreate(&stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    increment<<<1, 1, 0, stream>>>(d, 3);
    twice<<<1, 1, 0, stream>>>(d);
    increment<<<1, 1, 0, stream>>>(d, 1);
    LAUNCHED("captured launches");
    if (CK(cudaStreamEndCapture(stream, &graph))) {
        size_t nodes = 0;
        CK(cudaGraphGetNodes(graph, nullptr, &nodes));
        printf("%zu nodes\n", nodes);
#if CUDART_VERSION >= 12000
        CK(cudaGraphInstantiate(&exec, graph, 0));
#else
        CK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
        for (int i = 0; i < 5; i++)
            CK(cudaGraphLaunch(exec, stream));
        CK(cudaStreamSynchronize(stream));
        CK(cudaGraphExecDestroy(exec));
        CK(cudaGraphDestroy(graph));
    }
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("value %d\n", h);
    return finish();
}
