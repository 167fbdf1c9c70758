// Null outputs, and outputs that stay unchanged when a call fails. (Not
// cudaGetFuncBySymbol, which writes without a check before CUDA 13.)
#include "../common.h"

__global__ void nothing() {}

int main()
{
    NEED(cudaFree(nullptr));
    void *d = nullptr;
    CK(cudaMalloc(&d, 64));
    show("cudaGetDevice", cudaGetDevice(nullptr));
    show("cudaDriverGetVersion", cudaDriverGetVersion(nullptr));
    show("cudaRuntimeGetVersion", cudaRuntimeGetVersion(nullptr));
    show("cudaGetDeviceProperties", cudaGetDeviceProperties(nullptr, 0));
    show("cudaMallocManaged", cudaMallocManaged((void **)nullptr, 8));
    show("cudaHostAlloc", cudaHostAlloc((void **)nullptr, 8, 0));
    show("cudaHostGetDevicePointer", cudaHostGetDevicePointer((void **)nullptr, d, 0));
    show("cudaEventCreateWithFlags", cudaEventCreateWithFlags(nullptr, 0));
    show("cudaStreamCreateWithPriority", cudaStreamCreateWithPriority(nullptr, 0, 0));
    show("cudaStreamIsCapturing", cudaStreamIsCapturing(nullptr, nullptr));
    show("cudaGetSymbolAddress", cudaGetSymbolAddress((void **)nullptr, (const void *)nullptr));
    show("cudaGraphInstantiate", instantiate(nullptr, nullptr));
    show("cudaMemPoolCreate", cudaMemPoolCreate(nullptr, nullptr));
    show("cudaDeviceGetDefaultMemPool", cudaDeviceGetDefaultMemPool(nullptr, 0));
    show("cudaIpcGetMemHandle", cudaIpcGetMemHandle(nullptr, nullptr));
    show("cudaMemcpy3D", cudaMemcpy3D(nullptr));
    show("cudaMallocArray", cudaMallocArray(nullptr, nullptr, 4, 4));
    cudaGetLastError();

    int value = 77;
    size_t bytes = 77;
    unsigned flags = 77;
    void *pointer = (void *)77;
    cudaError_t e[6];
    e[0] = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)-4, 0);
    e[1] = cudaDeviceGetLimit(&bytes, (cudaLimit)300);
    e[2] = cudaHostGetFlags(&flags, d);
    e[3] = cudaHostGetDevicePointer(&pointer, d, 9);
    e[4] = cudaGetSymbolSize(&bytes, (const void *)&value);
    e[5] = cudaDeviceCanAccessPeer(&value, 0, 5000);
    for (cudaError_t error : e)
        printf("%s\n", error == cudaSuccess ? "succeeded" : "failed");
    printf("%d %zu %u %d\n", value, bytes, flags, pointer == (void *)77);
    cudaGetLastError();
    nothing<<<1, 1>>>();
    LAUNCHED("nothing");
    CK(cudaDeviceSynchronize());
    CK(cudaFree(d));
    return finish();
}
