// Loads argv[1] (bound_contexts_image.ptx) as a library, and puts its kernel into graph nodes: each runs in the context
// that the node names, or in that of its function, and sees that context's variable, whichever context is current
// when the node is made.
#include <cstdio>
#include <cstdlib>
#include <cuda.h>

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        CUresult status = call;                                                                                        \
        if (status != CUDA_SUCCESS) {                                                                                  \
            printf("%s: %d\n", #call, (int)status);                                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#if CUDA_VERSION >= 13000
#define CREATE(out, device) cuCtxCreate(out, nullptr, 0, device)
#else
#define CREATE(out, device) cuCtxCreate(out, 0, device)
#endif

static CUlibrary load(const char *file, CUkernel *kernel)
{
    CUlibrary library;
    CU(cuLibraryLoadFromFile(&library, file, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CU(cuLibraryGetKernel(kernel, library, "times"));
    return library;
}

static void set(CUlibrary library, CUcontext in, int factor)
{
    CUdeviceptr at;
    size_t bytes;
    CU(cuCtxSetCurrent(in));
    CU(cuLibraryGetGlobal(&at, &bytes, library, "factor"));
    CU(cuMemcpyHtoD(at, &factor, sizeof factor));
}

// Makes the node while `from` is current; the kernel runs in `in`.
static int run(CUkernel kernel, CUfunction function, CUcontext named, CUcontext in, CUcontext from, int n)
{
    CUdeviceptr out;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream;
    int result = -1;
    CU(cuCtxSetCurrent(in));
    CU(cuMemAlloc(&out, 4));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSetCurrent(from));
    void *args[] = {&out, &n};
    CUDA_KERNEL_NODE_PARAMS p = {};
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = args;
    p.func = function;
    p.kern = kernel;
    p.ctx = named;
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode(&node, graph, nullptr, 0, &p));
    CU(cuCtxSetCurrent(in));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(&result, out, 4));
    CU(cuMemFree(out));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CU(cuStreamDestroy(stream));
    return result;
}

int main(int, char **argv)
{
    CUdevice device;
    CUcontext one, two;
    CUkernel a, b;
    CUfunction function;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(CREATE(&one, device));
    CU(CREATE(&two, device));
    CUlibrary library = load(argv[1], &a);
    set(library, one, 3);
    set(library, two, 4);
    printf("named %d", run(a, nullptr, one, one, two, 10));
    printf(" %d", run(a, nullptr, two, two, one, 10));
    set(library, one, 5);
    printf(" %d", run(a, nullptr, one, one, two, 20));
    printf(" %d\n", run(a, nullptr, nullptr, two, two, 20));
    CUlibrary other = load(argv[1], &b);
    set(other, two, 7);
    set(other, one, 6);
    CU(cuKernelGetFunction(&function, b));
    printf("function %d\n", run(nullptr, function, nullptr, one, two, 10));
    CU(cuLibraryUnload(library));
    library = load(argv[1], &a);
    set(library, two, 8);
    printf("again %d\n", run(a, nullptr, two, two, one, 10));
    return 0;
}
