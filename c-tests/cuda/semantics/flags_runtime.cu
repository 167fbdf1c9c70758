// Every value of the flags and enumerations that functions of the runtime take: which are
// accepted, and what is read back. Left out is what depends on the device (L2 that persists, memory shared
// with other processes, clusters, managed pools, device launches, sparse arrays).
#include <cuda_runtime.h>
#include "sweep.h"

__global__ void kernel(int *v) { *v = 1; }
__global__ void idle() {}
__device__ int symbol[16];

static std::string named(cudaError_t e)
{
    cudaGetLastError();
    return e == cudaSuccess ? "ok" : cudaGetErrorName(e) + strlen("cudaError");
}

// By reference: what the call stores is read when it has returned.
template <class T> static std::string with(cudaError_t e, const T &value)
{
    std::string text = named(e);
    return e == cudaSuccess ? text + "=" + shown((Value)value) : text;
}

static const std::vector<Value> devices = {-0x80000000ll, -3, -2, -1, 0, 1, 2, 100000000, 0x7fffffff};

static void device_flags()
{
    auto set = [](Value v) {
        unsigned now = 77;
        cudaError_t e = cudaSetDeviceFlags((unsigned)v);
        std::string first = named(e);
        cudaError_t read = cudaGetDeviceFlags(&now);
        return first + "/" + with(read, now);
    };
    sweep("cudaSetDeviceFlags before a context, read", flags(8), set);
    cudaSetDeviceFlags(0);
    cudaFree(nullptr);
    sweep("cudaSetDeviceFlags with a context, read", flags(8), set);
    cudaSetDeviceFlags(0);
#if CUDART_VERSION >= 12000
    sweep("cudaInitDevice flags", flags(4), [](Value v) { return named(cudaInitDevice(0, 0, (unsigned)v)); });
    sweep("cudaInitDevice device flags, read", flags(8), [](Value v) {
        unsigned now = 77;
        std::string first = named(cudaInitDevice(0, (unsigned)v, 1));
        return first + "/" + with(cudaGetDeviceFlags(&now), now);
    });
    sweep("cudaInitDevice device flags that are not valid", flags(8), [](Value v) {
        return named(cudaInitDevice(0, (unsigned)v, 0));
    });
    sweep("cudaInitDevice device", devices, [](Value v) { return named(cudaInitDevice((int)v, 0, 0)); });
#endif
}

static void device_values()
{
    cudaFree(nullptr);
    sweep("cudaSetDevice", devices, [](Value v) { return named(cudaSetDevice((int)v)); });
    sweep("cudaGetDeviceProperties", devices, [](Value v) {
        cudaDeviceProp p;
        return named(cudaGetDeviceProperties(&p, (int)v));
    });
    sweep("cudaDeviceGetAttribute device", devices, [](Value v) {
        int value = 0;
        return named(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, (int)v));
    });
    sweep("cudaDeviceGetAttribute attribute", numbers(-1, 140), [](Value v) {
        int value = 0;
        return named(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)v, 0));
    });
    sweep("cudaDeviceGetPCIBusId", devices, [](Value v) {
        char id[64];
        return named(cudaDeviceGetPCIBusId(id, sizeof id, (int)v));
    });
    sweep("cudaDeviceGetPCIBusId length", numbers(-1, 16), [](Value v) {
        static char id[64];
        return named(cudaDeviceGetPCIBusId(id, v > 60 ? 60 : (int)v, 0));
    });
    sweep("cudaDeviceCanAccessPeer from", devices, [](Value v) {
        int can = 77;
        cudaError_t e = cudaDeviceCanAccessPeer(&can, (int)v, 0);
        return with(e, can);
    });
    sweep("cudaDeviceCanAccessPeer to", devices, [](Value v) {
        int can = 77;
        cudaError_t e = cudaDeviceCanAccessPeer(&can, 0, (int)v);
        return with(e, can);
    });
    sweep("cudaDeviceEnablePeerAccess device", devices, [](Value v) { return named(cudaDeviceEnablePeerAccess((int)v, 0)); });
    sweep("cudaDeviceEnablePeerAccess flags", flags(4), [](Value v) { return named(cudaDeviceEnablePeerAccess(0, (unsigned)v)); });
    sweep("cudaDeviceDisablePeerAccess", devices, [](Value v) { return named(cudaDeviceDisablePeerAccess((int)v)); });
    sweep("cudaDeviceGetP2PAttribute", numbers(-1, 10), [](Value v) {
        int value = 0;
        return named(cudaDeviceGetP2PAttribute(&value, (cudaDeviceP2PAttr)v, 0, 0));
    });
    sweep("cudaDeviceGetP2PAttribute device", devices, [](Value v) {
        int value = 0;
        return named(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, (int)v));
    });
    sweep("cudaDeviceGetDefaultMemPool", devices, [](Value v) {
        cudaMemPool_t pool;
        return named(cudaDeviceGetDefaultMemPool(&pool, (int)v));
    });
    sweep("cudaDeviceGetMemPool", devices, [](Value v) {
        cudaMemPool_t pool;
        return named(cudaDeviceGetMemPool(&pool, (int)v));
    });
    sweep("cudaDeviceGraphMemTrim", devices, [](Value v) { return named(cudaDeviceGraphMemTrim((int)v)); });
    sweep("cudaDeviceSetCacheConfig, read", numbers(-1, 6), [](Value v) {
        cudaFuncCache now = (cudaFuncCache)77;
        std::string first = named(cudaDeviceSetCacheConfig((cudaFuncCache)v));
        return first + "/" + with(cudaDeviceGetCacheConfig(&now), now);
    });
    sweep("cudaDeviceSetSharedMemConfig, read", numbers(-1, 5), [](Value v) {
        cudaSharedMemConfig now = (cudaSharedMemConfig)77;
        std::string first = named(cudaDeviceSetSharedMemConfig((cudaSharedMemConfig)v));
        return first + "/" + with(cudaDeviceGetSharedMemConfig(&now), now);
    });
    sweep("cudaDeviceFlushGPUDirectRDMAWrites target", {-1, 1, 2, 3, 100}, [](Value v) {
        return named(cudaDeviceFlushGPUDirectRDMAWrites((cudaFlushGPUDirectRDMAWritesTarget)v, cudaFlushGPUDirectRDMAWritesToOwner));
    });
}

static void limits()
{
    cudaFree(nullptr);
    sweep("cudaDeviceGetLimit", numbers(-1, 20), [](Value v) {
        size_t value = 0;
        if (v == cudaLimitPersistingL2CacheSize || v == 7)
            return std::string("-");
        cudaError_t e = cudaDeviceGetLimit(&value, (cudaLimit)v);
        return with(e, value);
    });
    const std::vector<Value> sizes = {0, 1, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129, 1000, 1024, 1025, 4096, 65536, 65537, 262143, 262144, 524272, 524288,
                                      1 << 20, (1 << 20) + 1, 1 << 22, 1 << 24, (1 << 25) + 7, 1 << 30};
    for (int limit : {0, 1, 2, 3, 4, 5, 8})
        sweep("cudaDeviceSetLimit " + std::to_string(limit) + ", read", sizes, [=](Value v) {
            size_t before = 0, value = 0;
            cudaDeviceGetLimit(&before, (cudaLimit)limit);
            std::string first = named(cudaDeviceSetLimit((cudaLimit)limit, (size_t)v));
            std::string all = first + "/" + with(cudaDeviceGetLimit(&value, (cudaLimit)limit), value);
            cudaDeviceSetLimit((cudaLimit)limit, before);
            return all;
        });
    sweep("cudaDeviceSetLimit of no limit", numbers(-1, 20), [](Value v) {
        return v >= 0 && v <= 8 ? std::string("-") : named(cudaDeviceSetLimit((cudaLimit)v, 1024));
    });
}

static void host()
{
    cudaFree(nullptr);
    sweep("cudaHostAlloc, read", flags(6), [](Value v) {
        void *p = nullptr;
        unsigned now = 77;
        std::string first = named(cudaHostAlloc(&p, 64, (unsigned)v));
        if (!p)
            return first;
        first += "/" + with(cudaHostGetFlags(&now, p), now);
        cudaFreeHost(p);
        return first;
    });
    void *own = aligned_alloc(4096, 8192);
    sweep("cudaHostRegister, read", flags(6), [=](Value v) {
        unsigned now = 77;
        cudaError_t e = cudaHostRegister(own, 4096, (unsigned)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaHostGetFlags(&now, own), now);
        return first + "/" + named(cudaHostUnregister(own));
    });
    sweep("cudaHostRegister size", {0, 1, 100, 4095, 4096, 4097, 8192}, [=](Value v) {
        cudaError_t e = cudaHostRegister(own, (size_t)v, 0);
        std::string first = named(e);
        if (!e)
            cudaHostUnregister(own);
        return first;
    });
    void *p = nullptr;
    cudaHostAlloc(&p, 64, cudaHostAllocMapped);
    sweep("cudaHostGetDevicePointer flags", flags(4), [=](Value v) {
        void *d;
        return named(cudaHostGetDevicePointer(&d, p, (unsigned)v));
    });
    sweep("cudaMallocManaged", flags(5), [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocManaged(&p, 64, (unsigned)v);
        std::string first = named(e);
        if (!e)
            cudaFree(p);
        return first;
    });
    sweep("cudaMallocManaged size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocManaged(&p, (size_t)v);
        std::string first = named(e);
        if (!e)
            cudaFree(p);
        return first;
    });
    sweep("cudaMalloc size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMalloc(&p, (size_t)v);
        std::string first = named(e) + (p ? "" : ", null");
        cudaFree(p);
        return first;
    });
    sweep("cudaHostAlloc size", {0, 1, (Value)1 << 60, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaHostAlloc(&p, (size_t)v, 0);
        std::string first = named(e) + (p ? "" : ", null");
        cudaFreeHost(p);
        return first;
    });
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *d = nullptr, h[16] = {};
    cudaMalloc(&d, 64);
    auto kind = [&](const char *name, void *to, const void *from) {
        sweep(std::string("cudaMemcpy ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy(to, from, 16, (cudaMemcpyKind)v)); });
        sweep(std::string("cudaMemcpyAsync ") + name, numbers(-1, 6), [=](Value v) {
            std::string first = named(cudaMemcpyAsync(to, from, 16, (cudaMemcpyKind)v, stream));
            return first + "/" + named(cudaStreamSynchronize(stream));
        });
        sweep(std::string("cudaMemcpy of nothing ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy(to, from, 0, (cudaMemcpyKind)v)); });
        sweep(std::string("cudaMemcpy2D ") + name, numbers(-1, 6), [=](Value v) { return named(cudaMemcpy2D(to, 4, from, 4, 4, 4, (cudaMemcpyKind)v)); });
    };
    kind("host to device", d, h);
    kind("device to host", h, d);
    kind("device to device", d, d + 8);
    kind("host to host", h, h + 8);
    sweep("cudaMemcpyToSymbol kind", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyToSymbol(symbol, h, 16, 0, (cudaMemcpyKind)v)); });
    sweep("cudaMemcpyToSymbol from the device", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyToSymbol(symbol, d, 16, 0, (cudaMemcpyKind)v)); });
    sweep("cudaMemcpyFromSymbol kind", numbers(-1, 6), [&](Value v) { return named(cudaMemcpyFromSymbol(h, symbol, 16, 0, (cudaMemcpyKind)v)); });
}

// Only what are flags: NVIDIA's driver crashes for some that are none.
static void attach()
{
    char *managed = nullptr;
    cudaMallocManaged(&managed, 1 << 20);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (size_t length : {(size_t)0, (size_t)1 << 20, (size_t)4096})
        sweep("cudaStreamAttachMemAsync " + std::to_string(length), {1, 2, 4}, [=](Value v) {
            std::string first = named(cudaStreamAttachMemAsync(stream, managed, length, (unsigned)v));
            cudaDeviceSynchronize();
            return first;
        });
}

static void streams()
{
    cudaFree(nullptr);
    sweep("cudaStreamCreateWithFlags, read", flags(5), [](Value v) {
        cudaStream_t s = nullptr;
        unsigned now = 77;
        cudaError_t e = cudaStreamCreateWithFlags(&s, (unsigned)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaStreamGetFlags(s, &now), now);
        cudaStreamDestroy(s);
        return first;
    });
    sweep("cudaStreamCreateWithPriority flags", flags(5), [](Value v) {
        cudaStream_t s = nullptr;
        cudaError_t e = cudaStreamCreateWithPriority(&s, (unsigned)v, 0);
        if (!e)
            cudaStreamDestroy(s);
        return named(e);
    });
    sweep("cudaStreamCreateWithPriority priority, read", numbers(-12, 12), [](Value v) {
        cudaStream_t s = nullptr;
        int now = 77;
        cudaError_t e = cudaStreamCreateWithPriority(&s, 0, (int)v);
        std::string first = named(e);
        if (e)
            return first;
        first += "/" + with(cudaStreamGetPriority(s, &now), now);
        cudaStreamDestroy(s);
        return first;
    });
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    sweep("cudaEventCreateWithFlags", flags(6), [](Value v) {
        cudaEvent_t e = nullptr;
        cudaError_t error = cudaEventCreateWithFlags(&e, (unsigned)v);
        if (!error)
            cudaEventDestroy(e);
        return named(error);
    });
    cudaEvent_t event;
    cudaEventCreate(&event);
    sweep("cudaEventRecordWithFlags", flags(4), [=](Value v) { return named(cudaEventRecordWithFlags(event, stream, (unsigned)v)); });
    sweep("cudaStreamWaitEvent", flags(4), [=](Value v) { return named(cudaStreamWaitEvent(stream, event, (unsigned)v)); });
    sweep("cudaStreamAddCallback", flags(4), [=](Value v) {
        std::string first = named(cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t, void *) {}, nullptr, (unsigned)v));
        cudaStreamSynchronize(stream);
        return first;
    });
    sweep("cudaStreamGetAttribute", numbers(-1, 24), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cudaStreamGetAttribute(stream, (cudaStreamAttrID)v, &value));
    });
    sweep("cudaStreamSetAttribute of zeroes", numbers(-1, 24), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cudaStreamSetAttribute(stream, (cudaStreamAttrID)v, &value));
    });
    sweep("cudaStreamSetAttribute synchronization policy", numbers(-1, 6), [=](Value v) {
        cudaStreamAttrValue value;
        memset(&value, 0, sizeof value);
        value.syncPolicy = (cudaSynchronizationPolicy)v;
        return named(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    });
    sweep("cudaStreamBeginCapture mode", numbers(-1, 5), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaError_t e = cudaStreamBeginCapture(stream, (cudaStreamCaptureMode)v);
        if (!e && !cudaStreamEndCapture(stream, &graph))
            cudaGraphDestroy(graph);
        return named(e);
    });
    sweep("cudaThreadExchangeStreamCaptureMode, read", numbers(-1, 5), [=](Value v) {
        cudaStreamCaptureMode mode = (cudaStreamCaptureMode)v, now = cudaStreamCaptureModeGlobal;
        cudaError_t e = cudaThreadExchangeStreamCaptureMode(&mode);
        if (!e)
            cudaThreadExchangeStreamCaptureMode(&now);
        return with(e, mode) + "/" + shown(now);
    });
    sweep("cudaEventRecordWithFlags in a capture", flags(4), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        std::string first = named(cudaEventRecordWithFlags(event, stream, (unsigned)v));
        first += "/" + named(cudaStreamEndCapture(stream, &graph));
        if (graph)
            cudaGraphDestroy(graph);
        cudaEventRecord(event, nullptr);
        return first;
    });
    sweep("cudaStreamWaitEvent in a capture", flags(4), [=](Value v) {
        cudaGraph_t graph = nullptr;
        cudaEvent_t own;
        cudaEventCreate(&own);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
        cudaEventRecord(own, stream);
        std::string first = named(cudaStreamWaitEvent(stream, own, (unsigned)v));
        first += "/" + named(cudaStreamEndCapture(stream, &graph));
        if (graph)
            cudaGraphDestroy(graph);
        cudaEventDestroy(own);
        return first;
    });
}

static void graphs()
{
    cudaFree(nullptr);
    sweep("cudaGraphCreate", flags(4), [](Value v) {
        cudaGraph_t graph = nullptr;
        cudaError_t e = cudaGraphCreate(&graph, (unsigned)v);
        if (!e)
            cudaGraphDestroy(graph);
        return named(e);
    });
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t a, b, c;
    cudaGraphAddEmptyNode(&a, graph, nullptr, 0);
    cudaGraphAddEmptyNode(&b, graph, nullptr, 0);
    sweep("cudaGraphInstantiateWithFlags, read", flags(6, 64), [=](Value v) {
        if (v > 0 && v & cudaGraphInstantiateFlagDeviceLaunch)
            return std::string("-");
        cudaGraphExec_t exec = nullptr;
        cudaError_t e = cudaGraphInstantiateWithFlags(&exec, graph, (unsigned long long)v);
        std::string first = named(e);
#if CUDART_VERSION >= 12000
        unsigned long long now = 77;
        if (!e)
            first += "/" + with(cudaGraphExecGetFlags(exec, &now), now);
#endif
        if (!e)
            cudaGraphExecDestroy(exec);
        return first;
    });
    sweep("cudaGraphDebugDotPrint", flags(5), [=](Value v) { return named(cudaGraphDebugDotPrint(graph, "/dev/null", (unsigned)v)); });
#if CUDART_VERSION >= 13000
    sweep("cudaGraphAddDependencies type", {0, 2, 3, 255, 256}, [=](Value v) {
        cudaGraphEdgeData edge;
        memset(&edge, 0, sizeof edge);
        edge.type = (unsigned char)v;
        cudaError_t e = cudaGraphAddDependencies(graph, &a, &b, &edge, 1);
        if (!e)
            cudaGraphRemoveDependencies(graph, &a, &b, &edge, 1);
        return named(e);
    });
    sweep("cudaGraphAddDependencies from port", {0, 3, 4, 255, 256}, [=](Value v) {
        cudaGraphEdgeData edge;
        memset(&edge, 0, sizeof edge);
        edge.from_port = (unsigned char)v;
        cudaError_t e = cudaGraphAddDependencies(graph, &a, &b, &edge, 1);
        if (!e)
            cudaGraphRemoveDependencies(graph, &a, &b, &edge, 1);
        return named(e);
    });
    sweep("cudaGraphAddDependencies to port", {0, 1, 2, 255, 256}, [=](Value v) {
        cudaGraphEdgeData edge;
        memset(&edge, 0, sizeof edge);
        edge.to_port = (unsigned char)v;
        cudaError_t e = cudaGraphAddDependencies(graph, &a, &b, &edge, 1);
        if (!e)
            cudaGraphRemoveDependencies(graph, &a, &b, &edge, 1);
        return named(e);
    });
#endif
    cudaUserObject_t object;
    sweep("cudaUserObjectCreate flags", flags(4), [&](Value v) {
        cudaError_t e = cudaUserObjectCreate(&object, nullptr, [](void *) {}, 1, (unsigned)v);
        if (!e)
            cudaUserObjectRelease(object, 1);
        return named(e);
    });
    sweep("cudaUserObjectCreate references", {0, 1, 2, 0x7fffffff, 0x80000000ll, 0xffffffffll}, [&](Value v) {
        cudaError_t e = cudaUserObjectCreate(&object, nullptr, [](void *) {}, (unsigned)v, cudaUserObjectNoDestructorSync);
        if (!e)
            cudaUserObjectRelease(object, (unsigned)v);
        return named(e);
    });
    cudaUserObjectCreate(&object, nullptr, [](void *) {}, 1000, cudaUserObjectNoDestructorSync);
    sweep("cudaGraphRetainUserObject flags", flags(4), [&](Value v) {
        return named(cudaGraphRetainUserObject(graph, object, 1, (unsigned)v));
    });
    sweep("cudaDeviceGetGraphMemAttribute", numbers(-1, 6), [](Value v) {
        unsigned long long value = 0;
        return named(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    sweep("cudaDeviceSetGraphMemAttribute to 0", numbers(-1, 6), [](Value v) {
        unsigned long long value = 0;
        return named(cudaDeviceSetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    sweep("cudaDeviceSetGraphMemAttribute to 1", numbers(-1, 6), [](Value v) {
        unsigned long long value = 1;
        return named(cudaDeviceSetGraphMemAttribute(0, (cudaGraphMemAttributeType)v, &value));
    });
    auto node = [&](const char *name, std::function<void(cudaMemAllocNodeParams &, Value)> change, const std::vector<Value> &values) {
        sweep(std::string("cudaGraphAddMemAllocNode ") + name, values, [&](Value v) {
            cudaGraph_t own;
            cudaGraphCreate(&own, 0);
            cudaMemAllocNodeParams params;
            memset(&params, 0, sizeof params);
            params.poolProps.allocType = cudaMemAllocationTypePinned;
            params.poolProps.location.type = cudaMemLocationTypeDevice;
            params.bytesize = 64;
            change(params, v);
            cudaError_t e = cudaGraphAddMemAllocNode(&c, own, nullptr, 0, &params);
            cudaGraphDestroy(own);
            return named(e);
        });
    };
    node("size", [](cudaMemAllocNodeParams &p, Value v) { p.bytesize = (size_t)v; }, {0, 1, 64, -1});
    node("type", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.allocType = (cudaMemAllocationType)v; }, {-1, 0, 1, 3, 4, 0x7fffffff});
    node("handles", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.handleTypes = (cudaMemAllocationHandleType)v; }, flags(4));
    node("location", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.location.type = (cudaMemLocationType)v; }, numbers(-1, 6));
    node("device", [](cudaMemAllocNodeParams &p, Value v) { p.poolProps.location.id = (int)v; }, devices);
}

static void launches()
{
    cudaFree(nullptr);
    sweep("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", flags(4), [](Value v) {
        int n = 0;
        return named(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, kernel, 32, 0, (unsigned)v));
    });
    const std::vector<Value> sizes = {-2, -1, 0, 1, 2, 50, 100, 101, 1024, 49151, 49152, 49153, 65536, 1 << 30};
    for (int attribute : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17})
        sweep("cudaFuncSetAttribute " + std::to_string(attribute), sizes, [=](Value v) {
            return named(cudaFuncSetAttribute(kernel, (cudaFuncAttribute)attribute, (int)v));
        });
    sweep("cudaFuncSetCacheConfig", numbers(-1, 6), [](Value v) { return named(cudaFuncSetCacheConfig(kernel, (cudaFuncCache)v)); });
    sweep("cudaFuncSetSharedMemConfig", numbers(-1, 6), [](Value v) { return named(cudaFuncSetSharedMemConfig(kernel, (cudaSharedMemConfig)v)); });
    sweep("cudaLaunchKernelExC attribute of zeroes", {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 100, 0x7fffffff}, [](Value v) {
        cudaLaunchAttribute attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.id = (cudaLaunchAttributeID)v;
        cudaLaunchConfig_t config;
        memset(&config, 0, sizeof config);
        config.gridDim = config.blockDim = dim3(1);
        config.attrs = &attribute;
        config.numAttrs = 1;
        void *none[1] = {};
        std::string first = named(cudaLaunchKernelExC(&config, (const void *)idle, none));
        return first + "/" + named(cudaDeviceSynchronize());
    });
    sweep("cudaLaunchKernelExC cooperative", numbers(-1, 3), [](Value v) {
        cudaLaunchAttribute attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = (int)v;
        cudaLaunchConfig_t config;
        memset(&config, 0, sizeof config);
        config.gridDim = config.blockDim = dim3(1);
        config.attrs = &attribute;
        config.numAttrs = 1;
        void *none[1] = {};
        return named(cudaLaunchKernelExC(&config, (const void *)idle, none));
    });
#if CUDART_VERSION >= 12050
    sweep("cudaGetDriverEntryPointByVersion flags", flags(4, 64), [](Value v) {
        void *p = nullptr;
        cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)77;
        cudaError_t e = cudaGetDriverEntryPointByVersion("cuMemAlloc", &p, 12000, (unsigned long long)v, &found);
        return with(e, found) + (p ? "" : ", null");
    });
    sweep("cudaGetDriverEntryPointByVersion version", {0, 1, 1000, 2000, 3000, 3010, 3020, 4000, 10000, 11000, 12000, 12090, 13000}, [](Value v) {
        void *p = nullptr;
        cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)77;
        cudaError_t e = cudaGetDriverEntryPointByVersion("cuMemAlloc", &p, (unsigned)v, 0, &found);
        return with(e, found) + (p ? "" : ", null");
    });
#endif
}

static void pools()
{
    cudaFree(nullptr);
    auto create = [](const std::string &name, std::function<void(cudaMemPoolProps &, Value)> change, const std::vector<Value> &values) {
        sweep("cudaMemPoolCreate " + name, values, [=](Value v) {
            cudaMemPool_t pool = nullptr;
            cudaMemPoolProps props;
            memset(&props, 0, sizeof props);
            props.allocType = cudaMemAllocationTypePinned;
            props.location.type = cudaMemLocationTypeDevice;
            change(props, v);
            cudaError_t e = cudaMemPoolCreate(&pool, &props);
            if (!e)
                cudaMemPoolDestroy(pool);
            return named(e);
        });
    };
    create("type", [](cudaMemPoolProps &p, Value v) { p.allocType = (cudaMemAllocationType)v; }, {-1, 0, 1, 3, 4, 0x7fffffff});
    create("handles", [](cudaMemPoolProps &p, Value v) { p.handleTypes = (cudaMemAllocationHandleType)v; }, {0, 2, 3, 4, 5, 6, 7, 10, 16, 32, 0x7fffffff});
    create("location", [](cudaMemPoolProps &p, Value v) { p.location.type = (cudaMemLocationType)v; }, numbers(-1, 6));
    create("device", [](cudaMemPoolProps &p, Value v) { p.location.id = (int)v; }, devices);
#if CUDART_VERSION >= 12020
    create("host and an id", [](cudaMemPoolProps &p, Value v) { p.location.type = cudaMemLocationTypeHost, p.location.id = (int)v; }, devices);
    create("numa node", [](cudaMemPoolProps &p, Value v) { p.location.type = cudaMemLocationTypeHostNuma, p.location.id = (int)v; }, {-1, 0, 100000000});
    create("size", [](cudaMemPoolProps &p, Value v) { p.maxSize = (size_t)v; }, {0, 1, 1 << 20, -1});
#endif
#if CUDART_VERSION >= 12080
    create("usage", [](cudaMemPoolProps &p, Value v) { p.usage = (unsigned short)v; }, flags(3, 16));
#endif
    create("reserved byte", [](cudaMemPoolProps &p, Value v) { p.reserved[0] = (unsigned char)v; }, {0, 1});
    cudaMemPool_t pool, own;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPoolCreate(&own, &props);
    sweep("cudaMemPoolGetAttribute", numbers(-1, 16), [=](Value v) {
        unsigned long long value[4] = {};
        return with(cudaMemPoolGetAttribute(own, (cudaMemPoolAttr)v, value), value[0]);
    });
    for (Value to : {0, 1, 2})
        sweep("cudaMemPoolSetAttribute to " + shown(to) + ", read", numbers(-1, 16), [=](Value v) {
            unsigned long long value = (unsigned long long)to, now = 0;
            std::string first = named(cudaMemPoolSetAttribute(own, (cudaMemPoolAttr)v, &value));
            return first + "/" + with(cudaMemPoolGetAttribute(own, (cudaMemPoolAttr)v, &now), now);
        });
    auto access = [=](const std::string &name, const std::vector<Value> &values, std::function<void(cudaMemAccessDesc &, Value)> change) {
        sweep("cudaMemPoolSetAccess " + name, values, [=](Value v) {
            cudaMemAccessDesc desc;
            memset(&desc, 0, sizeof desc);
            desc.location.type = cudaMemLocationTypeDevice;
            desc.flags = cudaMemAccessFlagsProtReadWrite;
            change(desc, v);
            return named(cudaMemPoolSetAccess(own, &desc, 1));
        });
        sweep("cudaMemPoolGetAccess " + name, values, [=](Value v) {
            cudaMemAccessDesc desc;
            memset(&desc, 0, sizeof desc);
            desc.location.type = cudaMemLocationTypeDevice;
            change(desc, v);
            cudaMemAccessFlags now = (cudaMemAccessFlags)77;
            cudaError_t e = cudaMemPoolGetAccess(&now, own, &desc.location);
            return with(e, now);
        });
    };
    access("flags", flags(4), [](cudaMemAccessDesc &d, Value v) { d.flags = (cudaMemAccessFlags)v; });
    access("location", numbers(-1, 6), [](cudaMemAccessDesc &d, Value v) { d.location.type = (cudaMemLocationType)v; });
    access("device", devices, [](cudaMemAccessDesc &d, Value v) { d.location.id = (int)v; });
    sweep("cudaMemPoolSetAccess of so many", {0}, [=](Value v) { return named(cudaMemPoolSetAccess(own, nullptr, (size_t)v)); });
    sweep("cudaDeviceSetMemPool", devices, [=](Value v) { return named(cudaDeviceSetMemPool((int)v, own)); });
    cudaDeviceSetMemPool(0, pool);
    for (cudaMemPool_t of : {pool, own})
        sweep(std::string("cudaMemPoolExportToShareableHandle of ") + (of == pool ? "the default one" : "another"), flags(4), [=](Value v) {
            int fd[4] = {-1, -1, -1, -1};
            cudaError_t e = cudaMemPoolExportToShareableHandle(fd, of, (cudaMemAllocationHandleType)v, 0);
            if (!e && v == 1)
                close(fd[0]);
            return named(e);
        });
    sweep("cudaMallocAsync size", {0, 1, (Value)1 << 50, -1}, [](Value v) {
        void *p = nullptr;
        cudaError_t e = cudaMallocAsync(&p, (size_t)v, nullptr);
        std::string first = named(e) + (p ? "" : ", null");
        if (p)
            cudaFreeAsync(p, nullptr);
        return first;
    });
    sweep("cudaMemPoolTrimTo", {0, 1, -1}, [=](Value v) { return named(cudaMemPoolTrimTo(own, (size_t)v)); });
    sweep("cudaMemPoolDestroy of the default one", {0}, [=](Value) { return named(cudaMemPoolDestroy(pool)); });
#if CUDART_VERSION >= 13000
    for (Value kind : {0, 1, 3})
        for (Value place : {0, 1}) {
            sweep("cudaMemGetDefaultMemPool " + shown(place) + " type " + shown(kind), {-1, 0, 1, 100000000}, [=](Value v) {
                cudaMemLocation location = {(cudaMemLocationType)place, {(int)v}};
                cudaMemPool_t p = nullptr;
                return named(cudaMemGetDefaultMemPool(&p, &location, (cudaMemAllocationType)kind));
            });
        }
#endif
}

static void advice()
{
    cudaFree(nullptr);
    char *managed = nullptr, *d = nullptr;
    cudaMallocManaged(&managed, 1 << 20);
    cudaMalloc(&d, 1 << 20);
    static char own[1 << 16];
#if CUDART_VERSION >= 13000
    for (Value kind : {-1, 0, 1, 2, 3, 4, 5, 6}) {
        for (Value advice : {0, 1, 2, 3, 4, 5, 6, 7, 8})
            sweep("cudaMemAdvise " + shown(advice) + " location " + shown(kind), devices, [=](Value v) {
                cudaMemLocation location = {(cudaMemLocationType)kind, {(int)v}};
                return named(cudaMemAdvise(managed, 1 << 20, (cudaMemoryAdvise)advice, location));
            });
        sweep("cudaMemPrefetchAsync location " + shown(kind), devices, [=](Value v) {
            cudaMemLocation location = {(cudaMemLocationType)kind, {(int)v}};
            std::string first = named(cudaMemPrefetchAsync(managed, 1 << 20, location, 0, nullptr));
            return first + "/" + named(cudaDeviceSynchronize());
        });
    }
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    sweep("cudaMemPrefetchAsync flags", flags(3), [=](Value v) { return named(cudaMemPrefetchAsync(managed, 4096, here, (unsigned)v, nullptr)); });
    sweep("cudaMemPrefetchAsync size", {0, 1, 4096, 1 << 20, (1 << 20) + 1, 1 << 22}, [=](Value v) { return named(cudaMemPrefetchAsync(managed, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemPrefetchAsync of device memory", {0, 4096}, [=](Value v) { return named(cudaMemPrefetchAsync(d, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemPrefetchAsync of null", {0, 4096}, [=](Value v) { return named(cudaMemPrefetchAsync(nullptr, (size_t)v, here, 0, nullptr)); });
    sweep("cudaMemAdvise size", {0, 1, 4096, 1 << 20, (1 << 20) + 1, 1 << 22}, [=](Value v) { return named(cudaMemAdvise(managed, (size_t)v, cudaMemAdviseSetReadMostly, here)); });
    sweep("cudaMemAdvise of device memory", {1, 2, 3, 4, 5, 6}, [=](Value v) { return named(cudaMemAdvise(d, 4096, (cudaMemoryAdvise)v, here)); });
#endif
    for (size_t size : {(size_t)0, (size_t)1})
        sweep("cudaMemRangeGetAttribute size " + std::to_string(size), numbers(-1, 10), [=](Value v) {
            int value[4] = {77, 77, 77, 77};
            return with(cudaMemRangeGetAttribute(value, size, (cudaMemRangeAttribute)v, managed, 4096), value[0]);
        });
    cudaPointerAttributes attributes;
    sweep("cudaPointerGetAttributes type", {0, 1, 2, 3}, [&](Value v) {
        const void *p = v == 0 ? nullptr : v == 1 ? (const void *)own : v == 2 ? d : managed;
        attributes.type = (cudaMemoryType)77;
        cudaError_t e = cudaPointerGetAttributes(&attributes, p);
        return with(e, attributes.type) + " device " + std::to_string(attributes.device);
    });
}

static void arrays()
{
    cudaFree(nullptr);
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    const std::vector<Value> some = {0, 1, 2, 3, 16, 32, 512, 1024, 1 << 20, 1 << 30};
    for (int height : {0, 16})
        sweep("cudaMallocArray 16x" + std::to_string(height) + ", read", some, [&](Value v) {
            cudaArray_t array = nullptr;
            cudaError_t e = cudaMallocArray(&array, &one, 16, height, (unsigned)v);
            cudaChannelFormatDesc desc;
            cudaExtent extent;
            unsigned now = 77;
            std::string first = named(e);
            if (e)
                return first;
            first += "/" + with(cudaArrayGetInfo(&desc, &extent, &now, array), now);
            cudaFreeArray(array);
            return first;
        });
    for (cudaExtent extent : {make_cudaExtent(16, 0, 0), make_cudaExtent(16, 16, 0), make_cudaExtent(16, 16, 6), make_cudaExtent(16, 0, 4)})
        sweep("cudaMalloc3DArray " + std::to_string(extent.width) + "x" + std::to_string(extent.height) + "x" + std::to_string(extent.depth), some, [&](Value v) {
            cudaArray_t array = nullptr;
            cudaError_t e = cudaMalloc3DArray(&array, &one, extent, (unsigned)v);
            if (!e)
                cudaFreeArray(array);
            return named(e);
        });
    sweep("cudaMallocArray bits of a channel", numbers(-1, 65), [](Value v) {
        cudaArray_t array = nullptr;
        cudaChannelFormatDesc desc = {(int)v, 0, 0, 0, cudaChannelFormatKindUnsigned};
        cudaError_t e = cudaMallocArray(&array, &desc, 16, 16);
        if (!e)
            cudaFreeArray(array);
        return named(e);
    });
    sweep("cudaMallocArray kind", numbers(-1, 36), [](Value v) {
        cudaArray_t array = nullptr;
        cudaChannelFormatDesc desc = {32, 0, 0, 0, (cudaChannelFormatKind)v};
        cudaError_t e = cudaMallocArray(&array, &desc, 16, 16);
        if (!e)
            cudaFreeArray(array);
        return named(e);
    });
}

struct Part {
    const char *name;
    void (*run)();
};
static const Part every[] = {{"device flags", device_flags}, {"device values", device_values}, {"limits", limits}, {"host", host}, {"attach", attach},
                           {"streams", streams}, {"graphs", graphs}, {"launches", launches}, {"pools", pools},
                           {"advice", advice}, {"arrays", arrays}};

int main(int argc, char **argv)
{
    const char *names[16];
    int count = 0;
    for (const Part &part : every) {
        if (argc > 1 && !strcmp(argv[1], part.name)) {
            part.run();
            return 0;
        }
        names[count++] = part.name;
    }
    return parts(names, count);
}
