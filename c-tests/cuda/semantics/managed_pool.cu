// Pools of managed memory, for every location: host and device access the memory, and it belongs to the pool.
#include <cuda.h>
#include "../common.h"

__global__ void add(int *v) { v[threadIdx.x] += 1; }

static void pool(const char *name, CUmemLocationType where, int id)
{
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    props.location.type = where;
    props.location.id = id;
    CUmemoryPool made = nullptr, found = nullptr;
    int status = int(cuMemPoolCreate(&made, &props));
    printf("%s: made %d", name, status);
    if (status == 0) {
        CUdeviceptr at = 0;
        unsigned kind = 99, managed = 99;
        status = int(cuMemAllocFromPoolAsync(&at, 4096, made, 0));
        cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
        cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at);
        cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
        printf(", allocated %d, kind %u, managed %u, of the pool %d", status, kind, managed, found == made);
        CUresult set = cuMemsetD32(at, 5, 1024);
        add<<<1, 32>>>((int *)at);
        LAUNCHED("add");
        CUresult waited = cuCtxSynchronize();
        int copied = -1;
        CUresult copy = cuMemcpyDtoH(&copied, at, 4);
        printf(", set %d, kernel %d, copy %d", int(set), int(waited), int(copy));
        volatile int *here = (int *)at;
        printf(": %d, seen %d and %d", copied, here[31], here[32]);
        here[0] = 40;
        add<<<1, 32>>>((int *)at);
        LAUNCHED("add");
        cuCtxSynchronize();
        printf(", after the host wrote %d", here[0]);
        printf(", freed %d, destroyed %d", int(cuMemFreeAsync(at, 0)), int(cuMemPoolDestroy(made)));
    }
    printf("\n");
}

int main()
{
    NEED(cudaFree(nullptr));
    pool("on the device", CU_MEM_LOCATION_TYPE_DEVICE, 0);
    pool("on the host", CU_MEM_LOCATION_TYPE_HOST, 0);
    pool("on a node", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    pool("anywhere", CU_MEM_LOCATION_TYPE_NONE, 0);
    return finish();
}
