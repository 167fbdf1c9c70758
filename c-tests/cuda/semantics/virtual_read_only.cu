// Read-only mappings: kernels and copies read them, copies into them are refused, and a kernel that writes to one fails.
#include <cuda.h>
#include "../common.h"

__global__ void sum(const int *v, int n, int *out)
{
    int s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += v[i];
    atomicAdd(out, s);
}

__global__ void write(int *v)
{
    v[threadIdx.x] = threadIdx.x;
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
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    CU(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle memory = 0;
    CUmemAccessDesc access = {};
    access.location = prop.location;
    CU(cuMemAddressReserve(&at, unit, 0, 0, 0));
    CU(cuMemCreate(&memory, unit, &prop, 0));
    CU(cuMemMap(at, unit, 0, memory, 0));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess(at, unit, &access, 1));
    const int n = 1000;
    int host[n], *out, total = 0;
    for (int i = 0; i < n; i++)
        host[i] = i;
    CU(cuMemcpyHtoD(at, host, sizeof host));
    CK(cudaMalloc(&out, sizeof *out));
    CK(cudaMemset(out, 0, sizeof *out));
    // A copy of less than 64 KB from pageable memory returns before it has written, and a change of access waits for nothing:
    // the copy's write would fail, and the next call tell of it.
    CK(cudaDeviceSynchronize());
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CU(cuMemSetAccess(at, unit, &access, 1));
    unsigned long long flags = 9;
    CU(cuMemGetAccess(&flags, &access.location, at));
    printf("access %llu\n", flags);
    sum<<<1, 64>>>((const int *)at, n, out);
    LAUNCHED("sum");
    CK(cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost));
    expect(total == n * (n - 1) / 2, "read by a kernel");
    CU(cuMemcpyDtoH(host, at, sizeof host));
    expect(host[n - 1] == n - 1, "read by a copy");
    printf("copied into: error %d\n", int(cuMemcpyHtoD(at, host, sizeof host)));
    printf("copied into from the device: error %d\n", int(cuMemcpyDtoD(at, CUdeviceptr(out), sizeof *out)));
    printf("set: error %d\n", int(cuMemsetD8(at, 1, 16)));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess(at, unit, &access, 1));
    write<<<1, 32>>>((int *)at);
    LAUNCHED("write");
    CU(cuMemcpyDtoH(host, at, sizeof host));
    expect(host[31] == 31, "written again");
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CU(cuMemSetAccess(at, unit, &access, 1));
    write<<<1, 32>>>((int *)at);
    LAUNCHED("write");
    printf("written by a kernel: error %d\n", int(cudaDeviceSynchronize()));
    return finish();
}
