// Every resource number that an image states: registers, stack, recursion,
// shared memory, barriers, launch bounds, constants, globals, device runtime.
#include <cassert>
#include <cstdio>

__constant__ int constants[100];
__device__ float array[1000];
__device__ double start_value = 3.5;

__device__ __noinline__ int fibonacci(int n)
{
    volatile int kept[10];
    kept[n % 10] = n;
    return n < 2 ? kept[n % 10] : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursive(int n, int *out) { *out = fibonacci(n); }

__device__ __noinline__ int leaf(int *in, int n)
{
    volatile int local[64];
    for (int i = 0; i < n; i++)
        local[i & 63] = in[i];
    return local[n & 63];
}
__global__ void stacked(int *out, int n)
{
    volatile int local[32];
    local[n & 31] = n;
    *out = leaf(out, n) + local[(n + 1) & 31];
}

__global__ void __launch_bounds__(256) bounded(int *out)
{
    __shared__ int tile[777];
    tile[threadIdx.x] = out[0];
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void runtime(int *in)
{
    assert(in);
    int *memory = (int *)malloc(4);
    *in = *memory;
    printf("%d\n", *in);
    free(memory);
}

__global__ void registers(int *out, const int *__restrict__ in)
{
    double d[40];
    for (int i = 0; i < 40; i++)
        d[i] = in[i];
    for (int k = 0; k < in[40]; k++)
        for (int i = 0; i < 39; i++)
            d[i] += d[i + 1] * k;
    double sum = 0;
    for (int i = 0; i < 40; i++)
        sum += d[i] * i;
    *out = sum + constants[in[3]] + array[in[4]] + start_value;
}

struct Large {
    int words[900];
};
__global__ void large(Large in, int *out, char last) { *out = in.words[*out] + last; }

int main() {}
