// Replacement kernels for bound.cu. Its variables are the program's, except `mine`, `within` and those in a rule's `own`.
struct Pair { int a; float b; };

__constant__ float scale = 1;
__constant__ int table[16];
__constant__ Pair both;
__device__ int counter = 5;
__device__ int cells[8];
__device__ int *leads = cells + 2;
#ifndef SEED
#define SEED 500
#endif
__device__ int seed = SEED;
static __constant__ int inner;
#ifdef NO_MANAGED
__device__ int shared_value;
#else
__managed__ int shared_value;
#endif
// Private variables, not the program's; the second holds the address of one.
__device__ int mine = 7000;
__device__ struct { char tag; int *to; } within = {'w', cells + 3};
__constant__ int steps[2] = {10, 100};

__device__ __noinline__ float times(const float *by, float value) { return value * *by * steps[1]; }

extern "C" __global__ void add(const float *a, const float *b, float *c) { *c = *a + times(&scale, *b); }
extern "C" __global__ void bump(int by) { atomicAdd(&counter, by * steps[0]); }
extern "C" __global__ void sum(int *v, int i, int j)
{
    const int *of = i < 0 ? steps : table;
    *v = (of[i] + of[j]) * 1000;
}
extern "C" __global__ void pair(int *v) { *v = -(both.a * 100 + (int)(both.b * 10)); }
extern "C" __global__ void follow(int *v) { v[0] = *leads + mine; v[1] = within.tag == 'w' ? *within.to + 2000 : -1; }
extern "C" __global__ void hide(int *v) { *v = inner * 1001; }
extern "C" __global__ void grow(int by) { shared_value += by * 100; }
extern "C" __global__ void seeded(int *v) { *v = seed * 2; seed++; }
