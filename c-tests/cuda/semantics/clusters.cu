// Thread block clusters: the neighbour's shared memory, cluster size by launch attribute and at compile time.
#include <cooperative_groups.h>
#include "../common.h"

namespace cg = cooperative_groups;

__global__ void neighbours(int *out)
{
    __shared__ int own;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        own = 100 + blockIdx.x;
    cluster.sync();
    int *other = cluster.map_shared_rank(&own, cluster.block_rank() ^ 1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = *other;
    cluster.sync();
}

__global__ void __cluster_dims__(4, 1, 1) four(int *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = cg::this_cluster().num_blocks() * 10 + cg::this_cluster().block_rank();
}

int main()
{
    int *out = nullptr, h[8] = {};
    NEED(cudaMalloc(&out, sizeof h));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CK(cudaLaunchKernelEx(&config, neighbours, out));
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    printf("neighbours %d %d %d %d\n", h[0], h[1], h[6], h[7]);
    four<<<8, 32>>>(out);
    LAUNCHED("four");
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    printf("four %d %d %d %d\n", h[0], h[3], h[4], h[7]);
    int most = 0, active = 0;
    CK(cudaOccupancyMaxPotentialClusterSize(&most, neighbours, &config));
    CK(cudaOccupancyMaxActiveClusters(&active, neighbours, &config));
    expect(most >= 8 && active >= 1, "occupancy");
    attribute.val.clusterDim.x = 3;
    show("a grid of no whole clusters", cudaLaunchKernelEx(&config, neighbours, out));
    cudaGetLastError();
    return finish();
}
