// More kernels of scripts/bench-cpu, as CUDA programs have them: shared tiles, a warp per row, and integers.

__global__ void transpose(int n, const float *in, float *out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// One thread per row of a sparse matrix.
__global__ void spmv(int rows, const int *starts, const int *columns, const float *values, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// Each block sorts 512 words.
__global__ void bitonic(const unsigned *in, unsigned *out)
{
    __shared__ unsigned s[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    s[t] = in[base + t];
    s[t + 256] = in[base + t + 256];
    __syncthreads();
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int i = 2 * t - (t & (j - 1));
            unsigned a = s[i], b = s[i + j];
            if ((a > b) == ((i & k) == 0)) {
                s[i] = b;
                s[i + j] = a;
            }
            __syncthreads();
        }
    out[base + t] = s[t];
    out[base + t + 256] = s[t + 256];
}

#define ROW 256
// One warp per row.
__global__ void softmax(int rows, const float *in, float *out)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    in += row * ROW, out += row * ROW;
    float most = -INFINITY;
    for (int k = lane; k < ROW; k += 32)
        most = fmaxf(most, in[k]);
    for (int o = 16; o > 0; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, o));
    float sum = 0;
    for (int k = lane; k < ROW; k += 32)
        sum += __expf(in[k] - most);
    for (int o = 16; o > 0; o /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int k = lane; k < ROW; k += 32)
        out[k] = __expf(in[k] - most) / sum;
}

__global__ void layernorm(int rows, const float *in, float *out)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    in += row * ROW, out += row * ROW;
    float sum = 0, squares = 0;
    for (int k = lane; k < ROW; k += 32) {
        sum += in[k];
        squares += in[k] * in[k];
    }
    for (int o = 16; o > 0; o /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, o);
        squares += __shfl_xor_sync(0xffffffff, squares, o);
    }
    float mean = sum / ROW, scale = rsqrtf(squares / ROW - mean * mean + 1e-5f);
    for (int k = lane; k < ROW; k += 32)
        out[k] = (in[k] - mean) * scale;
}

// One pass of a radix sort by four bits. A block has 2,048 words, whose digits it counts ...
__global__ void radix_count(const unsigned *in, unsigned *counts, int shift)
{
    __shared__ unsigned own[16];
    if (threadIdx.x < 16)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int r = 0; r < 8; r++)
        atomicAdd(&own[in[blockIdx.x * 2048 + r * 256 + threadIdx.x] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// ... one block adds up the earlier counts for each count ...
__global__ void radix_scan(int n, unsigned *counts)
{
    __shared__ unsigned s[256];
    int t = threadIdx.x, each = (n + 255) / 256, from = min(t * each, n), to = min(from + each, n);
    unsigned sum = 0;
    for (int k = from; k < to; k++)
        sum += counts[k];
    s[t] = sum;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        unsigned v = t >= o ? s[t - o] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    unsigned before = s[t] - sum;
    for (int k = from; k < to; k++) {
        unsigned v = counts[k];
        counts[k] = before;
        before += v;
    }
}

// ... and each word goes to its place: lanes of a digit are found by votes.
__global__ void radix_scatter(const unsigned *in, unsigned *out, const unsigned *counts, int shift)
{
    __shared__ unsigned base[16], warps[8][16];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (t < 16)
        base[t] = counts[t * gridDim.x + blockIdx.x];
    for (int r = 0; r < 8; r++) {
        unsigned v = in[blockIdx.x * 2048 + r * 256 + t], digit = v >> shift & 15;
        unsigned same = 0xffffffff;
        for (int b = 0; b < 4; b++) {
            unsigned ones = __ballot_sync(0xffffffff, digit >> b & 1);
            same &= digit >> b & 1 ? ones : ~ones;
        }
        unsigned rank = __popc(same & ((1u << lane) - 1));
        if (lane < 16)
            warps[warp][lane] = 0;
        __syncthreads();
        if (rank == 0)
            warps[warp][digit] = __popc(same);
        __syncthreads();
        if (t < 16) {
            unsigned before = base[t];
            for (int w = 0; w < 8; w++) {
                unsigned count = warps[w][t];
                warps[w][t] = before;
                before += count;
            }
            base[t] = before;
        }
        __syncthreads();
        out[warps[warp][digit] + rank] = v;
        __syncthreads();
    }
}

// A seven-point stencil on a cube, in three-dimensional blocks.
__global__ void stencil(int n, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1)
        return;
    int i = (z * n + y) * n + x;
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
}

#include "sha256.h"
__constant__ unsigned rounds[64] = SHA_ROUNDS;

// The digest of one block of 64 bytes per thread (no padding).
__global__ void sha256(int n, const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned w[16], h[8];
    for (int k = 0; k < 16; k++)
        w[k] = in[k * n + i];
    SHA_BLOCK(w, h, rounds)
    for (int k = 0; k < 8; k++)
        out[k * n + i] = h[k];
}

// Products of bytes, four per word: c = a * b, with words of a along a row and of b along a column.
__global__ void bytes(int n, const unsigned *a, const unsigned *b, int *c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int sum = 0;
    for (int k = 0; k < n / 4; k++)
        sum = __dp4a((int)a[y * (n / 4) + k], (int)b[k * n + x], sum);
    c[y * n + x] = sum;
}

// Factors a matrix into lower and upper triangles, in place and column by column.
__global__ void lu_begin(int n, const float *in, double *a)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    a[y * n + x] = in[y * n + x] + (x == y ? n : 0);
}

__global__ void lu_scale(int n, int k, double *a)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x + k + 1;
    if (y < n)
        a[y * n + k] /= a[k * n + k];
}

__global__ void lu_update(int n, int k, double *a)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + k + 1, y = blockIdx.y * blockDim.y + threadIdx.y + k + 1;
    if (x < n && y < n)
        a[y * n + x] -= a[y * n + k] * a[k * n + x];
}
