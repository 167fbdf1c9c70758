// Split arrive and wait: cuda::barrier, with one half of a block as producer
// and the other as consumer, and barriers that reduce a value.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include "arrays.h"

using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void apart(const int *in, int *out)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier meeting;
    __shared__ int value[128];
    if (threadIdx.x == 0)
        init(&meeting, blockDim.x);
    __syncthreads();
    int v = in[threadIdx.x], sum = 0;
    for (int round = 0; round < 8; round++) {
        value[threadIdx.x] = v + round;
        auto token = meeting.arrive();
        // Work that depends on no other thread.
        int mine = v * round;
        meeting.wait(std::move(token));
        sum += mine + value[(threadIdx.x + 37) % 128];
        meeting.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}

// Warp 0 fills two buffers, the others consume them.
__global__ void handed_over(int *out, int rounds)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier ready[2], taken[2];
    __shared__ int buffer[2][32];
    if (threadIdx.x < 2) {
        init(&ready[threadIdx.x], blockDim.x);
        init(&taken[threadIdx.x], blockDim.x);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        barrier::arrival_token first = taken[0].arrive(), second = taken[1].arrive();
        for (int r = 0; r < rounds; r++) {
            if (r % 2 == 0) {
                taken[0].wait(std::move(first));
            } else {
                taken[1].wait(std::move(second));
            }
            buffer[r % 2][threadIdx.x] = r * 100 + (int)threadIdx.x;
            (void)ready[r % 2].arrive();
            if (r % 2 == 0)
                first = taken[0].arrive();
            else
                second = taken[1].arrive();
        }
    } else {
        int sum = 0;
        (void)taken[0].arrive();
        (void)taken[1].arrive();
        for (int r = 0; r < rounds; r++) {
            ready[r % 2].arrive_and_wait();
            sum += buffer[r % 2][threadIdx.x % 32];
            (void)taken[r % 2].arrive();
        }
        out[threadIdx.x - 32] = sum;
    }
}

__global__ void counting(const int *in, int *out)
{
    int v = in[threadIdx.x];
    int count = __syncthreads_count(v % 3 == 0), all = __syncthreads_and(v < 1000), any = __syncthreads_or(v == 999999);
    if (threadIdx.x == 0) {
        out[0] = count;
        out[1] = all != 0;
        out[2] = any != 0;
    }
}

// Named barriers in inline PTX: each of two pairs of warps has its own.
__global__ void named(int *out)
{
    __shared__ int value[128];
    int pair = threadIdx.x / 64;
    value[threadIdx.x] = (int)threadIdx.x * 3;
    if (pair == 0)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    out[threadIdx.x] = value[pair * 64 + (threadIdx.x + 32) % 64];
}

int main()
{
    int in[128], out[128];
    for (int i = 0; i < 128; i++)
        in[i] = i * 7 % 100;
    int *d_in = upload(in, 128), *d_out = zeros<int>(128);
    NEED(cudaGetLastError());
    apart<<<1, 128>>>(d_in, d_out);
    LAUNCHED("apart");
    download(out, d_out, 128);
    bool right = true;
    for (int i = 0; i < 128; i++)
        right = right && out[i] == 28 * in[i] + 8 * in[(i + 37) % 128] + 28;
    expect(right, "arrive and wait");
    handed_over<<<1, 96>>>(d_out, 11);
    LAUNCHED("handed_over");
    download(out, d_out, 64);
    right = true;
    for (int i = 0; i < 64; i++)
        right = right && out[i] == 5500 + 11 * (i % 32);
    expect(right, "producer and consumers");
    counting<<<1, 128>>>(d_in, d_out);
    LAUNCHED("counting");
    download(out, d_out, 3);
    printf("%d %d %d\n", out[0], out[1], out[2]);
    named<<<1, 128>>>(d_out);
    LAUNCHED("named");
    download(out, d_out, 128);
    right = true;
    for (int i = 0; i < 128; i++)
        right = right && out[i] == (i / 64 * 64 + (i + 32) % 64) * 3;
    expect(right, "named barriers");
    return finish();
}
