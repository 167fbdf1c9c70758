// CUB inside a kernel: loads and stores in several arrangements; scans, reductions and
// sorts of a block and of a warp; histograms; discontinuities.
#include <algorithm>
#include <vector>
#include <cub/cub.cuh>
#include "arrays.h"

const int THREADS = 128, EACH = 4, N = THREADS * EACH;

__global__ void block(const int *in, int *scanned, int *sorted, int *total)
{
    typedef cub::BlockLoad<int, THREADS, EACH, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockStore<int, THREADS, EACH, cub::BLOCK_STORE_TRANSPOSE> Store;
    typedef cub::BlockScan<int, THREADS> Scan;
    typedef cub::BlockRadixSort<int, THREADS, EACH> Sort;
    typedef cub::BlockReduce<int, THREADS> Reduce;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
        typename Reduce::TempStorage reduce;
    } room;
    int mine[EACH], sums[EACH], all;
    in += blockIdx.x * N;
    Load(room.load).Load(in, mine);
    __syncthreads();
    Scan(room.scan).ExclusiveSum(mine, sums, all);
    __syncthreads();
    Store(room.store).Store(scanned + blockIdx.x * N, sums);
    __syncthreads();
    int most = mine[0];
    for (int i = 1; i < EACH; i++)
        most = mine[i] > most ? mine[i] : most;
    typedef cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING> Raking;
    __shared__ typename Raking::TempStorage raking;
    int negated = Raking(raking).Sum(-most);
    Sort(room.sort).Sort(mine);
    __syncthreads();
    Store(room.store).Store(sorted + blockIdx.x * N, mine);
    if (threadIdx.x == 0) {
        total[blockIdx.x * 2] = all;
        total[blockIdx.x * 2 + 1] = negated;
    }
}

__global__ void warps(const int *in, int *out)
{
    typedef cub::WarpReduce<int> Reduce;
    typedef cub::WarpScan<int> Scan;
    __shared__ typename Reduce::TempStorage reduce[4];
    __shared__ typename Scan::TempStorage scan[4];
    int w = threadIdx.x / 32, v = in[threadIdx.x], before;
    int sum = Reduce(reduce[w]).Sum(v);
    Scan(scan[w]).ExclusiveSum(v, before);
    out[threadIdx.x] = before;
    if (threadIdx.x % 32 == 0)
        out[128 + w] = sum;
}

__global__ void flags(const int *in, int *heads)
{
    typedef cub::BlockDiscontinuity<int, THREADS> Heads;
    __shared__ typename Heads::TempStorage room;
    int v[1] = {in[threadIdx.x] / 100}, flag[1];
    Heads(room).FlagHeads(flag, v, [] __device__(int a, int b) { return a != b; });
    heads[threadIdx.x] = flag[0];
}

int main()
{
    const int blocks = 2;
    std::vector<int> in(blocks * N), scanned(in.size()), sorted(in.size()), total(blocks * 2);
    Numbers numbers(18);
    for (int &v : in)
        v = (int)numbers.below(2000) - 700;
    int *d_in = upload(in.data(), in.size()), *d_scanned = zeros<int>(in.size()), *d_sorted = zeros<int>(in.size());
    int *d_total = zeros<int>(blocks * 2);
    NEED(cudaGetLastError());
    block<<<blocks, THREADS>>>(d_in, d_scanned, d_sorted, d_total);
    LAUNCHED("block");
    download(scanned.data(), d_scanned, in.size());
    download(sorted.data(), d_sorted, in.size());
    download(total.data(), d_total, total.size());
    bool scans = true, sorts = true, sums = true;
    for (int b = 0; b < blocks; b++) {
        std::vector<int> part(in.begin() + b * N, in.begin() + (b + 1) * N);
        int sum = 0, negated = 0;
        for (int i = 0; i < N; i++) {
            scans = scans && scanned[b * N + i] == sum;
            sum += part[i];
            if (i % EACH == 0)
                negated -= *std::max_element(part.begin() + i, part.begin() + i + EACH);
        }
        sums = sums && total[b * 2] == sum && total[b * 2 + 1] == negated;
        std::sort(part.begin(), part.end());
        sorts = sorts && std::equal(part.begin(), part.end(), sorted.begin() + b * N);
    }
    expect(scans, "scan of a block");
    expect(sums, "reductions of a block");
    expect(sorts, "sort of a block");

    int out[132];
    warps<<<1, 128>>>(d_in, d_scanned);
    LAUNCHED("warps");
    download(out, d_scanned, 132);
    bool right = true;
    for (int w = 0; w < 4; w++) {
        int sum = 0;
        for (int i = w * 32; i < w * 32 + 32; i++) {
            right = right && out[i] == sum;
            sum += in[i];
        }
        right = right && out[128 + w] == sum;
    }
    expect(right, "of warps");
    flags<<<1, THREADS>>>(d_sorted, d_scanned);
    LAUNCHED("flags");
    download(out, d_scanned, THREADS);
    int heads = 0;
    right = true;
    for (int i = 0; i < THREADS; i++) {
        right = right && out[i] == (i == 0 || sorted[i] / 100 != sorted[i - 1] / 100);
        heads += out[i];
    }
    expect(right, "heads");
    printf("%d %d %d\n", total[0], total[2], heads);
    return finish();
}
