// Which call initialises CUDA, so that CUDA ends before a handler that was registered earlier: each is the
// first and only call of a process of its own.
#include "ending_calls.h"

static void at(const char *place)
{
    if (!way)
        return;
    Answers answers;
    int n = 0, *d = nullptr;
    CALL("count", cudaGetDeviceCount(&n));
    CALL("malloc", cudaMalloc(&d, 64));
    CALL("free", cudaFree(d));
    CALL("sync", cudaDeviceSynchronize());
    answers.print(named_place(place).c_str());
}

static void before() { at("handler before"); }
static Object object{"global"};

// Makes the call with this number and returns its name; null after the last one.
static const char *first(int number, bool call)
{
    static int n, m;
    static size_t a, b;
    static void *p;
    static cudaStream_t stream;
    static cudaEvent_t event;
    static cudaDeviceProp properties;
    static cudaFuncAttributes function;
    static cudaPointerAttributes pointer;
    static cudaGraph_t graph;
    switch (number) {
#define FIRST(number, name, what)                                                                                      \
    case number:                                                                                                       \
        if (call)                                                                                                      \
            what;                                                                                                      \
        return name;
        FIRST(0, "cudaGetLastError", cudaGetLastError())
        FIRST(1, "cudaPeekAtLastError", cudaPeekAtLastError())
        FIRST(2, "cudaGetErrorName", cudaGetErrorName(cudaSuccess))
        FIRST(3, "cudaRuntimeGetVersion", cudaRuntimeGetVersion(&n))
        FIRST(4, "cudaDriverGetVersion", cudaDriverGetVersion(&n))
        FIRST(5, "cudaGetDeviceCount", cudaGetDeviceCount(&n))
        FIRST(6, "cudaGetDevice", cudaGetDevice(&n))
        FIRST(7, "cudaSetDevice", cudaSetDevice(0))
        FIRST(8, "cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, 0))
        FIRST(9, "cudaDeviceGetAttribute", cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0))
        FIRST(10, "cudaSetDeviceFlags", cudaSetDeviceFlags(0))
        FIRST(11, "cudaFree", cudaFree(nullptr))
        FIRST(12, "cudaMalloc", cudaMalloc(&p, 64))
        FIRST(13, "cudaMalloc to nowhere", cudaMalloc((void **)nullptr, 64))
        FIRST(14, "cudaSetDevice wrong", cudaSetDevice(-1))
        FIRST(15, "cudaMemGetInfo", cudaMemGetInfo(&a, &b))
        FIRST(16, "launch", (store<<<1, 1>>>((int *)p, 1)))
        FIRST(17, "push configuration", __cudaPushCallConfiguration(dim3(1), dim3(1), 0, nullptr))
        FIRST(18, "cudaFuncGetAttributes", cudaFuncGetAttributes(&function, store))
        FIRST(19, "cudaPointerGetAttributes", cudaPointerGetAttributes(&pointer, &n))
        FIRST(20, "cudaStreamCreate", cudaStreamCreate(&stream))
        FIRST(21, "cudaEventCreate", cudaEventCreate(&event))
        FIRST(22, "cudaStreamQuery", cudaStreamQuery(nullptr))
        FIRST(23, "cudaDeviceReset", cudaDeviceReset())
        FIRST(24, "cudaGraphCreate", cudaGraphCreate(&graph, 0))
        FIRST(25, "cudaDeviceGetStreamPriorityRange", cudaDeviceGetStreamPriorityRange(&n, &m))
        FIRST(26, "cudaGetSymbolAddress", cudaGetSymbolAddress(&p, symbol))
        FIRST(27, "touch managed variable", m = shared_value)
        FIRST(28, "nothing", (void)0)
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        int number = atoi(argv[2]);
        way = first(number, false);
        atexit(before);
        first(number, true);
        return 0;
    }
    for (int number = 0; first(number, false); number++)
        again("first", std::to_string(number).c_str());
    puts("end");
    return 0;
}
