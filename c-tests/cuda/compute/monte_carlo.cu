// Pi by random points: each thread's generator jumps ahead, so that the threads
// together draw one sequence; the count is exact.
#include "../common.h"

const unsigned A = 1664525u, C = 1013904223u;

__host__ __device__ unsigned next(unsigned &state) { return state = state * A + C; }

// The state after n more draws.
__host__ __device__ unsigned skip(unsigned state, unsigned n)
{
    unsigned a = A, c = C;
    for (; n; n >>= 1) {
        if (n & 1)
            state = state * a + c;
        c *= a + 1;
        a *= a;
    }
    return state;
}

__host__ __device__ bool inside(unsigned &state)
{
    unsigned x = next(state) >> 16, y = next(state) >> 16;
    return (unsigned long long)x * x + (unsigned long long)y * y < 0xffffull * 0xffff;
}

__global__ void throw_points(unsigned *hits, unsigned seed, int each)
{
    unsigned state = skip(seed, 2u * each * (blockIdx.x * blockDim.x + threadIdx.x)), mine = 0;
    for (int i = 0; i < each; i++)
        mine += inside(state);
    atomicAdd(hits, mine);
}

int main()
{
    const int each = 100, threads = 1024;
    unsigned *d = nullptr, hits = 0, expected = 0, state = 42;
    NEED(cudaMalloc(&d, sizeof hits));
    CK(cudaMemset(d, 0, sizeof hits));
    throw_points<<<threads / 128, 128>>>(d, 42, each);
    LAUNCHED("throw_points");
    CK(cudaMemcpy(&hits, d, sizeof hits, cudaMemcpyDeviceToHost));
    for (int i = 0; i < each * threads; i++)
        expected += inside(state);
    expect(hits == expected, "hits");
    double pi = 4.0 * hits / (each * threads);
    expect(pi > 3.12 && pi < 3.16, "near pi");
    return finish();
}
