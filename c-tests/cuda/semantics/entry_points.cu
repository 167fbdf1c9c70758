// Driver functions that the program asks for by name through the runtime, at several versions
// and for both default streams; names that do not exist. (A null name is
// no error but a crash.)
#include <cuda.h>
#include "../common.h"

__global__ void store(int *v, int what) { *v = what; }

static cudaError_t ask(const char *name, void **function, unsigned version, unsigned long long flags)
{
#if CUDART_VERSION >= 12050
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
    cudaError_t e = cudaGetDriverEntryPointByVersion(name, function, version, flags, &found);
    // The older function had no such result and reported it by its status.
    return e == cudaSuccess && found != cudaDriverEntryPointSuccess ? cudaErrorSymbolNotFound : e;
#elif CUDART_VERSION >= 12000
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
    cudaError_t e = cudaGetDriverEntryPoint(name, function, flags, &found);
    return e == cudaSuccess && found != cudaDriverEntryPointSuccess ? cudaErrorSymbolNotFound : e;
#else
    return cudaGetDriverEntryPoint(name, function, flags);
#endif
}

int main()
{
    NEED(cudaFree(nullptr));
    const char *names[] = {"cuInit", "cuDeviceGetCount", "cuMemAlloc", "cuLaunchKernel", "cuStreamSynchronize",
                           "cuMemcpyHtoD", "cuGraphLaunch", "cuGetProcAddress"};
    for (const char *name : names) {
        void *function = nullptr;
        CK(ask(name, &function, 11080, cudaEnableDefault));
        printf("%s %s\n", name, function ? "found" : "none");
    }
    void *legacy = nullptr, *perthread = nullptr, *none = nullptr;
    CK(ask("cuStreamSynchronize", &legacy, 11080, cudaEnableLegacyStream));
    CK(ask("cuStreamSynchronize", &perthread, 11080, cudaEnablePerThreadDefaultStream));
    expect(legacy && perthread && legacy != perthread, "two forms");
    show("no such function", ask("cuNoSuchThing", &none, 11080, cudaEnableDefault));
    expect(none == nullptr, "nothing for it");
    cudaGetLastError();

    auto device_count = (decltype(&cuDeviceGetCount))nullptr;
    CK(ask("cuDeviceGetCount", (void **)&device_count, 11080, cudaEnableDefault));
    int a = 0, b = -1;
    CK(cudaGetDeviceCount(&a));
    if (device_count)
        device_count(&b);
    expect(a == b, "the same count");

    // A pointer of the runtime is valid for the driver.
    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    auto memset32 = (CUresult(*)(CUdeviceptr, unsigned, size_t))nullptr;
    CK(ask("cuMemsetD32", (void **)&memset32, 11080, cudaEnableDefault));
    if (memset32)
        printf("set: %d\n", (int)memset32((CUdeviceptr)d, 1234, 1));
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d\n", h);
    store<<<1, 1>>>(d, 5);
    LAUNCHED("store");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d\n", h);
    return finish();
}
