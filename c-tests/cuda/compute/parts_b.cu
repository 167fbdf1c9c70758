// The other file of `parts`.
#include "parts.h"

__constant__ float time_step;
static __device__ int own = 1000;

__device__ void advance(Particle &p, Force force)
{
    p.v += force(p.x) * time_step;
    p.x += p.v * time_step;
    atomicAdd(&steps_taken, 1);
}
__device__ float spring(float x) { return -x; }
__device__ float constant_force(float) { return 2; }

__global__ void count(int *out) { out[0] = steps_taken + own; }

void launch_count(int *out)
{
    count<<<1, 1>>>(out);
    LAUNCHED("count");
}
int configure(float step) { return (int)cudaMemcpyToSymbol(time_step, &step, sizeof step); }
