// Declarations that the two files of `parts` share.
#pragma once
#include "arrays.h"

struct Particle {
    float x, v;
};
typedef float (*Force)(float);

extern __device__ int steps_taken;
extern __constant__ float time_step;
__device__ void advance(Particle &p, Force force);
__device__ float spring(float x);
__device__ float constant_force(float x);
template <typename T> __device__ T clamped(T v, T least, T most) { return v < least ? least : v > most ? most : v; }
void launch_count(int *out);
int configure(float step);
