// options: --lines 0 --for sm_90
// Accesses in many patterns, each often enough that a part of them is visible. scripts/profile-compare counts them on a GPU, too.
#include <cstdio>

constexpr int N = 1 << 14;
constexpr int BLOCK = 256;

__device__ unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

__global__ void copy(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

__global__ void copy_wide(float4 *to, const float4 *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

__global__ void copy_double(double *to, const double *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

__global__ void copy_bytes(char *to, const char *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

// Each row of a warp starts four bytes after a sector's start.
__global__ void shifted(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i + 1] = from[i + 3];
}

__global__ void every_second(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[2 * i];
}

__global__ void every_ninth(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[9 * i % N] = from[9 * i % N];
}

__global__ void gather(float *to, const float *from) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[mix(i) % N];
}

__global__ void scatter(float *to, const float *from) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[mix(i) % N] = from[i];
}

__global__ void thirds(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 0)
        to[i] = from[i];
}

template <int WIDTH> __global__ void transpose(float *to, const float *from) {
    __shared__ float tile[32][WIDTH];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * 128 + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        to[(y + j) * 128 + x] = tile[threadIdx.x][threadIdx.y + j];
}

// T of each size with this stride in elements, in shared memory.
template <class T, int STEP> __global__ void banks(T *to) {
    __shared__ T room[32 * STEP];
    room[threadIdx.x * STEP] = T(threadIdx.x);
    __syncthreads();
    to[blockIdx.x * 32 + threadIdx.x] = room[(threadIdx.x ^ 1) * STEP];
}

template <int STEP> __global__ void banks_wide(float4 *to) {
    __shared__ float4 room[32 * STEP];
    float x = threadIdx.x;
    room[threadIdx.x * STEP] = make_float4(x, x, x, x);
    __syncthreads();
    to[blockIdx.x * 32 + threadIdx.x] = room[(threadIdx.x ^ 1) * STEP];
}

__global__ void banks_random(float *to) {
    __shared__ float room[1024];
    for (int i = threadIdx.x; i < 1024; i += 256)
        room[i] = i;
    __syncthreads();
    to[blockIdx.x * 256 + threadIdx.x] = room[mix(threadIdx.x) % 1024];
}

__global__ void broadcast(float *to) {
    __shared__ float room[32];
    if (threadIdx.x < 32)
        room[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 32; i++)
        sum += room[(threadIdx.x / 32 + i) % 32];
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void sum(float *to, const float *from) {
    __shared__ float room[BLOCK];
    room[threadIdx.x] = from[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        to[blockIdx.x] = room[0];
}

__global__ void multiply(float *c, const float *a, const float *b) {
    __shared__ float left[16][16], right[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < 64; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[y * 64 + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 64 + x];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[y * 64 + x] = sum;
}

__global__ void polynomial(double *to, const double *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = from[i], y = 1;
    for (int k = 0; k < 16; k++)
        y = fma(x, y, 0.5);
    to[i] = y;
}

__global__ void spread(unsigned *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&count[mix(i) % 256], 1);
}

__global__ void tickets(unsigned *to, unsigned *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = atomicAdd(&count[i % 64], i);
}

__global__ void histogram(unsigned *to) {
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[mix(threadIdx.x) % 64], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&to[threadIdx.x], bins[threadIdx.x]);
}

int main() {
    char *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 20);
    cudaMemset(a, 0, 1 << 20);
    cudaMemset(b, 0, 1 << 20);
    float *to = (float *)a, *from = (float *)b;
    copy<<<N / BLOCK, BLOCK>>>(to, from);
    copy_wide<<<N / BLOCK, BLOCK>>>((float4 *)to, (float4 *)from);
    copy_double<<<N / BLOCK, BLOCK>>>((double *)to, (double *)from);
    copy_bytes<<<N / BLOCK, BLOCK>>>(a, b);
    shifted<<<N / BLOCK, BLOCK>>>(to, from);
    every_second<<<N / BLOCK, BLOCK>>>(to, from);
    every_ninth<<<N / BLOCK, BLOCK>>>(to, from);
    gather<<<N / BLOCK, BLOCK>>>(to, from);
    scatter<<<N / BLOCK, BLOCK>>>(to, from);
    thirds<<<N / BLOCK, BLOCK>>>(to, from);
    transpose<32><<<dim3(4, 4), dim3(32, 8)>>>(to, from);
    transpose<33><<<dim3(4, 4), dim3(32, 8)>>>(to, from);
    banks<float, 1><<<16, 32>>>(to);
    banks<float, 2><<<16, 32>>>(to);
    banks<float, 16><<<16, 32>>>(to);
    banks<double, 1><<<16, 32>>>((double *)to);
    banks<double, 2><<<16, 32>>>((double *)to);
    banks<double, 5><<<16, 32>>>((double *)to);
    banks<char, 1><<<16, 32>>>(a);
    banks_wide<1><<<16, 32>>>((float4 *)to);
    banks_wide<2><<<16, 32>>>((float4 *)to);
    banks_wide<3><<<16, 32>>>((float4 *)to);
    banks_random<<<16, 256>>>(to);
    broadcast<<<16, 256>>>(to);
    sum<<<N / BLOCK, BLOCK>>>(to, from);
    multiply<<<dim3(4, 4), dim3(16, 16)>>>(to, from, from + 4096);
    polynomial<<<N / BLOCK, BLOCK>>>((double *)to, (double *)from);
    cudaMemset(a, 0, 1 << 20);
    spread<<<N / BLOCK, BLOCK>>>((unsigned *)to);
    tickets<<<N / BLOCK, BLOCK>>>((unsigned *)to, (unsigned *)from);
    histogram<<<16, 256>>>((unsigned *)to);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(a);
    cudaFree(b);
}
