// Device code behind the fixtures of this folder: one kernel for each thing
// that a reader must tell apart.
struct Mixed {
    char c;
    double d;
    short s[3];
};
__constant__ float table[16];
__device__ int counter;
__device__ int initialised[4] = {1, 2, 3, 4};

__global__ void mixed(int n, const float *in, Mixed m, char c)
{
    if (in)
        counter = n + (int)m.d + c + (int)table[n & 15] + initialised[n & 3];
}

template <class T> __global__ void __launch_bounds__(128, 2) tile(T *out, T value)
{
    __shared__ T fixed[32];
    fixed[threadIdx.x & 31] = value;
    __syncthreads();
    out[threadIdx.x] = fixed[(threadIdx.x + 1) & 31];
}
template __global__ void tile<float>(float *, float);
template __global__ void tile<double>(double *, double);

__global__ void empty() {}

extern "C" __device__ int printf(const char *, ...);
__global__ void print(int x) { printf("%d\n", x); }
