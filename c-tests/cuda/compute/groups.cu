// Cooperative groups: tiles of every size, coalesced threads, labelled partitions,
// sums and scans of a group, and a block as a whole.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "arrays.h"

namespace cg = cooperative_groups;

template <int SIZE> __global__ void tiles(const int *in, int *out)
{
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int v = in[threadIdx.x], sum = v;
    for (int delta = SIZE / 2; delta; delta /= 2)
        sum += tile.shfl_xor(sum, delta);
    int most = cg::reduce(tile, v, cg::greater<int>()), before = cg::exclusive_scan(tile, v);
    out[threadIdx.x] = sum + 10000 * most + (int)tile.meta_group_rank() + 7 * before;
}

// Threads with something to add do it with one atomic.
__global__ void together(const int *in, int *out, int *position)
{
    if (in[threadIdx.x] % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0)
            base = atomicAdd(out, (int)active.size());
        position[threadIdx.x] = active.shfl(base, 0) + (int)active.thread_rank();
        if (active.thread_rank() == 0)
            atomicAdd(out + 1, 1);
    } else {
        position[threadIdx.x] = -1;
    }
}

__global__ void labelled(const int *in, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, in[threadIdx.x] % 4);
    int sum = cg::reduce(same, in[threadIdx.x], cg::plus<int>());
    auto odd = cg::binary_partition(warp, in[threadIdx.x] & 1);
    out[threadIdx.x] = sum * 100 + (int)odd.size();
}

__global__ void block_wide(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    __shared__ int value[96];
    int rank = (int)block.thread_rank();
    value[rank] = in[rank];
    block.sync();
    dim3 at = block.thread_index(), size = block.group_dim();
    out[rank] = value[block.size() - 1 - rank] + (int)(at.x + at.y * size.x + at.z * size.x * size.y) - rank;
}

template <int SIZE> static void check_tiles(const int *in, const int *d_in, int *d_out)
{
    int out[96];
    tiles<SIZE><<<1, 96>>>(d_in, d_out);
    LAUNCHED("tiles");
    download(out, d_out, 96);
    bool right = true;
    for (int i = 0; i < 96; i++) {
        int sum = 0, most = 0, before = 0;
        for (int j = i / SIZE * SIZE; j < (i / SIZE + 1) * SIZE; j++) {
            sum += in[j];
            most = in[j] > most ? in[j] : most;
            before += j < i ? in[j] : 0;
        }
        right = right && out[i] == sum + 10000 * most + i / SIZE + 7 * before;
    }
    printf("tiles of %d: %s\n", SIZE, right ? "ok" : "wrong");
    wrong_results += !right;
}

int main()
{
    int in[96], out[96], counts[2];
    for (int i = 0; i < 96; i++)
        in[i] = i * 37 % 101;
    int *d_in = upload(in, 96), *d_out = zeros<int>(96), *d_counts = zeros<int>(2);
    NEED(cudaGetLastError());
    check_tiles<32>(in, d_in, d_out);
    check_tiles<16>(in, d_in, d_out);
    check_tiles<8>(in, d_in, d_out);
    check_tiles<4>(in, d_in, d_out);
    check_tiles<2>(in, d_in, d_out);

    together<<<1, 96>>>(d_in, d_counts, d_out);
    LAUNCHED("together");
    download(out, d_out, 96);
    download(counts, d_counts, 2);
    // The size of a coalesced group depends on the machine; each thread has its own rank.
    bool right = true, taken[96] = {};
    int some = 0;
    for (int i = 0; i < 96; i++) {
        right = right && (out[i] >= 0) == (in[i] % 3 == 0) && out[i] < 96 && (out[i] < 0 || !taken[out[i]]);
        if (out[i] >= 0 && out[i] < 96)
            taken[out[i]] = true;
        some += in[i] % 3 == 0;
    }
    expect(right && counts[0] == some && counts[1] >= 3, "together");
    printf("%d threads\n", counts[0]);

    labelled<<<1, 96>>>(d_in, d_out);
    LAUNCHED("labelled");
    download(out, d_out, 96);
    right = true;
    for (int i = 0; i < 96; i++) {
        int sum = 0, odd = 0;
        for (int j = i / 32 * 32; j < (i / 32 + 1) * 32; j++) {
            sum += in[j] % 4 == in[i] % 4 ? in[j] : 0;
            odd += (in[j] & 1) == (in[i] & 1);
        }
        right = right && out[i] == sum * 100 + odd;
    }
    expect(right, "labels");
    block_wide<<<1, dim3(4, 6, 4)>>>(d_in, d_out);
    LAUNCHED("block_wide");
    download(out, d_out, 96);
    right = true;
    for (int i = 0; i < 96; i++)
        right = right && out[i] == in[95 - i];
    expect(right, "the block");
    return finish();
}
