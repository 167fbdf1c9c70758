// Pointer attributes: device memory, inside an allocation, host memory of every
// kind, managed memory, a variable, and a pointer that CUDA does not know.
#include "../common.h"

__device__ int variable[16];
__managed__ int managed_variable;
__global__ void touch() { variable[threadIdx.x] = 1; }

static void print(const char *what, const void *p)
{
    cudaPointerAttributes a;
    memset(&a, 0x5a, sizeof a);
    cudaError_t e = cudaPointerGetAttributes(&a, p);
    if (e != cudaSuccess) {
        show(what, e);
        cudaGetLastError();
        return;
    }
    const char *types[] = {"unregistered", "host", "device", "managed"};
    printf("%s: %s, device %d, device pointer %s, host pointer %s\n", what, types[(int)a.type & 3],
           a.type == cudaMemoryTypeUnregistered ? 0 : a.device,
           a.devicePointer == p ? "same" : a.devicePointer ? "other" : "none",
           a.hostPointer == p ? "same" : a.hostPointer ? "other" : "none");
}

int main()
{
    char *d = nullptr, *pinned = nullptr, *managed = nullptr, *own = nullptr, *pooled = nullptr;
    NEED(cudaMalloc(&d, 4096));
    NEED(cudaMallocHost(&pinned, 4096));
    NEED(cudaMallocManaged(&managed, 4096));
    NEED(cudaMallocAsync(&pooled, 4096, nullptr));
    own = (char *)aligned_alloc(4096, 8192);
    print("device", d);
    print("inside", d + 1000);
    print("pinned", pinned);
    print("inside pinned", pinned + 1000);
    print("managed", managed);
    print("pooled", pooled);
    print("not registered", own);
    CK(cudaHostRegister(own, 8192, cudaHostRegisterDefault));
    print("registered", own);
    print("inside registered", own + 5000);
    CK(cudaHostUnregister(own));
    print("no more registered", own);
    void *address = nullptr;
    CK(cudaGetSymbolAddress(&address, variable));
    print("variable", address);
    CK(cudaGetSymbolAddress(&address, managed_variable));
    print("managed variable", address);
    print("stack", &address);
    CK(cudaFree(d));
    print("null", nullptr);
    show("attributes to nowhere", cudaPointerGetAttributes(nullptr, pinned));
    cudaGetLastError();
    touch<<<1, 16>>>();
    LAUNCHED("touch");
    CK(cudaDeviceSynchronize());
    CK(cudaFreeHost(pinned));
    CK(cudaFree(managed));
    CK(cudaFreeAsync(pooled, nullptr));
    free(own);
    return finish();
}
