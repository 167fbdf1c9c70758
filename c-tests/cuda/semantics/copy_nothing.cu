// Copies and memsets of no bytes: which of their other arguments are checked all the same, and
// their effect on a capture.
#include <cuda_runtime.h>
#include "sweep.h"

__device__ int symbol[16];

static std::string named(cudaError_t e)
{
    cudaGetLastError();
    return e == cudaSuccess ? "ok" : cudaGetErrorName(e) + strlen("cudaError");
}

static const std::vector<Value> kinds = numbers(-1, 6);
static cudaStream_t stream;
static char *d, *h;
static void *const nowhere = (void *)16;

static void begin()
{
    cudaMalloc(&d, 4096);
    cudaMallocHost(&h, 4096);
    cudaStreamCreate(&stream);
}

// Destination and source of a copy: the number of a pair.
static const struct {
    const char *name;
    int to, from;
} pairs[] = {{"host to device", 1, 2}, {"device to host", 2, 1}, {"null to null", 0, 0}, {"nowhere to device", 1, 3}, {"null to device", 1, 0}, {"device to nowhere", 3, 1}};

static void *place(int number) { return number == 0 ? nullptr : number == 1 ? d : number == 2 ? h : nowhere; }

static void linear()
{
    begin();
    for (const auto &pair : pairs) {
        void *to = place(pair.to);
        const void *from = place(pair.from);
        std::string what = std::string(" ") + pair.name;
        sweep("cudaMemcpy" + what, kinds, [=](Value v) { return named(cudaMemcpy(to, from, 0, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpyAsync" + what, kinds, [=](Value v) { return named(cudaMemcpyAsync(to, from, 0, (cudaMemcpyKind)v, stream)); });
        sweep("cudaMemcpyAsync, legacy stream" + what, kinds, [=](Value v) { return named(cudaMemcpyAsync(to, from, 0, (cudaMemcpyKind)v, nullptr)); });
        printf("cudaMemcpyPeer%s: %s\n", what.c_str(), named(cudaMemcpyPeer(to, 0, from, 0, 0)).c_str());
        printf("cudaMemcpyPeerAsync%s: %s\n", what.c_str(), named(cudaMemcpyPeerAsync(to, 0, from, 0, 0, stream)).c_str());
    }
    sweep("cudaMemcpyPeer to device", devices, [](Value v) { return named(cudaMemcpyPeer(d, (int)v, d + 64, 0, 0)); });
    sweep("cudaMemcpyPeer from device", devices, [](Value v) { return named(cudaMemcpyPeer(d, 0, d + 64, (int)v, 0)); });
    sweep("cudaMemcpyPeerAsync to device", devices, [](Value v) { return named(cudaMemcpyPeerAsync(d, (int)v, d + 64, 0, 0, stream)); });
    for (int p : {0, 1, 2, 3}) {
        std::string what = p == 0 ? " null" : p == 1 ? " device" : p == 2 ? " host" : " nowhere";
        void *at = place(p);
        printf("cudaMemset%s: %s\n", what.c_str(), named(cudaMemset(at, 0, 0)).c_str());
        printf("cudaMemsetAsync%s: %s\n", what.c_str(), named(cudaMemsetAsync(at, 0, 0, stream)).c_str());
        sweep("cudaMemset2D no width, pitch" + what, {0, 1, 4}, [=](Value v) { return named(cudaMemset2D(at, (size_t)v, 0, 0, 4)); });
        sweep("cudaMemset2D no height, pitch" + what, {0, 1, 4, 8}, [=](Value v) { return named(cudaMemset2D(at, (size_t)v, 0, 4, 0)); });
        sweep("cudaMemset2DAsync no height, pitch" + what, {0, 1, 4, 8}, [=](Value v) { return named(cudaMemset2DAsync(at, (size_t)v, 0, 4, 0, stream)); });
        sweep("cudaMemset3D, which extent is nothing" + what, {0, 1, 2}, [=](Value v) {
            cudaExtent extent = make_cudaExtent(v == 0 ? 0 : 4, v == 1 ? 0 : 4, v == 2 ? 0 : 4);
            return named(cudaMemset3D(make_cudaPitchedPtr(at, 4, 4, 4), 0, extent));
        });
    }
    printf("then: %s\n", named(cudaDeviceSynchronize()).c_str());
}

static void planes()
{
    begin();
    for (const auto &pair : pairs) {
        void *to = place(pair.to);
        const void *from = place(pair.from);
        std::string what = std::string(" ") + pair.name;
        sweep("cudaMemcpy2D no width" + what, kinds, [=](Value v) { return named(cudaMemcpy2D(to, 4, from, 4, 0, 4, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpy2D no height" + what, kinds, [=](Value v) { return named(cudaMemcpy2D(to, 4, from, 4, 4, 0, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpy2DAsync no width" + what, kinds, [=](Value v) { return named(cudaMemcpy2DAsync(to, 4, from, 4, 0, 4, (cudaMemcpyKind)v, stream)); });
        sweep("cudaMemcpy2DAsync no height" + what, kinds, [=](Value v) { return named(cudaMemcpy2DAsync(to, 4, from, 4, 4, 0, (cudaMemcpyKind)v, stream)); });
    }
    sweep("cudaMemcpy2D no height, pitch of the source", {0, 1, 3, 4, 8}, [](Value v) { return named(cudaMemcpy2D(d, 4, h, (size_t)v, 4, 0, cudaMemcpyHostToDevice)); });
    sweep("cudaMemcpy2D no height, pitch of the destination", {0, 1, 3, 4, 8}, [](Value v) { return named(cudaMemcpy2D(d, (size_t)v, h, 4, 4, 0, cudaMemcpyHostToDevice)); });
    sweep("cudaMemcpy2D no width, pitch of the source", {0, 1, 3, 4, 8}, [](Value v) { return named(cudaMemcpy2D(d, 4, h, (size_t)v, 0, 4, cudaMemcpyHostToDevice)); });
    for (int which : {0, 1, 2})
        for (bool later : {false, true})
            sweep(std::string("cudaMemcpy3D") + (later ? "Async" : "") + ", no extent " + std::to_string(which), kinds, [=](Value v) {
                cudaMemcpy3DParms copy;
                memset(&copy, 0, sizeof copy);
                copy.srcPtr = make_cudaPitchedPtr(h, 4, 4, 4);
                copy.dstPtr = make_cudaPitchedPtr(d, 4, 4, 4);
                copy.extent = make_cudaExtent(which == 0 ? 0 : 4, which == 1 ? 0 : 4, which == 2 ? 0 : 4);
                copy.kind = (cudaMemcpyKind)v;
                return named(later ? cudaMemcpy3DAsync(&copy, stream) : cudaMemcpy3D(&copy));
            });
    for (int which : {0, 1, 2})
        for (bool later : {false, true})
            sweep(std::string("cudaMemcpy3DPeer") + (later ? "Async" : "") + ", no extent " + std::to_string(which), devices, [=](Value v) {
                cudaMemcpy3DPeerParms copy;
                memset(&copy, 0, sizeof copy);
                copy.srcPtr = make_cudaPitchedPtr(d + 64, 4, 4, 4);
                copy.dstPtr = make_cudaPitchedPtr(d, 4, 4, 4);
                copy.srcDevice = (int)v;
                copy.extent = make_cudaExtent(which == 0 ? 0 : 4, which == 1 ? 0 : 4, which == 2 ? 0 : 4);
                return named(later ? cudaMemcpy3DPeerAsync(&copy, stream) : cudaMemcpy3DPeer(&copy));
            });
    for (bool later : {false, true})
        printf("cudaMemcpy3D%s of null parameters: %s\n", later ? "Async" : "", named(later ? cudaMemcpy3DAsync(nullptr, stream) : cudaMemcpy3D(nullptr)).c_str());
    cudaArray_t array;
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &one, 16, 16);
    for (int which : {0, 1}) {
        size_t width = which == 0 ? 0 : 4, height = which == 1 ? 0 : 4;
        std::string what = which == 0 ? " no width" : " no height";
        sweep("cudaMemcpy2DToArray" + what, kinds, [=](Value v) { return named(cudaMemcpy2DToArray(array, 0, 0, h, 4, width, height, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpy2DFromArray" + what, kinds, [=](Value v) { return named(cudaMemcpy2DFromArray(h, 4, array, 0, 0, width, height, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpy2DToArrayAsync" + what, kinds, [=](Value v) { return named(cudaMemcpy2DToArrayAsync(array, 0, 0, h, 4, width, height, (cudaMemcpyKind)v, stream)); });
        sweep("cudaMemcpy2DArrayToArray" + what, kinds, [=](Value v) { return named(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 0, width, height, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpy2DToArray at x" + what, {0, 60, 64, 65, 1000}, [=](Value v) { return named(cudaMemcpy2DToArray(array, (size_t)v, 0, h, 4, width, height, cudaMemcpyHostToDevice)); });
    }
    printf("then: %s\n", named(cudaDeviceSynchronize()).c_str());
}

static void symbols()
{
    begin();
    static int none;
    for (const void *from : {(const void *)h, (const void *)d, (const void *)nullptr}) {
        std::string what = !from ? " null" : from == h ? " host" : " device";
        sweep("cudaMemcpyToSymbol" + what, kinds, [=](Value v) { return named(cudaMemcpyToSymbol(symbol, from, 0, 0, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpyToSymbolAsync" + what, kinds, [=](Value v) { return named(cudaMemcpyToSymbolAsync(symbol, from, 0, 0, (cudaMemcpyKind)v, stream)); });
        sweep("cudaMemcpyFromSymbol" + what, kinds, [=](Value v) { return named(cudaMemcpyFromSymbol((void *)from, symbol, 0, 0, (cudaMemcpyKind)v)); });
        sweep("cudaMemcpyFromSymbolAsync" + what, kinds, [=](Value v) { return named(cudaMemcpyFromSymbolAsync((void *)from, symbol, 0, 0, (cudaMemcpyKind)v, stream)); });
    }
    sweep("cudaMemcpyToSymbol offset", {0, 1, 63, 64, 65, 1000, -1}, [](Value v) { return named(cudaMemcpyToSymbol(symbol, h, 0, (size_t)v)); });
    sweep("cudaMemcpyFromSymbol offset", {0, 1, 63, 64, 65, 1000, -1}, [](Value v) { return named(cudaMemcpyFromSymbol(h, symbol, 0, (size_t)v)); });
    sweep("cudaMemcpyToSymbol of no symbol", kinds, [](Value v) { return named(cudaMemcpyToSymbol((const void *)&none, h, 0, 0, (cudaMemcpyKind)v)); });
    sweep("cudaMemcpyFromSymbol of no symbol", kinds, [](Value v) { return named(cudaMemcpyFromSymbol(h, (const void *)&none, 0, 0, (cudaMemcpyKind)v)); });
    printf("then: %s\n", named(cudaDeviceSynchronize()).c_str());
}

// The number of nodes that a call adds to a capture.
static std::string captured(const std::function<cudaError_t()> &call)
{
    cudaGraph_t graph = nullptr;
    size_t count = 77;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    std::string text = named(call());
    text += "/" + named(cudaStreamEndCapture(stream, &graph));
    if (graph) {
        cudaGraphGetNodes(graph, nullptr, &count);
        cudaGraphDestroy(graph);
        text += "/" + std::to_string(count);
    }
    return text;
}

static void graphs()
{
    begin();
    sweep("captured cudaMemcpyAsync", kinds, [](Value v) { return captured([=] { return cudaMemcpyAsync(d, h, 0, (cudaMemcpyKind)v, stream); }); });
    sweep("captured cudaMemcpy2DAsync no width", {1, 4}, [](Value v) { return captured([=] { return cudaMemcpy2DAsync(d, 4, h, 4, 0, 4, (cudaMemcpyKind)v, stream); }); });
    sweep("captured cudaMemcpy2DAsync no height", {1, 4}, [](Value v) { return captured([=] { return cudaMemcpy2DAsync(d, 4, h, 4, 4, 0, (cudaMemcpyKind)v, stream); }); });
    sweep("captured cudaMemsetAsync of null and of device memory", {0, 1}, [](Value v) { return captured([=] { return cudaMemsetAsync(place((int)v), 0, 0, stream); }); });
    sweep("captured cudaMemset2DAsync no width", {0, 1}, [](Value v) { return captured([=] { return cudaMemset2DAsync(place((int)v), 4, 0, 0, 4, stream); }); });
    sweep("captured cudaMemcpyToSymbolAsync", {1, 3, 4}, [](Value v) { return captured([=] { return cudaMemcpyToSymbolAsync(symbol, h, 0, 0, (cudaMemcpyKind)v, stream); }); });
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    sweep("cudaGraphAddMemcpyNode1D", kinds, [=](Value v) {
        cudaGraphNode_t node;
        return named(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, d, h, 0, (cudaMemcpyKind)v));
    });
    sweep("cudaGraphAddMemcpyNode1D of something", kinds, [=](Value v) {
        cudaGraphNode_t node;
        return named(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, d, h, 16, (cudaMemcpyKind)v));
    });
    for (int which : {0, 1, 2})
        sweep("cudaGraphAddMemcpyNode, no extent " + std::to_string(which), kinds, [=](Value v) {
            cudaGraphNode_t node;
            cudaMemcpy3DParms copy;
            memset(&copy, 0, sizeof copy);
            copy.srcPtr = make_cudaPitchedPtr(h, 4, 4, 4);
            copy.dstPtr = make_cudaPitchedPtr(d, 4, 4, 4);
            copy.extent = make_cudaExtent(which == 0 ? 0 : 4, which == 1 ? 0 : 4, which == 2 ? 0 : 4);
            copy.kind = (cudaMemcpyKind)v;
            return named(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy));
        });
    sweep("cudaGraphAddMemcpyNodeToSymbol", {1, 3, 4}, [=](Value v) {
        cudaGraphNode_t node;
        return named(cudaGraphAddMemcpyNodeToSymbol(&node, graph, nullptr, 0, symbol, h, 0, 0, (cudaMemcpyKind)v));
    });
    for (int which : {0, 1})
        sweep(std::string("cudaGraphAddMemsetNode no ") + (which ? "height" : "width"), {0, 1, 4}, [=](Value v) {
            cudaGraphNode_t node;
            cudaMemsetParams params;
            memset(&params, 0, sizeof params);
            params.dst = d;
            params.elementSize = (unsigned)v;
            params.width = which == 0 ? 0 : 4;
            params.height = which == 1 ? 0 : 1;
            return named(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &params));
        });
    cudaGraphExec_t exec = nullptr;
    std::string ran = named(cudaGraphInstantiate(&exec, graph, 0));
    if (exec)
        ran += "/" + named(cudaGraphLaunch(exec, stream)) + "/" + named(cudaStreamSynchronize(stream));
    printf("a graph of them: %s\n", ran.c_str());
}

// A stream that was destroyed.
static void wrong_stream()
{
    begin();
    cudaStreamDestroy(stream);
    printf("cudaMemcpyAsync in a destroyed stream: %s\n", named(cudaMemcpyAsync(d, h, 0, cudaMemcpyDefault, stream)).c_str());
    printf("cudaMemcpy2DAsync in a destroyed stream: %s\n", named(cudaMemcpy2DAsync(d, 4, h, 4, 0, 4, cudaMemcpyDefault, stream)).c_str());
    printf("cudaMemsetAsync in a destroyed stream: %s\n", named(cudaMemsetAsync(d, 0, 0, stream)).c_str());
    printf("cudaMemset2DAsync in a destroyed stream: %s\n", named(cudaMemset2DAsync(d, 4, 0, 0, 4, stream)).c_str());
}

// After work has failed.
__global__ void fault(int *nowhere) { *nowhere = 1; }

static void failed()
{
    begin();
    fault<<<1, 1>>>((int *)16);
    printf("fault: %s\n", named(cudaDeviceSynchronize()).c_str());
    printf("cudaMemcpy then: %s\n", named(cudaMemcpy(d, h, 0, cudaMemcpyDefault)).c_str());
    printf("cudaMemcpyAsync then: %s\n", named(cudaMemcpyAsync(d, h, 0, cudaMemcpyDefault, stream)).c_str());
    printf("cudaMemset then: %s\n", named(cudaMemset(d, 0, 0)).c_str());
    printf("cudaMemsetAsync then: %s\n", named(cudaMemsetAsync(d, 0, 0, stream)).c_str());
    printf("cudaMemset2D then: %s\n", named(cudaMemset2D(d, 4, 0, 0, 4)).c_str());
}

int main(int argc, char **argv)
{
    return all_parts(argc, argv, {{"linear", linear}, {"planes", planes}, {"symbols", symbols}, {"graphs", graphs}, {"wrong stream", wrong_stream}, {"failed", failed}});
}
