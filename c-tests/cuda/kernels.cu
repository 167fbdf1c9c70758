// Compiled to kernels.cubin, which driver_cubin and library load.
extern "C" __global__ void square(int *out, int add)
{
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    out[i] = i * i + add;
}
extern "C" __global__ void cube(int *out, int add)
{
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    out[i] = i * i * i + add;
}
