// Radix sort of 32-bit keys with values, four bits at a time: counts, their scan, and
// a stable scatter.
#include "../common.h"

const int BLOCK = 64, BUCKETS = 16;

__global__ void count(const unsigned *keys, unsigned *counts, int n, int shift)
{
    __shared__ unsigned local[BUCKETS];
    if (threadIdx.x < BUCKETS)
        local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicAdd(&local[keys[i] >> shift & (BUCKETS - 1)], 1u);
    __syncthreads();
    // Bucket after bucket, so that one scan gives the offsets of all blocks.
    if (threadIdx.x < BUCKETS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

__global__ void scan(unsigned *counts, int n)
{
    __shared__ unsigned sums[BLOCK];
    int each = (n + BLOCK - 1) / BLOCK, begin = threadIdx.x * each, end = min(begin + each, n);
    unsigned sum = 0;
    for (int i = begin; i < end; i++)
        sum += counts[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned i = 0, before = 0; i < BLOCK; i++) {
            unsigned here = sums[i];
            sums[i] = before;
            before += here;
        }
    __syncthreads();
    unsigned before = sums[threadIdx.x];
    for (int i = begin; i < end; i++) {
        unsigned here = counts[i];
        counts[i] = before;
        before += here;
    }
}

__global__ void scatter(const unsigned *keys, const int *values, unsigned *to_keys, int *to_values,
                        const unsigned *places, int n, int shift)
{
    __shared__ unsigned char digits[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned digit = i < n ? keys[i] >> shift & (BUCKETS - 1) : 255;
    digits[threadIdx.x] = digit;
    __syncthreads();
    if (i >= n)
        return;
    unsigned place = places[digit * gridDim.x + blockIdx.x];
    for (int t = 0; t < threadIdx.x; t++)
        place += digits[t] == digit;
    to_keys[place] = keys[i];
    to_values[place] = values[i];
}

int main()
{
    const int n = 3000, blocks = (n + BLOCK - 1) / BLOCK;
    static unsigned keys[n], sorted[n];
    static int values[n];
    unsigned state = 88172645;
    for (int i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        keys[i] = i % 5 ? state : state % 10;
        values[i] = i;
    }
    unsigned *k[2] = {}, *counts = nullptr;
    int *v[2] = {};
    for (int i = 0; i < 2; i++) {
        NEED(cudaMalloc(&k[i], sizeof keys));
        NEED(cudaMalloc(&v[i], sizeof values));
    }
    NEED(cudaMalloc(&counts, BUCKETS * blocks * sizeof(unsigned)));
    CK(cudaMemcpy(k[0], keys, sizeof keys, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(v[0], values, sizeof values, cudaMemcpyHostToDevice));
    for (int shift = 0; shift < 32; shift += 4) {
        count<<<blocks, BLOCK>>>(k[0], counts, n, shift);
        scan<<<1, BLOCK>>>(counts, BUCKETS * blocks);
        scatter<<<blocks, BLOCK>>>(k[0], v[0], k[1], v[1], counts, n, shift);
        unsigned *key = k[0];
        k[0] = k[1];
        k[1] = key;
        int *value = v[0];
        v[0] = v[1];
        v[1] = value;
    }
    LAUNCHED("sort");
    CK(cudaMemcpy(sorted, k[0], sizeof sorted, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(values, v[0], sizeof values, cudaMemcpyDeviceToHost));
    bool ordered = true, stable = true, paired = true;
    for (int i = 0; i < n; i++) {
        paired = paired && keys[values[i]] == sorted[i];
        if (i) {
            ordered = ordered && sorted[i - 1] <= sorted[i];
            stable = stable && (sorted[i - 1] != sorted[i] || values[i - 1] < values[i]);
        }
    }
    expect(ordered, "ordered");
    expect(paired, "values beside their keys");
    expect(stable, "stable");
    printf("least %u\n", sorted[0]);
    return finish();
}
