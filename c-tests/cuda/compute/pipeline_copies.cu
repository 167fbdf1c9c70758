// Asynchronous copies from global to shared memory during the computation: with the
// primitives of cuda_pipeline.h in two stages, and with a block's cuda::pipeline.
#include <vector>
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include "arrays.h"

const int TILE = 128, TILES = 20;

__global__ void two_stages(const int *in, int *out)
{
    __shared__ __align__(16) int stage[2][TILE * 4];
    const int *from = in + blockIdx.x * TILE * 4 * TILES;
    auto fetch = [&](int tile) {
        __pipeline_memcpy_async(&stage[tile % 2][threadIdx.x * 4], from + tile * TILE * 4 + threadIdx.x * 4, 16);
        __pipeline_commit();
    };
    fetch(0);
    int sum = 0;
    for (int tile = 0; tile < TILES; tile++) {
        if (tile + 1 < TILES)
            fetch(tile + 1);
        else
            __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = 0; k < 4; k++)
            sum += stage[tile % 2][(threadIdx.x + k * TILE + 1) % (TILE * 4)] * (tile + 1);
        __syncthreads();
    }
    out[blockIdx.x * TILE + threadIdx.x] = sum;
}

// The last copy fills the part beyond `n` with zeros.
__global__ void filled(const int *in, int n, int *out)
{
    __shared__ __align__(16) int buffer[TILE];
    int at = blockIdx.x * TILE + threadIdx.x;
    buffer[threadIdx.x] = -1;
    __syncthreads();
    __pipeline_memcpy_async(&buffer[threadIdx.x], in + (at < n ? at : 0), 4, at < n ? 0 : 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[at] = buffer[TILE - 1 - threadIdx.x];
}

__global__ void of_block(const int *in, int *out)
{
    namespace cg = cooperative_groups;
    __shared__ int stage[2][TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int compute = 0, fetch = 0; compute < TILES; compute++) {
        for (; fetch < TILES && fetch < compute + 2; fetch++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stage[fetch % 2], in + fetch * TILE, sizeof(int) * TILE, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += stage[compute % 2][TILE - 1 - threadIdx.x] * (compute + 1);
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

int main()
{
    const int blocks = 3, n = blocks * TILE * 4 * TILES;
    std::vector<int> in(n), out(blocks * TILE);
    Numbers numbers(10);
    for (int &v : in)
        v = (int)numbers.below(1000);
    int *d_in = upload(in.data(), n), *d_out = zeros<int>(blocks * TILE);
    NEED(cudaGetLastError());
    two_stages<<<blocks, TILE>>>(d_in, d_out);
    LAUNCHED("two_stages");
    download(out.data(), d_out, out.size());
    bool right = true;
    for (int i = 0; i < blocks * TILE; i++) {
        int sum = 0;
        for (int tile = 0; tile < TILES; tile++)
            for (int k = 0; k < 4; k++)
                sum += in[(i / TILE * TILES + tile) * TILE * 4 + (i % TILE + k * TILE + 1) % (TILE * 4)] * (tile + 1);
        right = right && out[i] == sum;
    }
    expect(right, "two stages");

    const int some = 300;
    filled<<<3, TILE>>>(d_in, some, d_out);
    LAUNCHED("filled");
    download(out.data(), d_out, out.size());
    right = true;
    for (int i = 0; i < 3 * TILE; i++) {
        int at = i / TILE * TILE + TILE - 1 - i % TILE;
        right = right && out[i] == (at < some ? in[at] : 0);
    }
    expect(right, "filled with zeros");

    of_block<<<1, TILE>>>(d_in, d_out);
    LAUNCHED("of_block");
    download(out.data(), d_out, TILE);
    right = true;
    for (int i = 0; i < TILE; i++) {
        int sum = 0;
        for (int tile = 0; tile < TILES; tile++)
            sum += in[tile * TILE + TILE - 1 - i] * (tile + 1);
        right = right && out[i] == sum;
    }
    expect(right, "pipeline of a block");
    printf("%d\n", out[0]);
    return finish();
}
