// Atomic operations on 128 bits (PTX ISA, `atom.b128`), in global and shared memory, and loads and stores as wide.
#include "../common.h"

struct alignas(16) Pair {
    unsigned long long low, high;
};

__device__ Pair cas(Pair *at, Pair compare, Pair value)
{
    Pair old;
    asm volatile("{ .reg .b128 c, v, o; mov.b128 c, {%3, %4}; mov.b128 v, {%5, %6};\n"
                 "atom.global.cas.b128 o, [%2], c, v; mov.b128 {%0, %1}, o; }"
                 : "=l"(old.low), "=l"(old.high)
                 : "l"(at), "l"(compare.low), "l"(compare.high), "l"(value.low), "l"(value.high)
                 : "memory");
    return old;
}

__device__ Pair exchange_shared(Pair *at, Pair value)
{
    Pair old;
    asm volatile("{ .reg .b128 v, o; mov.b128 v, {%3, %4}; atom.shared.exch.b128 o, [%2], v; mov.b128 {%0, %1}, o; }"
                 : "=l"(old.low), "=l"(old.high)
                 : "r"((unsigned)__cvta_generic_to_shared(at)), "l"(value.low), "l"(value.high)
                 : "memory");
    return old;
}

__device__ Pair load(const Pair *at)
{
    Pair value;
    asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(value.low), "=l"(value.high)
                 : "l"(at)
                 : "memory");
    return value;
}

__device__ void store(Pair *at, Pair value)
{
    asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.global.b128 [%0], v; }" ::"l"(at), "l"(value.low),
                 "l"(value.high)
                 : "memory");
}

// Each thread adds (1, 3); sum[0] gets the sum of the low halves that it replaced, sum[1] counts torn pairs.
__global__ void add(Pair *at, unsigned long long *sum)
{
    Pair seen = load(at);
    for (;;) {
        if (seen.high != seen.low * 3 - 5)
            atomicAdd(sum + 1, 1);
        Pair next = {seen.low + 1, seen.high + 3};
        Pair old = cas(at, seen, next);
        if (old.low == seen.low && old.high == seen.high)
            break;
        seen = old;
    }
    atomicAdd(sum, seen.low);
}

// The threads pass their pairs on through one in shared memory.
__global__ void pass(Pair *out)
{
    __shared__ Pair one;
    int i = threadIdx.x;
    if (i == 0)
        one = {0, 0};
    __syncthreads();
    Pair mine = {(unsigned long long)i + 1, ~(unsigned long long)i};
    store(out + i, exchange_shared(&one, mine));
    __syncthreads();
    if (i == 0)
        store(out + blockDim.x, one);
}

int main()
{
    const int BLOCKS = 40, THREADS = 96, N = BLOCKS * THREADS;
    Pair *at = nullptr, *out = nullptr, first = {0, -5ull}, got = {};
    unsigned long long *sum = nullptr, sums[2] = {};
    NEED(cudaMalloc(&at, sizeof *at));
    NEED(cudaMalloc(&sum, sizeof sums));
    NEED(cudaMalloc(&out, (THREADS + 1) * sizeof *out));
    CK(cudaMemcpy(at, &first, sizeof first, cudaMemcpyHostToDevice));
    CK(cudaMemset(sum, 0, sizeof sums));
    add<<<BLOCKS, THREADS>>>(at, sum);
    LAUNCHED("add");
    CK(cudaMemcpy(&got, at, sizeof got, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(sums, sum, sizeof sums, cudaMemcpyDeviceToHost));
    printf("%llu %llu, replaced %llu, torn %llu\n", got.low, got.high, sums[0], sums[1]);
    expect(got.low == N && got.high == 3ull * N - 5, "every addition is there");
    expect(sums[0] == (unsigned long long)N * (N - 1) / 2, "every value was replaced once");
    pass<<<1, THREADS>>>(out);
    LAUNCHED("pass");
    static Pair all[THREADS + 1];
    CK(cudaMemcpy(all, out, sizeof all, cudaMemcpyDeviceToHost));
    bool seen[THREADS + 1] = {}, whole = true;
    for (Pair p : all) {
        whole = whole && p.low <= THREADS && !seen[p.low] && (p.low ? p.high == ~(p.low - 1) : p.high == 0);
        seen[p.low <= THREADS ? p.low : 0] = true;
    }
    expect(whole, "every pair came out once");
    return finish();
}
