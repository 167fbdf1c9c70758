// A histogram of bytes: atomics in shared memory, then in global memory; and one with
// a private table for each warp.
#include "../common.h"

__global__ void by_block(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b])
            atomicAdd(&bins[b], local[b]);
}

__global__ void by_warp(const uchar4 *in, unsigned *bins, int n)
{
    extern __shared__ unsigned tables[];
    int warps = blockDim.x / 32;
    unsigned *own = tables + threadIdx.x / 32 * 256;
    for (int b = threadIdx.x; b < warps * 256; b += blockDim.x)
        tables[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 v = in[i];
        atomicAdd(&own[v.x], 1u);
        atomicAdd(&own[v.y], 1u);
        atomicAdd(&own[v.z], 1u);
        atomicAdd(&own[v.w], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < warps; w++)
            sum += tables[w * 256 + b];
        atomicAdd(&bins[b], sum);
    }
}

int main()
{
    const int n = 1 << 17;
    unsigned char *h = new unsigned char[n], *in = nullptr;
    unsigned expected[256] = {}, got[256] = {}, *bins = nullptr;
    for (int i = 0; i < n; i++) {
        h[i] = (unsigned char)((i * 31 + i / 97) % (i % 3 ? 251 : 16));
        expected[h[i]]++;
    }
    NEED(cudaMalloc(&in, n));
    NEED(cudaMalloc(&bins, sizeof got));
    CK(cudaMemcpy(in, h, n, cudaMemcpyHostToDevice));
    CK(cudaMemset(bins, 0, sizeof got));
    by_block<<<16, 128>>>(in, bins, n);
    LAUNCHED("by_block");
    CK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
    expect(memcmp(got, expected, sizeof got) == 0, "by block");
    CK(cudaMemset(bins, 0, sizeof got));
    by_warp<<<8, 128, 4 * 256 * sizeof(unsigned)>>>((uchar4 *)in, bins, n / 4);
    LAUNCHED("by_warp");
    CK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
    expect(memcmp(got, expected, sizeof got) == 0, "by warp");
    delete[] h;
    return finish();
}
