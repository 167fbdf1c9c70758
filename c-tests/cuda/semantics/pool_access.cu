// Who may use a pool's memory: what cuMemPoolGetAccess says, what cuMemPoolSetAccess takes, and what accesses then do.
#include <cuda.h>
#include "../common.h"

__global__ void add(int *v) { v[threadIdx.x] += 1; }

struct Place {
    const char *name;
    CUmemAllocationType kind;
    CUmemLocationType where;
};

static const Place PLACES[] = {
    {"device", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE},
    {"host", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST},
    {"node", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA},
    {"managed device", CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE},
    {"managed host", CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_HOST},
};

static const CUmemLocation LOCATIONS[] = {
    {CU_MEM_LOCATION_TYPE_NONE, 0},      {CU_MEM_LOCATION_TYPE_DEVICE, 0},    {CU_MEM_LOCATION_TYPE_DEVICE, 77},
    {CU_MEM_LOCATION_TYPE_HOST, 0},      {CU_MEM_LOCATION_TYPE_HOST, 5},      {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
    {CU_MEM_LOCATION_TYPE_HOST_NUMA, 77}, {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0},
};

static CUresult make(const Place &place, CUmemoryPool *made)
{
    CUmemPoolProps props = {};
    props.allocType = place.kind;
    props.location.type = place.where;
    return cuMemPoolCreate(made, &props);
}

static void accesses(CUmemoryPool pool)
{
    for (CUmemLocation location : LOCATIONS) {
        CUmemAccess_flags_enum now = CUmemAccess_flags_enum(99);
        int status = int(cuMemPoolGetAccess(&now, pool, &location));
        printf(" %d/%d:%d=%d", int(location.type), location.id, status, int(now));
    }
    printf("\n");
}

static void matrix(const Place &place)
{
    CUmemoryPool pool = nullptr;
    printf("%s: made %d\n", place.name, int(make(place, &pool)));
    if (!pool)
        return;
    printf("  at first");
    accesses(pool);
    for (CUmemLocation location : LOCATIONS) {
        for (int flags : {0, 1, 2, 3, 0}) {
            CUmemAccessDesc access = {};
            access.location = location;
            access.flags = CUmemAccess_flags_enum(flags);
            CUmemAccess_flags_enum now = CUmemAccess_flags_enum(99);
            int status = int(cuMemPoolSetAccess(pool, &access, 1));
            int got = int(cuMemPoolGetAccess(&now, pool, &location));
            printf("  %d/%d to %d: %d, now %d=%d\n", int(location.type), location.id, flags, status, got, int(now));
        }
    }
    for (CUmemLocation location : LOCATIONS) {
        CUmemAccessDesc access = {};
        access.location = location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        printf("  with %d/%d %d:", int(location.type), location.id, int(cuMemPoolSetAccess(pool, &access, 1)));
        accesses(pool);
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        cuMemPoolSetAccess(pool, &access, 1);
    }
    // One of two is wrong: is the other set?
    CUmemAccessDesc two[2] = {};
    two[0].location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    two[1].location = {CU_MEM_LOCATION_TYPE_DEVICE, 77};
    two[0].flags = two[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    printf("  one of two %d:", int(cuMemPoolSetAccess(pool, two, 2)));
    accesses(pool);
    printf("  at last");
    accesses(pool);
    printf("  destroyed %d\n", int(cuMemPoolDestroy(pool)));
}

static void give_access(CUmemoryPool pool, int flags)
{
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    access.flags = CUmemAccess_flags_enum(flags);
    if (flags >= 0)
        printf(" set to %d: %d,", flags, int(cuMemPoolSetAccess(pool, &access, 1)));
}

static void attributes(CUdeviceptr at, CUmemoryPool pool)
{
    unsigned kind = 99;
    void *here = nullptr, *there = nullptr;
    CUmemoryPool from = nullptr;
    cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
    int host = int(cuPointerGetAttribute(&here, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
    int device = int(cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    cuPointerGetAttribute(&from, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
    printf(" kind %u, host's address %d=%d, device's %d=%d, of the pool %d,", kind, host, here == (void *)at, device,
           there == (void *)at, from == pool);
}

// `before` and `after`: the device's access, set before and after the allocation; -1 leaves it. A kernel runs only if it
// may use the memory.
static void use(const Place &place, int before, int after)
{
    printf("%s, access before %d, after %d:", place.name, before, after);
    bool on_host = place.where != CU_MEM_LOCATION_TYPE_DEVICE;
    bool may = place.kind == CU_MEM_ALLOCATION_TYPE_MANAGED || !on_host || after == 3 || (before == 3 && after != 0);
    CUmemoryPool pool = nullptr;
    CUdeviceptr at = 0;
    int status = int(make(place, &pool));
    give_access(pool, before);
    printf(" made %d, allocated %d,", status, int(cuMemAllocFromPoolAsync(&at, 4096, pool, 0)));
    printf(" waited %d,", int(cuCtxSynchronize()));
    if (!at)
        return;
    attributes(at, pool);
    if (on_host)
        memset((void *)at, 0, 4096);
    give_access(pool, after);
    int in = 7, out = -1;
    printf(" copied in %d,", int(cuMemcpyHtoD(at, &in, 4)));
    status = int(cuMemcpyDtoH(&out, at, 4));
    printf(" out %d=%d,", status, out);
    in = 8;
    printf(" without direction in %d,", int(cuMemcpy(at, CUdeviceptr(&in), 4)));
    status = int(cuMemcpy(CUdeviceptr(&out), at, 4));
    printf(" out %d=%d,", status, out);
    printf(" filled %d,", int(cuMemsetD32(at, 5, 1024)));
    printf(" waited %d,", int(cuCtxSynchronize()));
    if (may) {
        add<<<1, 32>>>((int *)at);
        printf(" launched %d,", int(cudaGetLastError()));
        printf(" waited %d,", int(cuCtxSynchronize()));
    }
    if (on_host)
        printf(" seen %d,", *(volatile int *)at);
    printf(" freed %d,", int(cuMemFreeAsync(at, 0)));
    printf(" destroyed %d\n", int(cuMemPoolDestroy(pool)));
}

int main()
{
    NEED(cudaFree(nullptr));
    for (const Place &place : PLACES)
        for (int before : {-1, 3})
            for (int after : {-1, 0, 3})
                if (before != after || before < 0)
                    use(place, before, after);
    for (const Place &place : PLACES)
        matrix(place);
    return finish();
}
