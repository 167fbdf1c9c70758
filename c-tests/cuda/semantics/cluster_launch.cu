// Launches with clusters: accepted sizes, errors for others, attributes and occupancy.
#include <cooperative_groups.h>
#include "../common.h"

__global__ void free_size(int *out)
{
    if (threadIdx.x == 0) {
        unsigned ranks;
        asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
        atomicAdd(out, (int)ranks);
    }
}

__global__ void __cluster_dims__(2, 2, 1) fixed(int *out)
{
    if (threadIdx.x == 0)
        atomicAdd(out, 1);
}

__global__ void with_shared(int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    atomicAdd(out, s[threadIdx.x]);
}

struct Attributes {
    cudaLaunchAttribute list[4] = {};
    int count = 0;
    cudaLaunchAttribute &add(cudaLaunchAttributeID id)
    {
        list[count].id = id;
        return list[count++];
    }
    Attributes &cluster(int x, int y, int z)
    {
        cudaLaunchAttribute &a = add(cudaLaunchAttributeClusterDimension);
        a.val.clusterDim.x = x;
        a.val.clusterDim.y = y;
        a.val.clusterDim.z = z;
        return *this;
    }
};

template <typename Kernel>
static cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, Attributes &attributes, int *out, size_t shared = 0)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.attrs = attributes.list;
    config.numAttrs = attributes.count;
    cudaError_t error = cudaLaunchKernelEx(&config, kernel, out);
    cudaGetLastError();
    return error;
}

template <typename Kernel>
static void tried(const char *what, Kernel kernel, dim3 grid, int x, int y, int z, int *out)
{
    Attributes attributes;
    *out = 0;
    cudaError_t error = launch(kernel, grid, dim3(32), attributes.cluster(x, y, z), out);
    cudaError_t end = cudaDeviceSynchronize();
    printf("%s: %s %s %d\n", what, cudaGetErrorName(error), cudaGetErrorName(end), *out);
}

template <typename Kernel>
static void occupancy(const char *what, Kernel kernel, int blocks, int threads, int x, size_t shared)
{
    Attributes attributes;
    if (x > 0)
        attributes.cluster(x, 1, 1);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.attrs = attributes.list;
    config.numAttrs = attributes.count;
    int size = -1, active = -1;
    cudaError_t first = cudaOccupancyMaxPotentialClusterSize(&size, kernel, &config);
    cudaGetLastError();
    cudaError_t second = cudaOccupancyMaxActiveClusters(&active, kernel, &config);
    cudaGetLastError();
    printf("%s: %s %d, %s %s\n", what, cudaGetErrorName(first), size, cudaGetErrorName(second),
           active > 0 ? "some" : active == 0 ? "none" : "unset");
}

int main()
{
    int *out = nullptr;
    NEED(cudaMallocManaged(&out, 64));
    int has = 0;
    CK(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, 0));
    expect(has == 1, "cluster launches");
    tried("2", free_size, dim3(8), 2, 1, 1, out);
    tried("2x2x2", free_size, dim3(4, 4, 4), 2, 2, 2, out);
    tried("8", free_size, dim3(8), 8, 1, 1, out);
    tried("8 in z", free_size, dim3(1, 1, 8), 1, 1, 8, out);
    tried("9", free_size, dim3(9), 9, 1, 1, out);
    tried("16", free_size, dim3(16), 16, 1, 1, out);
    tried("0", free_size, dim3(8), 0, 0, 0, out);
    tried("0 in y", free_size, dim3(8), 2, 0, 1, out);
    tried("1", free_size, dim3(8), 1, 1, 1, out);
    tried("a grid of no whole clusters", free_size, dim3(9), 2, 1, 1, out);
    tried("a grid of no whole clusters in y", free_size, dim3(2, 3), 2, 2, 1, out);
    tried("more than the grid", free_size, dim3(2), 4, 1, 1, out);
    tried("fixed, the same", fixed, dim3(4, 4), 2, 2, 1, out);
    tried("fixed, another", fixed, dim3(4, 4), 4, 1, 1, out);
    tried("fixed, ones", fixed, dim3(4, 4), 1, 1, 1, out);
    *out = 0;
    fixed<<<dim3(4, 4), 32>>>(out);
    show("fixed, none", cudaGetLastError());
    show("end", cudaDeviceSynchronize());
    fixed<<<dim3(3, 4), 32>>>(out);
    show("fixed, a grid of no whole clusters", cudaGetLastError());
    show("end", cudaDeviceSynchronize());
    printf("%d blocks\n", *out);

    show("not portable", cudaFuncSetAttribute(free_size, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    tried("16, not portable", free_size, dim3(16), 16, 1, 1, out);
    tried("12, not portable", free_size, dim3(12), 12, 1, 1, out);
    tried("17, not portable", free_size, dim3(17), 17, 1, 1, out);
    tried("32, not portable", free_size, dim3(32), 32, 1, 1, out);
    show("portable", cudaFuncSetAttribute(free_size, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));

    cudaFuncAttributes a = {};
    CK(cudaFuncGetAttributes(&a, fixed));
    printf("fixed: set %d, %d x %d x %d, policy %d, not portable %d\n", a.clusterDimMustBeSet, a.requiredClusterWidth,
           a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference,
           a.nonPortableClusterSizeAllowed);
    CK(cudaFuncGetAttributes(&a, free_size));
    printf("free size: set %d, %d x %d x %d, policy %d, not portable %d\n", a.clusterDimMustBeSet, a.requiredClusterWidth,
           a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference,
           a.nonPortableClusterSizeAllowed);
    show("width of fixed", cudaFuncSetAttribute(fixed, cudaFuncAttributeRequiredClusterWidth, 4));
    cudaGetLastError();
    show("width of free size", cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterWidth, 2));
    show("height of free size", cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterHeight, 1));
    show("depth of free size", cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterDepth, 1));
    *out = 0;
    free_size<<<8, 32>>>(out);
    show("free size, required 2", cudaGetLastError());
    CK(cudaDeviceSynchronize());
    printf("%d\n", *out);
    tried("free size, required 2, given 4", free_size, dim3(8), 4, 1, 1, out);
    cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterWidth, 0);
    cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterHeight, 0);
    cudaFuncSetAttribute(free_size, cudaFuncAttributeRequiredClusterDepth, 0);
    cudaGetLastError();

    {
        Attributes attributes;
        attributes.cluster(4, 1, 1);
        attributes.add(cudaLaunchAttributeClusterSchedulingPolicyPreference).val.clusterSchedulingPolicyPreference =
            cudaClusterSchedulingPolicySpread;
        show("with a policy", launch(free_size, dim3(8), dim3(32), attributes, out));
        attributes.list[1].val.clusterSchedulingPolicyPreference = (cudaClusterSchedulingPolicy)7;
        show("with no such policy", launch(free_size, dim3(8), dim3(32), attributes, out));
        CK(cudaDeviceSynchronize());
    }
    {
        Attributes attributes;
        attributes.cluster(2, 1, 1);
        attributes.add(cudaLaunchAttributeCooperative).val.cooperative = 1;
        *out = 0;
        show("cooperative", launch(free_size, dim3(8), dim3(32), attributes, out));
        CK(cudaDeviceSynchronize());
        printf("%d\n", *out);
    }
    {
        Attributes attributes;
        attributes.cluster(2, 1, 1);
        attributes.add(cudaLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
        *out = 0;
        show("programmatic", launch(free_size, dim3(8), dim3(32), attributes, out));
        CK(cudaDeviceSynchronize());
        printf("%d\n", *out);
    }
    occupancy("size 0", free_size, 8, 256, 0, 0);
    occupancy("size 2", free_size, 8, 256, 2, 0);
    occupancy("size 8", free_size, 8, 256, 8, 0);
    occupancy("size 16", free_size, 16, 256, 16, 0);
    occupancy("size 3 of a grid of 8", free_size, 8, 256, 3, 0);
    occupancy("1024 threads", free_size, 64, 1024, 8, 0);
    occupancy("no threads", free_size, 8, 0, 2, 0);
    occupancy("fixed", fixed, 8, 256, 0, 0);
    occupancy("48 KiB", with_shared, 8, 32, 2, 48 << 10);
    occupancy("100 KiB", with_shared, 8, 32, 2, 100 << 10);
    CK(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    occupancy("100 KiB, allowed", with_shared, 8, 32, 2, 100 << 10);
    return finish();
}
