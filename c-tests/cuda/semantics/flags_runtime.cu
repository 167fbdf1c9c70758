// Every value of the flags and enumerations that runtime functions take: the accepted
// ones, and the values read back. Those that depend on the device are left out (persisting L2, memory shared
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

#include "flags_runtime_memory.h"
#include "flags_runtime_work.h"

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

int main(int argc, char **argv)
{
    return all_parts(argc, argv,
                     {{"device flags", device_flags}, {"device values", device_values}, {"limits", limits}, {"host", host}, {"attach", attach},
                      {"streams", streams}, {"graphs", graphs}, {"launches", launches}, {"pools", pools}, {"advice", advice},
                      {"arrays", arrays}});
}
