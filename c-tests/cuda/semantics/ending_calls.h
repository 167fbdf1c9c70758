// All sorts of runtime calls, made at one place, and a few of the driver's.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include "ending.h"

__global__ void store(int *v, int what) { *v = what; }
__device__ int symbol;
__managed__ int shared_value = 5;

static void nothing(void *) {}

// Objects from main that each place uses again.
static struct {
    int *device, *managed, *pinned;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraphExec_t graph;
} made;

static std::string named(cudaError_t e)
{
    // It also asks for the error's name: that must always work.
    const char *name = cudaGetErrorName(e);
    return e == cudaSuccess ? "ok" : name;
}

// Creates all of main's objects; the first calls of the process, if none came before.
static bool make()
{
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    bool good = !cudaMalloc(&made.device, 64) && !cudaMallocManaged(&made.managed, 64) && !cudaMallocHost(&made.pinned, 64) &&
        !cudaStreamCreate(&made.stream) && !cudaEventCreate(&made.event) && !cudaGraphCreate(&graph, 0) &&
        !cudaGraphAddEmptyNode(&node, graph, nullptr, 0);
#if CUDART_VERSION >= 12000
    good = good && !cudaGraphInstantiate(&made.graph, graph, 0);
#else
    good = good && !cudaGraphInstantiate(&made.graph, graph, nullptr, nullptr, 0);
#endif
    if (good) {
        *made.managed = 7;
        *made.pinned = 8;
        store<<<1, 1>>>(made.device, 1);
        good = !cudaGetLastError() && !cudaDeviceSynchronize();
    }
    if (!good)
        printf("main: %s\n", cudaGetErrorName(cudaGetLastError()));
    return good;
}

#define CALL(name, call) (present_call = name, answers.add(name, named(call)))

// All calls of the runtime. `use` includes calls that wait for work or need main's objects.
static void runtime_calls(const char *place)
{
    Answers answers;
    int n = -1, m = 0, value = 0, least = 0, greatest = 0;
    int *d = nullptr, *pinned = nullptr, *managed = nullptr, *async = nullptr;
    size_t a = 0, b = 0;
    unsigned flags = 0;
    CALL("peek", cudaPeekAtLastError());
    CALL("count", cudaGetDeviceCount(&n));
    CALL("device", cudaGetDevice(&m));
    CALL("set", cudaSetDevice(0));
    CALL("flags", cudaGetDeviceFlags(&flags));
    CALL("attribute", cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    CALL("limit", cudaDeviceGetLimit(&a, cudaLimitStackSize));
    CALL("priorities", cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CALL("memory", cudaMemGetInfo(&a, &b));
    CALL("malloc", cudaMalloc(&d, 64));
    CALL("memset", cudaMemset(d, 0, 64));
    value = 11;
    CALL("in", cudaMemcpy(d, &value, sizeof value, cudaMemcpyHostToDevice));
    store<<<1, 1>>>(d, 12);
    CALL("launch", cudaGetLastError());
    CALL("sync", cudaDeviceSynchronize());
    CALL("out", cudaMemcpy(&value, d, sizeof value, cudaMemcpyDeviceToHost));
    answers.add("value", value == 12 ? "ok" : "not stored");
    CALL("free", cudaFree(d));
    CALL("freenull", cudaFree(nullptr));
    CALL("mallochost", cudaMallocHost(&pinned, 64));
    CALL("freehost", cudaFreeHost(pinned));
    CALL("mallocmanaged", cudaMallocManaged(&managed, 64));
    CALL("freemanaged", cudaFree(managed));
    CALL("mallocasync", cudaMallocAsync(&async, 64, nullptr));
    CALL("freeasync", cudaFreeAsync(async, nullptr));
    CALL("tosymbol", cudaMemcpyToSymbol(symbol, &value, sizeof value));
    void *address = nullptr;
    CALL("symbol", cudaGetSymbolAddress(&address, symbol));
    cudaFuncAttributes function;
    CALL("function", cudaFuncGetAttributes(&function, store));
    CALL("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, store, 32, 0));
    cudaPointerAttributes pointer;
    CALL("pointer", cudaPointerGetAttributes(&pointer, &value));
    cudaStream_t stream = nullptr;
    cudaError_t error = cudaStreamCreate(&stream);
    answers.add("stream", named(error));
    // The output of a failed call is undefined.
    stream = error ? nullptr : stream;
    CALL("hostfunc", cudaLaunchHostFunc(stream, nothing, nullptr));
    CALL("streamsync", cudaStreamSynchronize(stream));
    CALL("query", cudaStreamQuery(nullptr));
    CALL("streamdestroy", cudaStreamDestroy(stream));
    cudaEvent_t event = nullptr;
    error = cudaEventCreate(&event);
    answers.add("event", named(error));
    event = error ? nullptr : event;
    CALL("record", cudaEventRecord(event));
    CALL("eventsync", cudaEventSynchronize(event));
    CALL("eventdestroy", cudaEventDestroy(event));
    cudaGraph_t graph = nullptr;
    CALL("graph", cudaGraphCreate(&graph, 0));
    CALL("graphdestroy", cudaGraphDestroy(graph));
    value = 0;
    CALL("driverversion", cudaDriverGetVersion(&value));
    // Not by std::to_string: it would keep a library from being unloaded.
    answers.add("itsvalue", value >= 11000 ? "ok" : value == 0 ? "0" : "too old");
    CALL("runtimeversion", cudaRuntimeGetVersion(&value));
    if (made.device) {
        CALL("oldmemset", cudaMemset(made.device, 0, 64));
        CALL("oldlaunch", cudaGraphLaunch(made.graph, made.stream));
        CALL("oldrecord", cudaEventRecord(made.event, made.stream));
        CALL("oldsync", cudaStreamSynchronize(made.stream));
        CALL("oldpointer", cudaPointerGetAttributes(&pointer, made.pinned));
        // Memory that the host can access stays accessible.
        answers.add("touch", *made.managed == 7 && *made.pinned == 8 ? "ok" : "other values");
    }
    CALL("last", cudaGetLastError());
    answers.print(place);
}
