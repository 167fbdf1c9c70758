// Contexts: the primary one and others, each thread's stack, which resource belongs to which context,
// and a runtime that uses the current context.
#include <thread>
#include "driver.h"

static const char *which(CUcontext c, CUcontext primary, CUcontext own)
{
    return !c ? "none" : c == primary ? "primary" : c == own ? "own" : "another";
}

int main()
{
    CUdevice device = -1, of = -1;
    CUcontext primary = nullptr, own = nullptr, c = nullptr;
    unsigned flags = 99;
    int active = 9;
    show("before the start", cuCtxGetCurrent(&c));
    NEED(cuInit(0));
    show("flags for the start", cuInit(1));
    NEED(cuDeviceGet(&device, 0));
    CK(cuCtxGetCurrent(&c));
    printf("at first %s\n", which(c, primary, own));
    show("synchronize without one", cuCtxSynchronize());
    show("device of none", cuCtxGetDevice(&of));
    CUdeviceptr p = 0;
    show("allocate without one", cuMemAlloc(&p, 16));
    show("pop from the empty stack", cuCtxPopCurrent(&c));

    CK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    printf("primary: active %d\n", active);
    NEED(cuDevicePrimaryCtxRetain(&primary, device));
    CK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    CK(cuCtxGetCurrent(&c));
    printf("retained: active %d, current %s\n", active, which(c, primary, own));
    CK(cuCtxSetCurrent(primary));
    CK(cuMemAlloc(&p, 1024));
    CK(cuCtxGetDevice(&of));
    expect(of == device, "device of the primary context");

    NEED(create_context(&own, 0, device));
    CK(cuCtxGetCurrent(&c));
    printf("created: current %s\n", which(c, primary, own));
    CUcontext holder = nullptr;
    CK(cuPointerGetAttribute(&holder, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    printf("the memory belongs to %s\n", which(holder, primary, own));
    CK(cuCtxPushCurrent(primary));
    CK(cuCtxPushCurrent(own));
    CK(cuCtxPopCurrent(&c));
    printf("popped %s,", which(c, primary, own));
    CK(cuCtxPopCurrent(&c));
    printf(" %s,", which(c, primary, own));
    CK(cuCtxPopCurrent(&c));
    printf(" %s,", which(c, primary, own));
    CK(cuCtxGetCurrent(&c));
    printf(" left %s\n", which(c, primary, own));
    CK(cuCtxSetCurrent(nullptr));
    CK(cuCtxGetCurrent(&c));
    printf("set to nothing: %s\n", which(c, primary, own));

    CUcontext in_thread = primary, set_there = nullptr;
    std::thread([&] {
        cuCtxGetCurrent(&in_thread);
        cuCtxSetCurrent(own);
        cuCtxGetCurrent(&set_there);
    }).join();
    CK(cuCtxGetCurrent(&c));
    printf("a thread begins with %s, sets %s; here %s\n", which(in_thread, primary, own),
           which(set_there, primary, own), which(c, primary, own));

    CK(cuCtxSetCurrent(own));
    unsigned version = 0;
    CK(cuCtxGetApiVersion(own, &version));
    expect(version >= 3010, "version of the interface");
    CUdeviceptr inside = 0;
    CK(cuMemAlloc(&inside, 64));
    CK(cuCtxSetCurrent(primary));
    CK(cuMemsetD8(inside, 1, 64));
    CK(cuCtxDestroy(own));
    show("memory of a destroyed context", cuMemsetD8(inside, 1, 64));
    CK(cuMemsetD8(p, 1, 64));
    CK(cuMemFree(p));
    show("to nowhere", cuCtxGetCurrent(nullptr));
    show("of no device", create_context(&own, 0, 999));
    show("destroy nothing", cuCtxDestroy(nullptr));
    CK(cuDevicePrimaryCtxRelease(device));
    CK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    printf("released: active %d\n", active);
    show("released too often", cuDevicePrimaryCtxRelease(device));
    return finish();
}
