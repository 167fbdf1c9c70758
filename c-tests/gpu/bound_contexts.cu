// Loads argv[1] (bound_contexts_image.ptx or a cubin of it) in two contexts, unloads and loads it again: each has
// its own variables, and the replacement uses those of its own module.
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

static CUmodule load(const char *file, int factor, CUfunction *kernel)
{
    CUmodule module;
    CUdeviceptr at;
    size_t bytes;
    CU(cuModuleLoad(&module, file));
    CU(cuModuleGetFunction(kernel, module, "times"));
    CU(cuModuleGetGlobal(&at, &bytes, module, "factor"));
    CU(cuMemcpyHtoD(at, &factor, sizeof factor));
    return module;
}

static int run(CUfunction kernel, int n)
{
    CUdeviceptr out;
    int result = -1;
    CU(cuMemAlloc(&out, 4));
    void *args[] = {&out, &n};
    CU(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CU(cuMemcpyDtoH(&result, out, 4));
    CU(cuMemFree(out));
    return result;
}

#if CUDA_VERSION >= 13000
#define CREATE(out, device) cuCtxCreate(out, nullptr, 0, device)
#else
#define CREATE(out, device) cuCtxCreate(out, 0, device)
#endif

int main(int, char **argv)
{
    CUdevice device;
    CUcontext one, two;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CUfunction a, b, again;
    CU(CREATE(&one, device));
    CUmodule first = load(argv[1], 3, &a);
    CU(CREATE(&two, device));
    load(argv[1], 4, &b);
    int of_two = run(b, 10);
    CU(cuCtxSetCurrent(one));
    int of_one = run(a, 10);
    CU(cuCtxSetCurrent(two));
    printf("contexts %d %d %d\n", of_one, of_two, run(b, 20));
    CU(cuCtxSetCurrent(one));
    CUmodule same = load(argv[1], 5, &again);
    int of_same = run(again, 10);
    printf("twice %d %d\n", of_same, run(a, 10));
    CU(cuModuleUnload(first));
    printf("unloaded %d\n", run(again, 10));
    CU(cuModuleUnload(same));
    first = load(argv[1], 6, &a);
    printf("again %d\n", run(a, 10));
    CU(cuCtxDestroy(one));
    CU(cuCtxSetCurrent(two));
    printf("destroyed %d\n", run(b, 10));
    return 0;
}
