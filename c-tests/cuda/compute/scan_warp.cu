// An inclusive scan by shuffles, and stream compaction: ballots count the earlier
// lanes of the warp.
#include "../common.h"

__device__ int warp_scan(int v)
{
    int lane = threadIdx.x % 32;
    for (int delta = 1; delta < 32; delta *= 2) {
        int below = __shfl_up_sync(0xffffffffu, v, delta);
        if (lane >= delta)
            v += below;
    }
    return v;
}

__global__ void scan(const int *in, int *out)
{
    __shared__ int sums[32];
    int v = warp_scan(in[threadIdx.x]), warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0)
        sums[threadIdx.x] = warp_scan(sums[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = v + (warp ? sums[warp - 1] : 0);
}

__global__ void compact(const int *in, int *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned mask = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (lane == 0)
        base = atomicAdd(count, __popc(mask));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep)
        out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}

int main()
{
    const int n = 1024, m = 10000;
    static int h[m], result[m];
    for (int i = 0; i < m; i++)
        h[i] = (i * 7919) % 1001;
    int *in = nullptr, *out = nullptr, *count = nullptr;
    NEED(cudaMalloc(&in, sizeof h));
    NEED(cudaMalloc(&out, sizeof h));
    NEED(cudaMalloc(&count, sizeof(int)));
    CK(cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice));
    scan<<<1, n>>>(in, out);
    LAUNCHED("scan");
    CK(cudaMemcpy(result, out, n * sizeof(int), cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0, sum = 0; i < n; i++) {
        sum += h[i];
        right = right && result[i] == sum;
    }
    expect(right, "scan");

    CK(cudaMemset(count, 0, sizeof(int)));
    compact<<<(m + 127) / 128, 128>>>(in, out, count, m);
    LAUNCHED("compact");
    int kept = 0;
    long long sum = 0, expected = 0, expected_count = 0;
    CK(cudaMemcpy(&kept, count, sizeof kept, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(result, out, kept * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < m; i++)
        if (h[i] % 3 == 0) {
            expected += h[i];
            expected_count++;
        }
    right = kept == expected_count;
    for (int i = 0; i < kept; i++) {
        sum += result[i];
        right = right && result[i] % 3 == 0;
    }
    expect(right && sum == expected, "compact");
    return finish();
}
