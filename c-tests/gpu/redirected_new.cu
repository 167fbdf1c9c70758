// Replacement kernels for redirected.cu with the same names and parameters; a few with other parameters.
__device__ int state = 100;
__constant__ int factor = 3;
__managed__ int counter = 400;

extern "C" __global__ void step(int *v, int n)
{
    // Enough static shared memory that attributes and occupancy differ between the two.
    __shared__ int large[10240];
    large[threadIdx.x] = 10;
    __syncthreads();
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(v, large[(threadIdx.x + 1) % blockDim.x]);
}
extern "C" __global__ void stateful(int *v)
{
    *v = state * factor;
    state++;
}
extern "C" __global__ void shape(int *v)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *v = gridDim.x + 1000;
}
extern "C" __global__ void count(int *v)
{
    *v = counter;
    counter += 20;
}
extern "C" __global__ void leave_out(int *v) { *v = 2; }
extern "C" __global__ void another_step(int *v, int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(v, 100);
}

// For PyTorch's elementwise addition of floats (vectorized_elementwise_kernel): a + 1000 b.
struct functor { float alpha; };
struct arrays { char *of[3]; };
extern "C" __global__ void elementwise(int n, functor, arrays data)
{
    float *out = (float *)data.of[0];
    const float *a = (const float *)data.of[1], *b = (const float *)data.of[2];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a[i] + 1000 * b[i];
}
