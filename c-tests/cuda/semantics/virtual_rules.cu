// Rules of virtual memory management: accepted and refused calls, one memory at two addresses, handles and mappings
// that outlive each other.
#include <unistd.h>
#include <cuda.h>
#include "../common.h"

__global__ void add(int *v, size_t n, int what)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v[i] += what;
}

static void need(CUresult status, const char *what)
{
    if (status != CUDA_SUCCESS) {
        printf("%s: error %d\n", what, int(status));
        cuda_errors++;
    }
}
#define CU(call) need(call, #call)

static void refused(const char *what, CUresult status)
{
    printf("%s: %s\n", what, status == CUDA_SUCCESS ? "taken" : "refused");
}

int main()
{
    NEED(cudaFree(nullptr));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0, least = 0;
    CU(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CU(cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    expect(least > 0 && unit % least == 0, "granularities");
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUdeviceptr at = 0, other = 0;
    CUmemGenericAllocationHandle memory = 0, again = 0, small = 0;
    CU(cuMemAddressReserve(&at, 2 * unit, 2 * unit, 0, 0));
    expect(at % (2 * unit) == 0, "alignment");
    CU(cuMemAddressReserve(&other, 2 * unit, 0, 0, 0));
    CU(cuMemCreate(&memory, 2 * unit, &prop, 0));
    CU(cuMemCreate(&small, unit, &prop, 0));

    refused("no bytes", cuMemCreate(&again, 0, &prop, 0));
    refused("unknown flags", cuMemCreate(&again, unit, &prop, 1));
    refused("addresses of no size", cuMemAddressReserve(&other, 0, 0, 0, 0));
    refused("an alignment of 3", cuMemAddressReserve(&other, unit, 3, 0, 0));
    refused("where nothing is reserved", cuMemMap(at + 16 * unit, unit, 0, small, 0));
    refused("more than there is", cuMemMap(at, 2 * unit, 0, small, 0));
    refused("access to nothing", cuMemSetAccess(at, 2 * unit, &access, 1));
    int fd = -1;
    refused("a descriptor that nobody asked for",
            cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));

    CU(cuMemMap(at, 2 * unit, 0, memory, 0));
    refused("where something is", cuMemMap(at, unit, 0, small, 0));
    unsigned long long flags = 9;
    CU(cuMemGetAccess(&flags, &access.location, at));
    printf("access %llu\n", flags);
    CU(cuMemSetAccess(at, 2 * unit, &access, 1));
    CU(cuMemGetAccess(&flags, &access.location, at + unit));
    printf("access %llu\n", flags);

    // One memory at two addresses.
    CU(cuMemMap(other, 2 * unit, 0, memory, 0));
    CU(cuMemSetAccess(other, 2 * unit, &access, 1));
    size_t n = 2 * unit / sizeof(int);
    CK(cudaMemset((void *)at, 0, 2 * unit));
    add<<<32, 256>>>((int *)other, n, 5);
    LAUNCHED("add");
    CK(cudaDeviceSynchronize());
    int last = 0;
    CK(cudaMemcpy(&last, (int *)at + n - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("seen at the other address: %d\n", last);

    // A mapping keeps memory whose handle was released; the program can get a handle again.
    CU(cuMemRelease(memory));
    CU(cuMemUnmap(other, 2 * unit));
    add<<<32, 256>>>((int *)at, n, 2);
    LAUNCHED("add");
    CK(cudaMemcpy(&last, (int *)at, sizeof last, cudaMemcpyDeviceToHost));
    printf("after the release: %d\n", last);
    CU(cuMemRetainAllocationHandle(&again, (void *)(at + unit)));
    CUmemAllocationProp found = {};
    CU(cuMemGetAllocationPropertiesFromHandle(&found, again));
    expect(found.type == prop.type && found.location.type == prop.location.type && found.location.id == 0 &&
               found.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE,
           "properties");
    refused("a part unmapped", cuMemUnmap(at, unit));
    CU(cuMemUnmap(at, 2 * unit));
    CU(cuMemMap(other, 2 * unit, 0, again, 0));
    CU(cuMemSetAccess(other, 2 * unit, &access, 1));
    CK(cudaMemcpy(&last, (int *)other + n - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("mapped anew: %d\n", last);
    CU(cuMemUnmap(other, 2 * unit));
    CU(cuMemRelease(again));
    CU(cuMemRelease(small));
    refused("freed by another size", cuMemAddressFree(other, unit));
    CU(cuMemAddressFree(other, 2 * unit));
    CU(cuMemAddressFree(at, 2 * unit));
    return finish();
}
