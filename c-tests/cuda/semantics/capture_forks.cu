// A capture that forks to other streams by events and joins again; the streams'
// capture status meanwhile.
#include "../common.h"

__global__ void store(int *v, int what) { *v = what; }
__global__ void sum(int *v) { v[3] = v[0] + v[1] + v[2]; }

static const char *state(cudaStream_t s)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
    CK(cudaStreamIsCapturing(s, &status));
    return status == cudaStreamCaptureStatusNone ? "none"
           : status == cudaStreamCaptureStatusActive ? "active" : "invalidated";
}

int main()
{
    int *d = nullptr, h[4] = {};
    cudaStream_t a = nullptr, b = nullptr, c = nullptr;
    cudaEvent_t fork = nullptr, join_b = nullptr, join_c = nullptr;
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    CK(cudaStreamCreate(&a));
    CK(cudaStreamCreate(&b));
    CK(cudaStreamCreate(&c));
    for (cudaEvent_t *e : {&fork, &join_b, &join_c})
        CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));

    NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    printf("a %s, b %s\n", state(a), state(b));
    store<<<1, 1, 0, a>>>(d, 1);
    CK(cudaEventRecord(fork, a));
    CK(cudaStreamWaitEvent(b, fork, 0));
    CK(cudaStreamWaitEvent(c, fork, 0));
    printf("a %s, b %s, c %s\n", state(a), state(b), state(c));
    store<<<1, 1, 0, b>>>(d + 1, 10);
    store<<<1, 1, 0, c>>>(d + 2, 100);
    LAUNCHED("captured");
    CK(cudaEventRecord(join_b, b));
    CK(cudaEventRecord(join_c, c));
    CK(cudaStreamWaitEvent(a, join_b, 0));
    CK(cudaStreamWaitEvent(a, join_c, 0));
    sum<<<1, 1, 0, a>>>(d);
    show("begin again", cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    show("end in another stream", cudaStreamEndCapture(b, nullptr));
    cudaGetLastError();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    printf("a %s\n", state(a));
    show("end", cudaStreamEndCapture(a, &graph));
    cudaGetLastError();
    printf("a %s, b %s\n", state(a), state(b));
    if (graph)
        CK(cudaGraphDestroy(graph));

    // Again without the mistakes.
    NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    store<<<1, 1, 0, a>>>(d, 1);
    CK(cudaEventRecord(fork, a));
    CK(cudaStreamWaitEvent(b, fork, 0));
    CK(cudaStreamWaitEvent(c, fork, 0));
    store<<<1, 1, 0, b>>>(d + 1, 10);
    store<<<1, 1, 0, c>>>(d + 2, 100);
    CK(cudaEventRecord(join_b, b));
    CK(cudaEventRecord(join_c, c));
    CK(cudaStreamWaitEvent(a, join_b, 0));
    CK(cudaStreamWaitEvent(a, join_c, 0));
    sum<<<1, 1, 0, a>>>(d);
    NEED(cudaStreamEndCapture(a, &graph));
    size_t nodes = 0, edges = 0, roots = 0;
    CK(cudaGraphGetNodes(graph, nullptr, &nodes));
#if CUDART_VERSION >= 13000
    CK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
    CK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
    CK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    printf("%zu nodes, %zu edges, %zu roots\n", nodes, edges, roots);
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("before %d %d\n", h[0], h[3]);
    NEED(instantiate(&exec, graph));
    CK(cudaGraphLaunch(exec, b));
    CK(cudaGraphLaunch(exec, b));
    CK(cudaStreamSynchronize(b));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("after %d %d\n", h[0], h[3]);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));

    // A stream that is destroyed before the capture that was forked into it.
    for (bool joined : {true, false}) {
        cudaStream_t gone = nullptr;
        graph = nullptr;
        CK(cudaStreamCreate(&gone));
        NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        store<<<1, 1, 0, a>>>(d, 1);
        CK(cudaEventRecord(fork, a));
        CK(cudaStreamWaitEvent(gone, fork, 0));
        store<<<1, 1, 0, gone>>>(d + 1, 10);
        CK(cudaEventRecord(join_b, gone));
        if (joined)
            CK(cudaStreamWaitEvent(a, join_b, 0));
        show("destroy", cudaStreamDestroy(gone));
        printf("a %s\n", state(a));
        show(joined ? "end, joined" : "end, not joined", cudaStreamEndCapture(a, &graph));
        cudaGetLastError();
        if (graph)
            CK(cudaGraphDestroy(graph));
    }
    return finish();
}
