// Clusters of blocks: special registers, addresses of shared memory, barriers, atomics, asynchronous stores and bulk
// copies between the blocks of a cluster.
#include <cooperative_groups.h>
#include "../common.h"

namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

#define REGISTER(name) ({ unsigned v; asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); v; })

// Each special register of each block, in the order of the blocks.
__global__ void registers(unsigned *out)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned explicitly;
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(explicitly));
    unsigned values[] = {REGISTER("clusterid.x"), REGISTER("clusterid.y"), REGISTER("clusterid.z"),
                         REGISTER("nclusterid.x"), REGISTER("nclusterid.y"), REGISTER("nclusterid.z"),
                         REGISTER("cluster_ctaid.x"), REGISTER("cluster_ctaid.y"), REGISTER("cluster_ctaid.z"),
                         REGISTER("cluster_nctaid.x"), REGISTER("cluster_nctaid.y"), REGISTER("cluster_nctaid.z"),
                         REGISTER("cluster_ctarank"), REGISTER("cluster_nctarank"), explicitly, threadIdx.x};
    if (threadIdx.x == 0)
        for (int k = 0; k < 16; k++)
            out[16 * block + k] = values[k];
}

// Kinds of addresses: of this block, of other blocks, generic ones.
__global__ void __cluster_dims__(4, 1, 1) addresses(unsigned *out)
{
    __shared__ int own[4];
    int local = 0;
    unsigned right = 0, n = 0;
    auto is = [&](bool condition) { right |= (unsigned)condition << n++; };
    unsigned rank = REGISTER("cluster_ctarank"), neighbour = (rank + 1) % 4;
    unsigned at = shared_address(own + 1), mapped, self, place, found;
    unsigned long long generic, whose;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(at), "r"(neighbour));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(self) : "r"(at), "r"(rank));
    asm("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(own + 1), "r"(neighbour));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(place) : "r"(mapped));
    asm("getctarank.u64 %0, %1;" : "=r"(found) : "l"(generic));
    is(place == neighbour);
    is(found == neighbour);
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(place) : "r"(at));
    is(place == rank);
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(place) : "r"(self));
    is(place == rank);
    is(self == at);
    is(mapped != at);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(mapped), "r"(rank));
    is(place == at);
    asm("cvta.shared::cluster.u64 %0, %1;" : "=l"(whose) : "l"((unsigned long long)mapped));
    is(whose == generic);
    auto in_cta = [](unsigned long long a) {
        int r;
        asm("{ .reg .pred p; isspacep.shared::cta p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(a));
        return r;
    };
    auto in_cluster = [](unsigned long long a) {
        int r;
        asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(a));
        return r;
    };
    auto in_shared = [](unsigned long long a) {
        int r;
        asm("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(a));
        return r;
    };
    unsigned long long mine = (unsigned long long)(own + 1);
    is(in_cta(mine));
    is(in_cluster(mine));
    is(in_shared(mine));
    is(in_cta(generic));
    is(in_cluster(generic));
    is(in_shared(generic));
    is(in_cluster((unsigned long long)&local));
    is(in_cluster((unsigned long long)out));
    is(__isShared((const void *)generic));
    is(__isGlobal((const void *)generic));
    is(cg::this_cluster().map_shared_rank(own + 1, neighbour) == (int *)generic);
    is(cg::this_cluster().map_shared_rank(own + 1, rank) == own + 1);
    is(cg::this_cluster().query_shared_rank((int *)generic) == neighbour);
    if (threadIdx.x == 0)
        out[blockIdx.x] = right;
    cg::this_cluster().sync();
}

// Loads, stores and atomics on other blocks' shared memory.
__global__ void atomics(int *out)
{
    __shared__ int counts[8];
    __shared__ unsigned long long wide;
    __shared__ float sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 8)
        counts[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        wide = 5, sum = 0;
    cluster.sync();
    for (unsigned other = 0; other < cluster.num_blocks(); other++) {
        int *theirs = cluster.map_shared_rank(counts, other);
        atomicAdd(theirs + threadIdx.x % 8, 1 + cluster.block_rank());
        atomicMax(cluster.map_shared_rank(&wide, other), (unsigned long long)threadIdx.x << 32);
        atomicAdd(cluster.map_shared_rank(&sum, other), 0.25f);
    }
    cluster.sync();
    if (threadIdx.x < 8)
        out[blockIdx.x * 10 + threadIdx.x] = counts[threadIdx.x];
    if (threadIdx.x == 0) {
        out[blockIdx.x * 10 + 8] = wide >> 32;
        out[blockIdx.x * 10 + 9] = (int)(sum * 4);
    }
}

// A histogram whose bins are spread over the cluster.
__global__ void histogram(const unsigned *from, int n, unsigned *bins)
{
    extern __shared__ unsigned part[];
    cg::cluster_group cluster = cg::this_cluster();
    const int each = 64;
    for (int k = threadIdx.x; k < each; k += blockDim.x)
        part[k] = 0;
    cluster.sync();
    for (int k = cg::this_grid().thread_rank(); k < n; k += gridDim.x * blockDim.x) {
        unsigned bin = from[k] % (each * cluster.num_blocks());
        atomicAdd(cluster.map_shared_rank(part, bin / each) + bin % each, 1);
    }
    cluster.sync();
    for (int k = threadIdx.x; k < each; k += blockDim.x)
        atomicAdd(bins + cluster.block_rank() * each + k, part[k]);
}

// Separate arrive and wait, without convergence, several rounds; threads that exit early count as arrived.
__global__ void rounds(int *out)
{
    __shared__ int token;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), n = cluster.num_blocks();
    if (threadIdx.x == 40)
        return;
    if (threadIdx.x == 0)
        token = rank;
    for (int k = 0; k < 10; k++) {
        if (threadIdx.x % 2)
            asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        else
            asm volatile("barrier.cluster.arrive;" ::: "memory");
        int mine = threadIdx.x * k;
        asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
        int seen = *cluster.map_shared_rank(&token, (rank + 1) % n);
        cluster.sync();
        if (threadIdx.x == 0)
            token = seen + (mine == 0);
    }
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = token;
}

// Asynchronous stores and reductions complete bytes at a barrier of their destination block.
__global__ void asynchronous(int *out)
{
    __shared__ alignas(16) int data[8];
    __shared__ unsigned sum;
    __shared__ unsigned long long all;
    __shared__ alignas(8) unsigned long long barrier;
    unsigned rank = REGISTER("cluster_ctarank"), n = REGISTER("cluster_nctarank"), to = (rank + 1) % n;
    unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) {
        sum = 1000;
        all = ~0ull;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(4 + 8 + 16 + 4 + 8)
                     : "memory");
    }
    cg::this_cluster().sync();
    auto there = [&](const void *p) {
        unsigned r;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(shared_address(p)), "r"(to));
        return r;
    };
    if (threadIdx.x == 0) {
        unsigned bar = there(&barrier);
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there(data)),
                     "r"(10 + rank), "r"(bar)
                     : "memory");
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
                         there(data + 2)),
                     "r"(20 + rank), "r"(30 + rank), "r"(bar)
                     : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%0], {%1, %2}, [%3];" ::"r"(
                         there(data + 4)),
                     "l"(40ull + rank), "l"(50ull + rank), "r"(bar)
                     : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(there(&sum)),
                     "r"(7 + rank), "r"(bar)
                     : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(
                         there(&all)),
                     "l"(0x100000001ull), "r"(bar)
                     : "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    if (threadIdx.x == 0) {
        int *mine = out + blockIdx.x * 8;
        mine[0] = data[0], mine[1] = data[2], mine[2] = data[3], mine[3] = data[4];
        mine[4] = data[6], mine[5] = sum, mine[6] = all >> 32, mine[7] = (unsigned)all;
    }
    cg::this_cluster().sync();
}

// Bulk copies: global to shared memory of this block and of several blocks, from block to block, and back to global memory.
__global__ void bulk(const int *from, int *to)
{
    __shared__ alignas(128) int first[64], second[64], third[64];
    __shared__ alignas(8) unsigned long long barrier[3];
    unsigned rank = REGISTER("cluster_ctarank"), n = REGISTER("cluster_nctarank"), next = (rank + 1) % n;
    unsigned one = shared_address(barrier), two = shared_address(barrier + 1), three = shared_address(barrier + 2);
    auto there = [&](const void *p) {
        unsigned r;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(shared_address(p)), "r"(next));
        return r;
    };
    if (threadIdx.x == 0) {
        for (unsigned at : {one, two, three}) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cg::this_cluster().sync();
    auto wait = [](unsigned at) {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(at)
                         : "memory");
    };
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                         shared_address(first)),
                     "l"(from + 64 * rank), "r"(one)
                     : "memory");
        if (rank == 0)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                         "[%1], 256, [%2], %3;" ::"r"(shared_address(second)),
                         "l"(from), "r"(two), "h"((short)((1 << n) - 1))
                         : "memory");
    }
    wait(one);
    wait(two);
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                         there(third)),
                     "r"(shared_address(first)), "r"(there(barrier + 2))
                     : "memory");
    wait(three);
    first[threadIdx.x] += 1000 * second[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(to + 128 * blockIdx.x),
                     "r"(shared_address(first))
                     : "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + 128 * blockIdx.x + 64),
                     "r"(shared_address(third)), "r"(256)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    cg::this_cluster().sync();
}

// Bulk reductions into global memory and into another block's shared memory.
__global__ void reductions(int *to)
{
    __shared__ alignas(128) int own[32], theirs[32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned rank = REGISTER("cluster_ctarank"), n = REGISTER("cluster_nctarank"), next = (rank + 1) % n;
    unsigned at = shared_address(&barrier);
    own[threadIdx.x] = rank + threadIdx.x;
    theirs[threadIdx.x] = 100;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cg::this_cluster().sync();
    unsigned into, bar;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(into) : "r"(shared_address(theirs)), "r"(next));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar) : "r"(at), "r"(next));
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], "
                     "128, [%2];" ::"r"(into),
                     "r"(shared_address(own)), "r"(bar)
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 128;" ::"l"(to + 32 * n),
                     "r"(shared_address(own))
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 128;" ::"l"(to + 32 * n + 32),
                     "r"(shared_address(own))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    to[32 * rank + threadIdx.x] = theirs[threadIdx.x];
    cg::this_cluster().sync();
}

template <typename... Formal, typename... Actual>
static cudaError_t clustered(void (*kernel)(Formal...), dim3 grid, dim3 block, dim3 cluster, size_t shared,
                             Actual... arguments)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, Formal(arguments)...);
}

static unsigned sum_of(const int *values, int n)
{
    unsigned sum = 0;
    for (int k = 0; k < n; k++)
        sum = sum * 31 + values[k];
    return sum;
}

int main()
{
    int *out = nullptr;
    NEED(cudaMallocManaged(&out, 1 << 16));
    memset(out, 0, 1 << 16);
    NEED(clustered(registers, dim3(4, 4, 2), dim3(32), dim3(2, 2, 1), 0, (unsigned *)out));
    NEED(cudaDeviceSynchronize());
    for (int block : {0, 1, 4, 5, 7, 18, 31}) {
        printf("block %d:", block);
        for (int k = 0; k < 15; k++)
            printf(" %d", out[16 * block + k]);
        printf("\n");
    }
    registers<<<dim3(2, 2), 32>>>((unsigned *)out);
    LAUNCHED("registers");
    CK(cudaDeviceSynchronize());
    printf("without clusters:");
    for (int k = 0; k < 15; k++)
        printf(" %d", out[48 + k]);
    printf("\n");
    CK(clustered(registers, dim3(2, 2), dim3(32), dim3(1, 1, 1), 0, (unsigned *)out));
    CK(cudaDeviceSynchronize());
    printf("clusters of one:");
    for (int k = 0; k < 15; k++)
        printf(" %d", out[48 + k]);
    printf("\n");
    addresses<<<8, 32>>>((unsigned *)out);
    LAUNCHED("addresses");
    CK(cudaDeviceSynchronize());
    printf("addresses %x %x %x %x\n", out[0], out[1], out[3], out[6]);
    CK(clustered(atomics, dim3(8), dim3(96), dim3(4), 0, out));
    CK(cudaDeviceSynchronize());
    printf("atomics %d %d %d %d %d %d\n", out[0], out[7], out[8], out[9], out[70], out[79]);
    unsigned *from = (unsigned *)out + 4096, *bins = (unsigned *)out + 12000;
    for (int k = 0; k < 4096; k++)
        from[k] = k * 2654435761u >> 20;
    memset(bins, 0, 512 * 4);
    CK(clustered(histogram, dim3(16), dim3(64), dim3(8), 256, from, 4096, bins));
    CK(cudaDeviceSynchronize());
    printf("histogram %u %u %u\n", bins[0], bins[511], sum_of((int *)bins, 512));
    CK(clustered(rounds, dim3(6), dim3(64), dim3(3), 0, out));
    CK(cudaDeviceSynchronize());
    printf("rounds %d %d %d %d\n", out[0], out[1], out[2], out[5]);
    CK(clustered(asynchronous, dim3(4), dim3(64), dim3(2), 0, out));
    CK(cudaDeviceSynchronize());
    for (int block : {0, 3}) {
        printf("asynchronous:");
        for (int k = 0; k < 8; k++)
            printf(" %d", out[8 * block + k]);
        printf("\n");
    }
    for (int k = 0; k < 512; k++)
        out[4096 + k] = k;
    CK(clustered(bulk, dim3(4), dim3(64), dim3(4), 0, (const int *)out + 4096, out));
    CK(cudaDeviceSynchronize());
    printf("bulk %d %d %d %d %u\n", out[0], out[63], out[64], out[128 * 3 + 64], sum_of(out, 512));
    memset(out, 0, 4096);
    CK(clustered(reductions, dim3(4), dim3(32), dim3(4), 0, out));
    CK(cudaDeviceSynchronize());
    printf("reductions %d %d %d %d %d %d\n", out[0], out[33], out[127], out[128], out[159], out[160 + 31]);
    return finish();
}
