// Every value of the flags and enumerations that driver functions take: the accepted
// ones, and the values read back.
#include <dlfcn.h>
#include <cuda.h>
#include "sweep.h"

static std::string named(CUresult r)
{
    const char *name = nullptr;
    if (r == CUDA_SUCCESS)
        return "ok";
    return cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name + strlen("CUDA_ERROR_") : "no name";
}

// The old forms of functions, which today's header renames.
template <class F> static F old(const char *name)
{
    return (F)dlsym(RTLD_DEFAULT, name);
}

static CUcontext context;

static void begin()
{
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
}

static CUresult create(CUcontext *made, unsigned flags, CUdevice device)
{
#if CUDA_VERSION >= 13000
    return cuCtxCreate(made, nullptr, flags, device);
#else
    return cuCtxCreate(made, flags, device);
#endif
}

static void contexts()
{
    sweep("cuInit", flags(4), [](Value v) { return named(cuInit((unsigned)v)); });
    cuInit(0);
    auto primary = [](Value v) {
        unsigned now = 77;
        int active = 77;
        std::string first = named(cuDevicePrimaryCtxSetFlags(0, (unsigned)v));
        return first + "/" + with(cuDevicePrimaryCtxGetState(0, &now, &active), now);
    };
    sweep("cuDevicePrimaryCtxSetFlags before it is active, read", flags(9), primary);
    cuDevicePrimaryCtxSetFlags(0, 0);
    sweep("cuDevicePrimaryCtxSetFlags device", devices, [](Value v) { return named(cuDevicePrimaryCtxSetFlags((CUdevice)v, 0)); });
    cuDevicePrimaryCtxRetain(&context, 0);
    sweep("cuDevicePrimaryCtxSetFlags while it is active, read", flags(9), primary);
    cuDevicePrimaryCtxSetFlags(0, 0);
    cuCtxSetCurrent(context);
    sweep("cuCtxSetFlags, read", flags(9), [](Value v) {
        unsigned now = 77;
        std::string first = named(cuCtxSetFlags((unsigned)v));
        return first + "/" + with(cuCtxGetFlags(&now), now);
    });
    cuCtxSetFlags(0);
    std::vector<Value> some;
    for (Value v : flags(8))
        if (v < 16 || (v & (v - 1)) == 0 || v > 1024)
            some.push_back(v);
    sweep("cuCtxCreate, read", some, [](Value v) {
        unsigned now = 77;
        CUcontext made = nullptr;
        CUresult r = create(&made, (unsigned)v, 0);
        std::string first = named(r);
        if (r)
            return first;
        first += "/" + with(cuCtxGetFlags(&now), now);
        cuCtxDestroy(made);
        cuCtxSetCurrent(context);
        return first;
    });
    sweep("cuCtxCreate device", {-1, 1, 100000000}, [](Value v) {
        CUcontext made = nullptr;
        return named(create(&made, 0, (CUdevice)v));
    });
    sweep("cuCtxAttach", flags(3), [](Value v) {
        CUcontext made = nullptr;
        CUresult r = cuCtxAttach(&made, (unsigned)v);
        if (!r)
            cuCtxDetach(made);
        return named(r);
    });
    sweep("cuCtxEnablePeerAccess of its own", flags(3), [](Value v) { return named(cuCtxEnablePeerAccess(context, (unsigned)v)); });
    printf("cuCtxDisablePeerAccess of its own: %s\n", named(cuCtxDisablePeerAccess(context)).c_str());
    printf("cuCtxEnablePeerAccess of none: %s\n", named(cuCtxEnablePeerAccess(nullptr, 0)).c_str());
    sweep("cuCtxSetCacheConfig, read", numbers(-1, 6), [](Value v) {
        CUfunc_cache now = (CUfunc_cache)77;
        std::string first = named(cuCtxSetCacheConfig((CUfunc_cache)v));
        return first + "/" + with(cuCtxGetCacheConfig(&now), now);
    });
    sweep("cuCtxSetSharedMemConfig, read", numbers(-1, 5), [](Value v) {
        CUsharedconfig now = (CUsharedconfig)77;
        std::string first = named(cuCtxSetSharedMemConfig((CUsharedconfig)v));
        return first + "/" + with(cuCtxGetSharedMemConfig(&now), now);
    });
    sweep("cuDeviceGetAttribute attribute", numbers(-1, 180), [](Value v) {
        int value;
        return named(cuDeviceGetAttribute(&value, (CUdevice_attribute)v, 0));
    });
    for (const char *what : {"cuDeviceGet", "cuDeviceTotalMem", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxRelease", "cuDeviceGetUuid",
                             "cuDeviceGetName"})
        sweep(std::string(what) + " device", {-0x80000000ll, -3, -2, -1, 1, 2, 100000000}, [=](Value v) {
            CUdevice d = (CUdevice)v;
            CUuuid uuid;
            size_t bytes;
            unsigned now;
            int active;
            char name[64];
            switch (what[strlen("cuDevice")]) {
            case 'G':
                return !strcmp(what, "cuDeviceGet") ? named(cuDeviceGet(&d, (int)v)) : !strcmp(what, "cuDeviceGetName") ? named(cuDeviceGetName(name, 64, d)) : named(cuDeviceGetUuid(&uuid, d));
            case 'T':
                return named(cuDeviceTotalMem(&bytes, d));
            }
            return what[strlen("cuDevicePrimaryCtx")] == 'G' ? named(cuDevicePrimaryCtxGetState(d, &now, &active)) : what[strlen("cuDevicePrimaryCtxRe")] == 's' ? named(cuDevicePrimaryCtxReset(d)) : named(cuDevicePrimaryCtxRelease(d));
        });
    sweep("cuDeviceGetExecAffinitySupport type", numbers(-1, 3), [](Value v) {
        int value;
        return named(cuDeviceGetExecAffinitySupport(&value, (CUexecAffinityType)v, 0));
    });
    sweep("cuFlushGPUDirectRDMAWrites target", {-1, 1, 2, 3, 100}, [](Value v) {
        return named(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)v, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    });
    // Not 6 and 7, persisting L2 and shared memory: they depend on the device.
    for (int limit : {-1, 0, 1, 2, 3, 4, 5, 8, 9, 10})
        sweep("cuCtxSetLimit " + std::to_string(limit) + ", read", sizes, [=](Value v) {
            size_t before = 0, value = 0;
            cuCtxGetLimit(&before, (CUlimit)limit);
            std::string first = named(cuCtxSetLimit((CUlimit)limit, (size_t)v));
            std::string both = first + "/" + with(cuCtxGetLimit(&value, (CUlimit)limit), value);
            cuCtxSetLimit((CUlimit)limit, before);
            return both;
        });
    sweep("cuCtxGetExecAffinity", numbers(-1, 2), [](Value v) {
        CUexecAffinityParam param;
        return named(cuCtxGetExecAffinity(&param, (CUexecAffinityType)v));
    });
}

static void memory()
{
    begin();
    sweep("cuMemHostAlloc, read", flags(6), [](Value v) {
        void *p = nullptr;
        unsigned now = 77;
        CUresult r = cuMemHostAlloc(&p, 64, (unsigned)v);
        std::string first = named(r);
        if (r)
            return first;
        first += "/" + with(cuMemHostGetFlags(&now, p), now);
        cuMemFreeHost(p);
        return first;
    });
    void *own = aligned_alloc(4096, 8192);
    sweep("cuMemHostRegister, read", flags(6), [=](Value v) {
        unsigned now = 77;
        CUresult r = cuMemHostRegister(own, 4096, (unsigned)v);
        std::string first = named(r);
        if (r)
            return first;
        first += "/" + with(cuMemHostGetFlags(&now, own), now);
        return first + "/" + named(cuMemHostUnregister(own));
    });
    void *p = nullptr;
    cuMemHostAlloc(&p, 64, 0);
    sweep("cuMemHostGetDevicePointer", flags(3), [=](Value v) {
        CUdeviceptr d;
        return named(cuMemHostGetDevicePointer(&d, p, (unsigned)v));
    });
    sweep("cuMemAllocManaged", flags(4), [](Value v) {
        CUdeviceptr d = 0;
        CUresult r = cuMemAllocManaged(&d, 64, (unsigned)v);
        if (!r)
            cuMemFree(d);
        return named(r);
    });
    sweep("cuMemAllocPitch element size", numbers(-1, 33), [](Value v) {
        CUdeviceptr d = 0;
        size_t pitch = 0;
        CUresult r = cuMemAllocPitch(&d, &pitch, 100, 4, (unsigned)v);
        if (!r)
            cuMemFree(d);
        return named(r);
    });
    CUdeviceptr managed = 0, d = 0, pooled = 0;
    cuMemAllocManaged(&managed, 1 << 20, 1);
    cuMemAlloc(&d, 1 << 20);
    cuMemAllocAsync(&pooled, 1 << 20, nullptr);
    static int variable;
    const struct {
        const char *name;
        CUdeviceptr at;
    } kinds[] = {{"device memory", d}, {"managed", managed}, {"host", (CUdeviceptr)p}, {"pool", pooled}, {"own", (CUdeviceptr)&variable}, {"null", 0}};
    for (const auto &kind : kinds)
        sweep(std::string("cuPointerGetAttribute of ") + kind.name, numbers(-1, 24), [&](Value v) {
            // Tokens for the drivers of other devices, which only a GPU has; and attributes newer than the recorded driver.
            if (v == 5 || v == 22)
                return std::string("not asked");
            char value[256] = {};
            return named(cuPointerGetAttribute(value, (CUpointer_attribute)v, kind.at));
        });
    for (const auto &kind : kinds)
        for (int flag : {0, 1, 2})
            sweep(std::string("cuPointerSetAttribute to ") + std::to_string(flag) + " of " + kind.name, numbers(-1, 20), [&](Value v) {
                long long value = flag;
                return named(cuPointerSetAttribute(&value, (CUpointer_attribute)v, kind.at));
            });
    auto advise = old<CUresult (*)(CUdeviceptr, size_t, int, CUdevice)>("cuMemAdvise");
    for (Value advice : {0, 1, 2, 3, 4, 5, 6, 7, 8})
        sweep("cuMemAdvise " + shown(advice), devices, [=](Value v) { return named(advise(managed, 1 << 20, (int)advice, (CUdevice)v)); });
    auto prefetch = old<CUresult (*)(CUdeviceptr, size_t, CUdevice, CUstream)>("cuMemPrefetchAsync");
    sweep("cuMemPrefetchAsync", devices, [=](Value v) { return named(prefetch(managed, 1 << 20, (CUdevice)v, nullptr)); });
    sweep("cuMemPrefetchAsync of device memory", devices, [=](Value v) { return named(prefetch(d, 4096, (CUdevice)v, nullptr)); });
    for (size_t size : {(size_t)0})
        sweep("cuMemRangeGetAttribute size " + std::to_string(size), numbers(-1, 10), [=](Value v) {
            int value[4] = {77, 77, 77, 77};
            return with(cuMemRangeGetAttribute(value, size, (CUmem_range_attribute)v, managed, 4096), value[0]);
        });
}

static void streams()
{
    begin();
    sweep("cuStreamCreate, read", flags(4), [](Value v) {
        CUstream s = nullptr;
        unsigned now = 77;
        CUresult r = cuStreamCreate(&s, (unsigned)v);
        std::string first = named(r);
        if (r)
            return first;
        first += "/" + with(cuStreamGetFlags(s, &now), now);
        cuStreamDestroy(s);
        return first;
    });
    sweep("cuStreamCreateWithPriority flags", flags(4), [](Value v) {
        CUstream s = nullptr;
        CUresult r = cuStreamCreateWithPriority(&s, (unsigned)v, 0);
        if (!r)
            cuStreamDestroy(s);
        return named(r);
    });
    sweep("cuStreamCreateWithPriority priority, read", numbers(-9, 3), [](Value v) {
        CUstream s = nullptr;
        int now = 77;
        CUresult r = cuStreamCreateWithPriority(&s, 0, (int)v);
        std::string first = named(r);
        if (r)
            return first;
        first += "/" + with(cuStreamGetPriority(s, &now), now);
        cuStreamDestroy(s);
        return first;
    });
    CUstream stream = nullptr;
    CUevent event = nullptr;
    cuStreamCreate(&stream, 0);
    sweep("cuEventCreate", flags(5), [](Value v) {
        CUevent e = nullptr;
        CUresult r = cuEventCreate(&e, (unsigned)v);
        if (!r)
            cuEventDestroy(e);
        return named(r);
    });
    cuEventCreate(&event, 0);
    sweep("cuEventRecordWithFlags", flags(3), [=](Value v) { return named(cuEventRecordWithFlags(event, stream, (unsigned)v)); });
    sweep("cuStreamWaitEvent", flags(3), [=](Value v) { return named(cuStreamWaitEvent(stream, event, (unsigned)v)); });
    sweep("cuStreamAddCallback", flags(3), [=](Value v) {
        std::string first = named(cuStreamAddCallback(stream, [](CUstream, CUresult, void *) {}, nullptr, (unsigned)v));
        cuStreamSynchronize(stream);
        return first;
    });
    CUdeviceptr d = 0;
    cuMemAlloc(&d, 64);
    cuMemsetD8(d, 0, 64);
    sweep("cuStreamWriteValue32", flags(4), [=](Value v) {
        std::string first = named(cuStreamWriteValue32(stream, d, 0, (unsigned)v));
        cuStreamSynchronize(stream);
        return first;
    });
    // Each of these conditions holds for 0; the inverted one does not, and nothing waits for it.
    sweep("cuStreamWaitValue32", {0, 1, 4, 5, 6, 7, 8, 9, 16, 32, (Value)1 << 29, (Value)1 << 31}, [=](Value v) {
        std::string first = named(cuStreamWaitValue32(stream, d, 0, (unsigned)v));
        return first + "/" + named(cuStreamSynchronize(stream));
    });
    sweep("cuStreamBatchMemOp flags", flags(2), [=](Value v) {
        CUstreamBatchMemOpParams op;
        memset(&op, 0, sizeof op);
        op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        op.writeValue.address = d;
        return named(cuStreamBatchMemOp(stream, 1, &op, (unsigned)v));
    });
    sweep("cuStreamBatchMemOp operation", numbers(-1, 9), [=](Value v) {
        CUstreamBatchMemOpParams op;
        memset(&op, 0, sizeof op);
        op.operation = (CUstreamBatchMemOpType)v;
        op.waitValue.address = d;
        std::string first = named(cuStreamBatchMemOp(stream, 1, &op, 0));
        return first + "/" + named(cuStreamSynchronize(stream));
    });
    sweep("cuStreamBeginCapture mode", numbers(-1, 5), [=](Value v) {
        CUgraph graph = nullptr;
        CUresult r = cuStreamBeginCapture(stream, (CUstreamCaptureMode)v);
        if (!r && !cuStreamEndCapture(stream, &graph))
            cuGraphDestroy(graph);
        return named(r);
    });
    sweep("cuThreadExchangeStreamCaptureMode", numbers(-1, 5), [=](Value v) {
        CUstreamCaptureMode mode = (CUstreamCaptureMode)v, now = CU_STREAM_CAPTURE_MODE_GLOBAL;
        CUresult r = cuThreadExchangeStreamCaptureMode(&mode);
        if (!r)
            cuThreadExchangeStreamCaptureMode(&now);
        return with(r, mode);
    });
    sweep("cuStreamGetAttribute", numbers(-1, 24), [=](Value v) {
        CUstreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cuStreamGetAttribute(stream, (CUstreamAttrID)v, &value));
    });
    sweep("cuStreamSetAttribute of zeroes", numbers(-1, 24), [=](Value v) {
        CUstreamAttrValue value;
        memset(&value, 0, sizeof value);
        return named(cuStreamSetAttribute(stream, (CUstreamAttrID)v, &value));
    });
}

static void code()
{
    begin();
    static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n";
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    printf("load: %s\n", named(cuModuleLoadData(&module, text)).c_str());
    cuModuleGetFunction(&function, module, "empty");
    sweep("cuFuncGetAttribute", numbers(-1, 20), [=](Value v) {
        int value;
        return named(cuFuncGetAttribute(&value, (CUfunction_attribute)v, function));
    });
    // Not below 0: NVIDIA's driver crashes.
    for (int attribute : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15})
        sweep("cuFuncSetAttribute " + std::to_string(attribute), {-2, -1, 0, 1, 2, 50, 100, 101, 1024, 49152, 49153, 65536, 1 << 30}, [=](Value v) {
            return named(cuFuncSetAttribute(function, (CUfunction_attribute)attribute, (int)v));
        });
    sweep("cuFuncSetCacheConfig", numbers(-1, 6), [=](Value v) { return named(cuFuncSetCacheConfig(function, (CUfunc_cache)v)); });
    sweep("cuFuncSetSharedMemConfig", numbers(-1, 6), [=](Value v) { return named(cuFuncSetSharedMemConfig(function, (CUsharedconfig)v)); });
    sweep("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", flags(3), [=](Value v) {
        int n = 0;
        return named(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, function, 32, 0, (unsigned)v));
    });
    sweep("cuGraphCreate", flags(3), [](Value v) {
        CUgraph graph = nullptr;
        CUresult r = cuGraphCreate(&graph, (unsigned)v);
        if (!r)
            cuGraphDestroy(graph);
        return named(r);
    });
    CUgraph graph = nullptr;
    cuGraphCreate(&graph, 0);
    sweep("cuGraphInstantiateWithFlags", flags(5, 64), [=](Value v) {
        if (v > 0 && v & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
            return std::string("-");
        CUgraphExec exec = nullptr;
        CUresult r = cuGraphInstantiateWithFlags(&exec, graph, (unsigned long long)v);
        if (!r)
            cuGraphExecDestroy(exec);
        return named(r);
    });
    sweep("cuUserObjectCreate flags", flags(3), [](Value v) {
        CUuserObject object;
        CUresult r = cuUserObjectCreate(&object, nullptr, [](void *) {}, 1, (unsigned)v);
        if (!r)
            cuUserObjectRelease(object, 1);
        return named(r);
    });
    sweep("cuGetProcAddress flags", flags(4, 64), [](Value v) {
        void *p = nullptr;
        CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)77;
        CUresult r = cuGetProcAddress("cuMemAlloc", &p, 12000, (cuuint64_t)v, &found);
        return with(r, found) + (p ? "" : ", null");
    });
    for (const char *name : {"cuMemAlloc", "cuMemAlloc_v2", "cuCtxGetDevice", "cuNoSuchThing", "", "cuInit"})
        sweep(std::string("cuGetProcAddress of ") + name, {0, 1, 2000, 3010, 3020, 4000, 6050, 10000, 11000, 12000, 12090, 13000, -1}, [=](Value v) {
            void *p = nullptr;
            CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)77;
            CUresult r = cuGetProcAddress(name, &p, (int)v, 0, &found);
            return with(r, found) + (p ? "" : ", null");
        });
}

int main(int argc, char **argv)
{
    return all_parts(argc, argv, {{"contexts", contexts}, {"memory", memory}, {"streams", streams}, {"code", code}});
}
