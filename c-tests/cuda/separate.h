// Declarations shared by the units of separate.cu.
#pragma once
extern __device__ int here_scale;
extern __constant__ int there_offset[4];
__device__ int far_away(int i);
void launch_there(int *out, int n);
