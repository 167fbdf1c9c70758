// Host memory that CUDA knows: allocated, mapped, registered; its flags, its
// device pointer, and invalid registrations.
#include "../common.h"

__global__ void add(int *v, int by) { v[threadIdx.x] += by; }

int main()
{
    int *pinned = nullptr, *mapped = nullptr, *on_device = nullptr;
    NEED(cudaMallocHost(&pinned, 64 * sizeof(int)));
    NEED(cudaHostAlloc(&mapped, 64 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    unsigned flags = 0;
    CK(cudaHostGetFlags(&flags, mapped));
    // Without the portable flag: an H200 returns it only for an allocation alone, not for one beside another.
    printf("mapped %d write-combined %d\n", (flags & cudaHostAllocMapped) != 0,
           (flags & cudaHostAllocWriteCombined) != 0);
    CK(cudaHostGetDevicePointer(&on_device, mapped, 0));
    expect(on_device == mapped, "the same pointer on the device");
    for (int i = 0; i < 64; i++)
        pinned[i] = mapped[i] = i;
    add<<<1, 64>>>(on_device, 100);
    add<<<1, 64>>>(pinned, 1000);
    LAUNCHED("add");
    CK(cudaDeviceSynchronize());
    printf("%d %d %d %d\n", mapped[0], mapped[63], pinned[0], pinned[63]);

    int *inside = nullptr;
    CK(cudaHostGetDevicePointer(&inside, mapped + 10, 0));
    expect(inside == on_device + 10, "a pointer inside");
    CK(cudaFreeHost(mapped));
    show("free twice", cudaFreeHost(mapped));
    show("free of the device", cudaFree(pinned));
    CK(cudaFreeHost(pinned));
    CK(cudaFreeHost(nullptr));
    cudaGetLastError();

    const size_t bytes = 1 << 16;
    int *own = (int *)aligned_alloc(4096, bytes);
    memset(own, 0, bytes);
    show("pointer of what is not registered", cudaHostGetDevicePointer(&inside, own, 0));
    show("flags of what is not registered", cudaHostGetFlags(&flags, own));
    cudaGetLastError();
    CK(cudaHostRegister(own, bytes, cudaHostRegisterMapped));
    show("register twice", cudaHostRegister(own, bytes, cudaHostRegisterDefault));
    show("register a part again", cudaHostRegister(own + 1024, 4096, cudaHostRegisterDefault));
    cudaGetLastError();
    CK(cudaHostGetDevicePointer(&inside, own, 0));
    add<<<1, 64>>>(inside, 7);
    LAUNCHED("add");
    CK(cudaDeviceSynchronize());
    printf("%d %d\n", own[0], own[63]);
    CK(cudaHostUnregister(own));
    show("unregister twice", cudaHostUnregister(own));
    show("register nothing", cudaHostRegister(own, 0, cudaHostRegisterDefault));
    show("register null", cudaHostRegister(nullptr, 4096, cudaHostRegisterDefault));
    show("register with no such flags", cudaHostRegister(own, bytes, 0x4000));
    show("allocate with no such flags", cudaHostAlloc(&inside, 64, 0x4000));
    show("allocate to nowhere", cudaMallocHost((void **)nullptr, 64));
    cudaGetLastError();
    free(own);
    return finish();
}
