// The driver API while the process ends. Each way to end runs in a process of its own.
//
// NVIDIA's driver 580 hangs in a handler of `exit` on the main thread, whose thread-local objects are gone by then: in
// cuModuleLoadData if the context was made by cuCtxCreate and popped, and now and then in cuDevicePrimaryCtxRetain (H200).
// So "handler after" makes no context there, and in the way "context" it loads no module. The way "modules" loads one,
// under a time limit, and says that it does not return; that is right for NVIDIA's driver only.
#include <cuda.h>
#include "ending.h"
#include <thread>

static CUcontext context;
static CUdeviceptr kept;

static std::string named(CUresult r)
{
    // By number: names are not available at the end.
    return r == CUDA_SUCCESS ? "ok" : "error " + std::to_string(r);
}

#define CALL(name, call) (present_call = name, answers.add(name, named(call)))

static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n";

// The calls of modules: they need a current context.
static void module_calls(Answers &answers)
{
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CALL("module", cuModuleLoadData(&module, text));
    CALL("function", cuModuleGetFunction(&function, module, "empty"));
    CALL("launch", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CALL("sync", cuCtxSynchronize());
    CALL("unload", cuModuleUnload(module));
}

// Not at each place: beside many programs that do so, making a context and destroying it took 25 s (28 processes, H200).
static void context_calls(Answers &answers)
{
    CUcontext other = nullptr;
#if CUDA_VERSION >= 13000
    CALL("create", cuCtxCreate(&other, nullptr, 0, 0));
#else
    CALL("create", cuCtxCreate(&other, 0, 0));
#endif
    CALL("destroy", cuCtxDestroy(other));
}

// What to leave out, because NVIDIA's driver may hang.
struct Left_out {
    bool modules, contexts;
};

static void driver_calls(const char *place, Left_out left_out)
{
    Answers answers;
    int n = 0, active = 0;
    unsigned flags = 0;
    size_t a = 0, b = 0;
    CUdevice device = 0;
    CUcontext current = nullptr, primary = nullptr;
    CUdeviceptr d = 0;
    void *p = nullptr;
    CALL("init", cuInit(0));
    CALL("version", cuDriverGetVersion(&n));
    CALL("count", cuDeviceGetCount(&n));
    CALL("get", cuDeviceGet(&device, 0));
    CALL("attribute", cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    CALL("state", cuDevicePrimaryCtxGetState(0, &flags, &active));
    CALL("current", cuCtxGetCurrent(&current));
    CALL("setcurrent", cuCtxSetCurrent(context));
    CALL("device", cuCtxGetDevice(&device));
    CALL("memory", cuMemGetInfo(&a, &b));
    CALL("alloc", cuMemAlloc(&d, 64));
    CALL("set", cuMemsetD8(d, 1, 64));
    CALL("out", cuMemcpyDtoH(&n, d, 4));
    CALL("free", cuMemFree(d));
    CALL("host", cuMemAllocHost(&p, 64));
    CALL("freehost", cuMemFreeHost(p));
    CALL("managed", cuMemAllocManaged(&d, 64, CU_MEM_ATTACH_GLOBAL));
    CALL("freemanaged", cuMemFree(d));
    CUstream stream = nullptr;
    CALL("stream", cuStreamCreate(&stream, 0));
    CALL("streamsync", cuStreamSynchronize(stream));
    CALL("streamquery", cuStreamQuery(nullptr));
    CALL("streamdestroy", cuStreamDestroy(stream));
    CUevent event = nullptr;
    CALL("event", cuEventCreate(&event, 0));
    CALL("record", cuEventRecord(event, nullptr));
    CALL("eventdestroy", cuEventDestroy(event));
    if (!left_out.modules)
        module_calls(answers);
    CALL("keptset", cuMemsetD8(kept, 1, 64));
    CUgraph graph = nullptr;
    CALL("graph", cuGraphCreate(&graph, 0));
    CALL("graphdestroy", cuGraphDestroy(graph));
    if (!left_out.contexts) {
        CALL("retain", cuDevicePrimaryCtxRetain(&primary, 0));
        CALL("release", cuDevicePrimaryCtxRelease(0));
    }
    if (!left_out.contexts && !strstr(place, "thread's object"))
        context_calls(answers);
    CALL("pop", cuCtxPopCurrent(&current));
    const char *name = nullptr;
    CALL("name", cuGetErrorName(CUDA_ERROR_UNKNOWN, &name));
    CUdriverProcAddressQueryResult found;
    CALL("address", cuGetProcAddress("cuInit", &p, 12000, 0, &found));
    answers.print(place);
}

static void at(const char *place)
{
    if (!way)
        return;
    std::string line = named_place(place);
    if (is("modules"))
        return;
    if (is("new threads")) {
        std::thread([&] { driver_calls(line.c_str(), {false, false}); }).join();
    } else {
        bool late = !strcmp(place, "handler after");
        driver_calls(line.c_str(), {late && is("context"), late});
    }
}

__attribute__((init_priority(101))) static Object early{"first global"};
static Object global{"global"};
__attribute__((destructor)) static void destruct() { at("destructor function"); }
__attribute__((destructor(101))) static void last_destruct() { at("last destructor function"); }
static void before() { at("handler before"); }
static void after() { at("handler after"); }
static void quick() { at("quick handler"); }

// Seconds for the calls of modules, which take less than one.
static const int LIMIT = 30;
static char device_name[64];

static void late(int)
{
    const char *whose = strstr(device_name, "NVIDIA") ? "NVIDIA's driver" : "the driver";
    char line[160];
    int length = snprintf(line, sizeof line, "modules, handler after: a call of %s does not return\n", whose);
    _exit(write(STDOUT_FILENO, line, length) == length ? 0 : 1);
}

static void modules_after()
{
    signal(SIGALRM, late);
    alarm(LIMIT);
    Answers answers;
    CALL("setcurrent", cuCtxSetCurrent(context));
    module_calls(answers);
    answers.print("modules, handler after");
    alarm(0);
}
static thread_local Object before_object{"thread's object before"};

static int run()
{
    atexit(before);
    at_quick_exit(quick);
    (void)before_object.name;
    if (is("no call before"))
        return 0;
    if (cuInit(0))
        return 1;
    if (!is("only initialised")) {
        if (is("primary context")) {
            if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
                return 1;
        } else {
#if CUDA_VERSION >= 13000
            if (cuCtxCreate(&context, nullptr, 0, 0))
                return 1;
#else
            if (cuCtxCreate(&context, 0, 0))
                return 1;
#endif
        }
        if (cuMemAlloc(&kept, 64))
            return 1;
    }
    atexit(after);
    static thread_local Object after_object{"thread's object after"};
    (void)after_object.name;
    if (is("modules")) {
        if (cuDeviceGetName(device_name, sizeof device_name, 0))
            return 1;
        atexit(modules_after);
        CUcontext popped = nullptr;
        if (cuCtxPopCurrent(&popped))
            return 1;
    }
    if (is("destroyed"))
        cuCtxDestroy(context), context = nullptr;
    if (is("quick_exit"))
        quick_exit(0);
    return 0;
}

int main(int argc, char **argv)
{
    return all_ways(argc, argv,
                    {"context", "primary context", "only initialised", "no call before", "new threads", "destroyed", "quick_exit",
                     "modules"},
                    run);
}
