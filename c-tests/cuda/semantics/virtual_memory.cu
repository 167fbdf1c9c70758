// Reserved addresses and separately created memory, mapped, grown and exported; kernels use it like any other.
#include <unistd.h>
#include <cuda.h>
#include "../common.h"

__global__ void count(int *v, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v[i] += int(i % 1000);
}

static void need(CUresult status, const char *what)
{
    if (status != CUDA_SUCCESS) {
        printf("%s: error %d\n", what, int(status));
        cuda_errors++;
    }
}
#define CU(call) need(call, #call)

int main()
{
    NEED(cudaFree(nullptr));
    int device = 0;
    CK(cudaGetDevice(&device));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    size_t unit = 0;
    CU(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    expect(unit >= 4096, "granularity");
    CUdeviceptr at = 0;
    CU(cuMemAddressReserve(&at, 4 * unit, 0, 0, 0));
    CUmemGenericAllocationHandle part[2] = {};
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (int i = 0; i < 2; i++) {
        CU(cuMemCreate(&part[i], unit, &prop, 0));
        CU(cuMemMap(at + i * unit, unit, 0, part[i], 0));
        CU(cuMemSetAccess(at + i * unit, unit, &access, 1));
    }
    size_t n = 2 * unit / sizeof(int);
    CK(cudaMemset((void *)at, 0, 2 * unit));
    count<<<64, 256>>>((int *)at, n);
    LAUNCHED("count");
    int last = 0;
    CK(cudaMemcpy(&last, (int *)at + n - 1, sizeof last, cudaMemcpyDeviceToHost));
    expect(last == int((n - 1) % 1000), "grown by a second part");

    // The same memory at a second address, through a file descriptor.
    int fd = -1;
    CU(cuMemExportToShareableHandle(&fd, part[1], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemGenericAllocationHandle again = 0;
    CU(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CU(cuMemMap(at + 2 * unit, unit, 0, again, 0));
    CU(cuMemSetAccess(at + 2 * unit, unit, &access, 1));
    int other = 0;
    CK(cudaMemcpy(&other, (char *)at + 3 * unit - sizeof other, sizeof other, cudaMemcpyDeviceToHost));
    expect(other == last, "imported");
    unsigned long long flags = 0;
    CU(cuMemGetAccess(&flags, &access.location, at));
    printf("access %llu\n", flags);
    CU(cuMemUnmap(at, 3 * unit));
    for (CUmemGenericAllocationHandle handle : {part[0], part[1], again})
        CU(cuMemRelease(handle));
    CU(cuMemAddressFree(at, 4 * unit));
    printf("half a unit: error %d\n", int(cuMemCreate(&part[0], unit / 2, &prop, 0)));
    close(fd);
    return finish();
}
