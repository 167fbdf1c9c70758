// Calls that are forbidden during a stream capture, and the state of the capture after them.
#include "../common.h"

__global__ void store(int *v, int what) { *v = what; }

static int *d;
static cudaStream_t s, other;

static const char *state()
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CK(cudaStreamIsCapturing(s, &status));
    return status == cudaStreamCaptureStatusNone ? "none"
           : status == cudaStreamCaptureStatusActive ? "active" : "invalidated";
}

template <typename Call> static void during(const char *what, cudaStreamCaptureMode mode, Call call)
{
    if (!CK(cudaStreamBeginCapture(s, mode)))
        return;
    store<<<1, 1, 0, s>>>(d, 1);
    cudaError_t error = call();
    printf("%s: %s, then %s", what, cudaGetErrorName(error), state());
    cudaGraph_t graph = nullptr;
    error = cudaStreamEndCapture(s, &graph);
    printf(", end %s with %s, then %s\n", cudaGetErrorName(error), graph ? "a graph" : "no graph", state());
    if (graph)
        CK(cudaGraphDestroy(graph));
    cudaGetLastError();
}

int main()
{
    NEED(cudaMalloc(&d, 64));
    NEED(cudaStreamCreate(&s));
    NEED(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    cudaEvent_t event = nullptr;
    CK(cudaEventCreate(&event));
    int h = 0;
    void *p = nullptr;
    const cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal, relaxed = cudaStreamCaptureModeRelaxed;

    during("synchronize the stream", global, [] { return cudaStreamSynchronize(s); });
    during("query the stream", global, [] { return cudaStreamQuery(s); });
    during("synchronize the device", relaxed, [] { return cudaDeviceSynchronize(); });
    during("malloc", global, [&] { return cudaMalloc(&p, 64); });
    during("malloc, relaxed", relaxed, [&] { return cudaMalloc(&p, 64); });
    during("copy that waits", global, [&] { return cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); });
    during("legacy launch", global, [] {
        store<<<1, 1>>>(d, 2);
        return cudaGetLastError();
    });
    during("legacy launch, relaxed", relaxed, [] {
        store<<<1, 1>>>(d, 2);
        return cudaGetLastError();
    });
    during("another stream", global, [] {
        store<<<1, 1, 0, other>>>(d, 3);
        return cudaGetLastError();
    });
    during("synchronize another stream", global, [] { return cudaStreamSynchronize(other); });
    during("bad launch", global, [] {
        store<<<1, 4096, 0, s>>>(d, 2);
        return cudaGetLastError();
    });
    during("query a captured event", relaxed, [&] {
        cudaEventRecord(event, s);
        return cudaEventQuery(event);
    });
    during("unjoined work", global, [&] {
        cudaEventRecord(event, s);
        cudaStreamWaitEvent(other, event, 0);
        store<<<1, 1, 0, other>>>(d, 3);
        return cudaGetLastError();
    });
    during("destroy the stream's event", global, [&] { return cudaEventDestroy(event); });

    show("capture the default stream", cudaStreamBeginCapture(nullptr, global));
    show("capture with no such mode", cudaStreamBeginCapture(s, (cudaStreamCaptureMode)7));
    cudaGraph_t graph = nullptr;
    show("end what did not begin", cudaStreamEndCapture(s, &graph));
    cudaGetLastError();
    cudaStreamCaptureMode mode = relaxed;
    CK(cudaThreadExchangeStreamCaptureMode(&mode));
    printf("mode of the thread was %d\n", (int)mode);
    during("malloc by a relaxed thread", global, [&] { return cudaMalloc(&p, 64); });
    CK(cudaStreamBeginCapture(s, global));
    show("end without asking for the graph", cudaStreamEndCapture(s, nullptr));
    CK(cudaDeviceSynchronize());
    return finish();
}
