// The kernels of scripts/bench-cpu, as CUDA programs have them.
#include <math.h>

extern "C" {

__global__ void empty() {}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Each block adds its elements in strides; shuffles, then shared memory.
__global__ void reduce(int n, const float *x, float *sums)
{
    __shared__ float part[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int o = 16; o > 0; o /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int o = 4; o > 0; o /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, o);
        if (threadIdx.x == 0)
            sums[blockIdx.x] = sum;
    }
}

#define TILE 32
__global__ void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void nbody(int n, const float4 *p, float4 *out)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int k = 0; k < n; k += 256) {
        tile[threadIdx.x] = p[k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float4 q = tile[j];
            float dx = q.x - own.x, dy = q.y - own.y, dz = q.z - own.z;
            float d = dx * dx + dy * dy + dz * dz + 0.01f;
            float r = rsqrtf(d);
            float f = q.w * r * r * r;
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
        __syncthreads();
    }
    out[i] = make_float4(ax, ay, az, 0);
}

__device__ float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - c : c;
}

__global__ void black_scholes(int n, const float *price, const float *strike, const float *years, float *call, float *put)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float rate = 0.02f, volatility = 0.3f;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float e = x * expf(-rate * t);
    call[i] = s * normal(d1) - e * normal(d2);
    put[i] = e * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
}

__global__ void histogram(int n, const unsigned *x, unsigned *bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i] >> 24], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// An inclusive scan, within blocks of 256; writes the blocks' sums.
__global__ void scan(int n, const int *x, int *out, int *sums)
{
    __shared__ int s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        int v = threadIdx.x >= o ? s[threadIdx.x - o] : 0;
        __syncthreads();
        s[threadIdx.x] += v;
        __syncthreads();
    }
    if (i < n)
        out[i] = s[threadIdx.x];
    if (threadIdx.x == 255)
        sums[blockIdx.x] = s[255];
}

__global__ void scan_add(int n, int *out, const int *sums)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n && blockIdx.x > 0)
        out[i] += sums[blockIdx.x - 1];
}

__constant__ float weights[25] = {
    1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

__global__ void convolution(int w, int h, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= w - 2 || y >= h - 2)
        return;
    float sum = 0;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            sum += weights[j * 5 + i] * in[(y + j - 2) * w + x + i - 2];
    out[y * w + x] = sum;
}

#include "more.cu"
}
