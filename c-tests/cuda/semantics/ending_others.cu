// The calls that ending_calls.h lacks, at the end of a process: by subject, each in a process of its own.
#include "ending_calls.h"

extern "C" cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
// From a header of its own, which some toolkits lack.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

static cudaMemPool_t pool;
static cudaGraph_t graph;
static cudaArray_t array;
static cudaKernel_t entry;

static void prepare_all()
{
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaGraphCreate(&graph, 0);
    cudaMallocArray(&array, &one, 16, 16);
    cudaGetKernel(&entry, (const void *)store);
}

static void devices(Answers &answers)
{
    int n = 0, m = 0;
    size_t a = 0;
    char id[64];
    cudaDeviceProp p;
    memset(&p, 0, sizeof p);
    cudaFuncCache cache;
    CALL("properties", cudaGetDeviceProperties(&p, 0));
    CALL("properties of no device", cudaGetDeviceProperties(&p, 99));
    CALL("attribute of no device", cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 99));
    CALL("choose", cudaChooseDevice(&n, &p));
    CALL("busid", cudaDeviceGetPCIBusId(id, sizeof id, 0));
    CALL("bybusid", cudaDeviceGetByPCIBusId(&n, "0000:00:00.0"));
    CALL("canaccess", cudaDeviceCanAccessPeer(&n, 0, 0));
    CALL("enablepeer", cudaDeviceEnablePeerAccess(0, 0));
    CALL("disablepeer", cudaDeviceDisablePeerAccess(0));
    CALL("p2p", cudaDeviceGetP2PAttribute(&n, cudaDevP2PAttrPerformanceRank, 0, 0));
    CALL("setflags", cudaSetDeviceFlags(0));
    CALL("setflags wrong", cudaSetDeviceFlags(3));
    CALL("set no device", cudaSetDevice(99));
    CALL("setvalid", cudaSetValidDevices(&m, 1));
    CALL("init", cudaInitDevice(0, 0, 0));
    CALL("cache", cudaDeviceGetCacheConfig(&cache));
    CALL("setcache", cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
    CALL("setlimit", cudaDeviceSetLimit(cudaLimitStackSize, 1024));
    CALL("limit of none", cudaDeviceGetLimit(&a, (cudaLimit)99));
    CALL("flush", cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner));
    CALL("l2", cudaCtxResetPersistingL2Cache());
    CALL("profilerstart", cudaProfilerStart());
    CALL("profilerstop", cudaProfilerStop());
    void *point = nullptr;
    cudaDriverEntryPointQueryResult found;
    CALL("entrypoint", cudaGetDriverEntryPointByVersion("cuInit", &point, 12000, 0, &found));
    const void *table = nullptr;
    static const cudaUUID_t uuid = {};
    CALL("table", cudaGetExportTable(&table, &uuid));
    CALL("count to nowhere", cudaGetDeviceCount(nullptr));
    CALL("version to nowhere", cudaDriverGetVersion(nullptr));
    CALL("runtime version to nowhere", cudaRuntimeGetVersion(nullptr));
    answers.add("errorstring", strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") ? "another" : "ok");
    CALL("capturemode", [] { cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; return cudaThreadExchangeStreamCaptureMode(&mode); }());
    CALL("reset", cudaDeviceReset());
    CALL("last", cudaGetLastError());
}

static void memory(Answers &answers)
{
    void *p = nullptr;
    size_t pitch = 0;
    unsigned flags = 0;
    unsigned long long threshold = 0;
    cudaPitchedPtr pitched;
    cudaArray_t other = nullptr;
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(4, 4, 4);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    CALL("malloc of nothing", cudaMalloc(&p, 0));
    CALL("malloc to nowhere", cudaMalloc((void **)nullptr, 4));
    CALL("pitch", cudaMallocPitch(&p, &pitch, 4, 4));
    CALL("3d", cudaMalloc3D(&pitched, extent));
    CALL("array", cudaMallocArray(&other, &one, 16, 16));
    CALL("arrayinfo", cudaArrayGetInfo(&one, &extent, &flags, array));
    CALL("channel", cudaGetChannelDesc(&one, array));
    CALL("freearray", cudaFreeArray(nullptr));
    CALL("freeold", cudaFree(made.device));
    CALL("freehost null", cudaFreeHost(nullptr));
    CALL("freehost old", cudaFreeHost(made.pinned));
    CALL("hostflags", cudaHostGetFlags(&flags, made.pinned));
    CALL("hostpointer", cudaHostGetDevicePointer(&p, made.pinned, 0));
    CALL("register", cudaHostRegister(&one, sizeof one, 0));
    CALL("unregister", cudaHostUnregister(&one));
    CALL("pool", cudaDeviceGetDefaultMemPool(&pool, 0));
    CALL("poolattribute", cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CALL("trim", cudaMemPoolTrimTo(pool, 0));
    CALL("frompool", cudaMallocFromPoolAsync(&p, 64, pool, nullptr));
    CALL("advise", cudaMemAdvise(made.managed, 64, cudaMemAdviseSetReadMostly, here));
    CALL("prefetch", cudaMemPrefetchAsync(made.managed, 64, here, 0, nullptr));
    CALL("range", cudaMemRangeGetAttribute(&flags, 4, cudaMemRangeAttributeReadMostly, made.managed, 64));
    CALL("attach", cudaStreamAttachMemAsync(nullptr, made.managed, 0, cudaMemAttachGlobal));
    CALL("copy of nothing", cudaMemcpy(made.device, made.pinned, 0, cudaMemcpyHostToDevice));
    CALL("copy nowhere", cudaMemcpy(made.device, made.pinned, 4, (cudaMemcpyKind)9));
    CALL("copy host", cudaMemcpy(made.pinned, made.pinned + 1, 4, cudaMemcpyHostToHost));
    CALL("async", cudaMemcpyAsync(made.device, made.pinned, 4, cudaMemcpyHostToDevice, made.stream));
    CALL("2d", cudaMemcpy2D(made.device, 4, made.pinned, 4, 4, 1, cudaMemcpyHostToDevice));
    CALL("toarray", cudaMemcpy2DToArray(array, 0, 0, made.pinned, 4, 4, 1, cudaMemcpyHostToDevice));
    CALL("peer", cudaMemcpyPeer(made.device, 0, made.device, 0, 4));
    CALL("fromsymbol", cudaMemcpyFromSymbol(&flags, symbol, 4));
    CALL("symbolsize", cudaGetSymbolSize(&pitch, symbol));
    CALL("set of nothing", cudaMemset(made.device, 0, 0));
    CALL("set2d", cudaMemset2D(made.device, 4, 0, 4, 1));
    CALL("last", cudaGetLastError());
}

static void work(Answers &answers)
{
    int n = 0;
    unsigned flags = 0;
    float ms = 0;
    size_t bytes = 0;
    unsigned long long id = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraph_t other = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaUserObject_t object = nullptr;
    cudaStreamCaptureStatus status;
    CALL("withflags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL("wrong flags", cudaStreamCreateWithFlags(&stream, 99));
    CALL("streamflags", cudaStreamGetFlags(made.stream, &flags));
    CALL("streampriority", cudaStreamGetPriority(made.stream, &n));
    CALL("streamid", cudaStreamGetId(made.stream, &id));
    CALL("streamdevice", cudaStreamGetDevice(made.stream, &n));
    CALL("query", cudaStreamQuery(made.stream));
    CALL("wait", cudaStreamWaitEvent(made.stream, made.event, 0));
    CALL("callback", cudaStreamAddCallback(made.stream, [](cudaStream_t, cudaError_t, void *) {}, nullptr, 0));
    CALL("begin", cudaStreamBeginCapture(made.stream, cudaStreamCaptureModeRelaxed));
    CALL("capturing", cudaStreamIsCapturing(made.stream, &status));
    CALL("end", cudaStreamEndCapture(made.stream, &other));
    CALL("destroy", cudaStreamDestroy(made.stream));
    CALL("eventflags", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CALL("eventquery", cudaEventQuery(made.event));
    CALL("elapsed", cudaEventElapsedTime(&ms, made.event, made.event));
    CALL("eventdestroy", cudaEventDestroy(made.event));
    CALL("graphnode", cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CALL("nodes", cudaGraphGetNodes(graph, nullptr, &bytes));
    CALL("clone", cudaGraphClone(&other, graph));
    CALL("instantiate", cudaGraphInstantiate(&exec, graph, 0));
    CALL("graphdestroy", cudaGraphDestroy(graph));
    CALL("execdestroy", cudaGraphExecDestroy(made.graph));
    CALL("userobject", cudaUserObjectCreate(&object, nullptr, [](void *) {}, 1, cudaUserObjectNoDestructorSync));
    CALL("graphmemory", cudaDeviceGraphMemTrim(0));
    void *arguments[] = {&made.device, &n};
    CALL("launch", cudaLaunchKernel((const void *)store, dim3(1), dim3(1), arguments, 0, nullptr));
    CALL("launch of nothing", cudaLaunchKernel((const void *)&n, dim3(1), dim3(1), arguments, 0, nullptr));
    CALL("launch no block", cudaLaunchKernel((const void *)store, dim3(0), dim3(1), arguments, 0, nullptr));
    CALL("cooperative", cudaLaunchCooperativeKernel((const void *)store, dim3(1), dim3(1), arguments, 0, nullptr));
    CALL("cache", cudaFuncSetCacheConfig(store, cudaFuncCachePreferNone));
    CALL("setattribute", cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    CALL("kernel", cudaGetKernel(&entry, (const void *)store));
    CALL("blocksize", cudaOccupancyMaxPotentialBlockSize(&n, &n, store));
    CALL("available", cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, store, 1, 32));
    CALL("push", (cudaError_t)__cudaPushCallConfiguration(dim3(1), dim3(1), 0, nullptr));
    dim3 grid, block;
    void *in = nullptr;
    CALL("pop", __cudaPopCallConfiguration(&grid, &block, &bytes, &in));
    CALL("pop again", __cudaPopCallConfiguration(&grid, &block, &bytes, &in));
    CALL("last", cudaGetLastError());
}

static void at(const char *place)
{
    if (!way)
        return;
    Answers answers;
    is("devices") ? devices(answers) : is("memory") ? memory(answers) : work(answers);
    answers.print(named_place(place).c_str());
}

static void before() { at("handler before"); }
static Object object{"=global"};

static int run()
{
    atexit(before);
    if (!make())
        return 1;
    prepare_all();
    return 0;
}

int main(int argc, char **argv)
{
    return all_ways(argc, argv, {"devices", "memory", "work"}, run);
}
