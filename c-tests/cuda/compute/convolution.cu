// Image filters: a two-dimensional one from constant memory, and a
// separable one as rows and columns with a halo in shared memory.
#include <vector>
#include "arrays.h"

const int W = 150, H = 101, R = 3;
__constant__ int filter[(2 * R + 1) * (2 * R + 1)];
__constant__ int weights[2 * R + 1];

__host__ __device__ int clamp(int v, int most) { return v < 0 ? 0 : v > most ? most : v; }

__global__ void filtered(const int *in, int *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int sum = 0;
#pragma unroll
    for (int dy = -R; dy <= R; dy++)
#pragma unroll
        for (int dx = -R; dx <= R; dx++)
            sum += in[clamp(y + dy, h - 1) * w + clamp(x + dx, w - 1)] * filter[(dy + R) * (2 * R + 1) + dx + R];
    out[y * w + x] = sum;
}

__global__ void rows(const int *in, int *out, int w)
{
    extern __shared__ int line[];
    int x0 = blockIdx.x * blockDim.x, y = blockIdx.y;
    for (int i = threadIdx.x; i < blockDim.x + 2 * R; i += blockDim.x)
        line[i] = in[y * w + clamp(x0 + i - R, w - 1)];
    __syncthreads();
    int x = x0 + threadIdx.x, sum = 0;
    for (int k = 0; k <= 2 * R; k++)
        sum += line[threadIdx.x + k] * weights[k];
    if (x < w)
        out[y * w + x] = sum;
}

template <int HEIGHT> __global__ void columns(const int *in, int *out, int w, int h)
{
    __shared__ int tile[HEIGHT + 2 * R][32];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * HEIGHT;
    for (int i = threadIdx.y; i < HEIGHT + 2 * R; i += blockDim.y)
        tile[i][threadIdx.x] = x < w ? in[clamp(y0 + i - R, h - 1) * w + x] : 0;
    __syncthreads();
    for (int i = threadIdx.y; i < HEIGHT && y0 + i < h; i += blockDim.y) {
        int sum = 0;
        for (int k = 0; k <= 2 * R; k++)
            sum += tile[i + k][threadIdx.x] * weights[k];
        if (x < w)
            out[(y0 + i) * w + x] = sum;
    }
}

int main()
{
    std::vector<int> image(W * H), out(W * H), expected(W * H);
    int w[] = {1, 6, 15, 20, 15, 6, 1}, f[49];
    Numbers numbers(6);
    for (int &p : image)
        p = (int)numbers.below(256);
    for (int i = 0; i < 49; i++)
        f[i] = w[i / 7] * w[i % 7];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int sum = 0;
            for (int i = 0; i < 49; i++)
                sum += f[i] * image[clamp(y + i / 7 - R, H - 1) * W + clamp(x + i % 7 - R, W - 1)];
            expected[y * W + x] = sum;
        }
    int *in = upload(image.data(), W * H), *middle = zeros<int>(W * H), *result = zeros<int>(W * H);
    NEED(cudaGetLastError());
    CK(cudaMemcpyToSymbol(filter, f, sizeof f));
    CK(cudaMemcpyToSymbol(weights, w, sizeof w));
    filtered<<<dim3((W + 15) / 16, (H + 7) / 8), dim3(16, 8)>>>(in, result, W, H);
    LAUNCHED("filtered");
    download(out.data(), result, W * H);
    expect(out == expected, "in two dimensions");
    CK(cudaMemset(result, 0, W * H * sizeof(int)));
    rows<<<dim3((W + 63) / 64, H), 64, (64 + 2 * R) * sizeof(int)>>>(in, middle, W);
    LAUNCHED("rows");
    columns<16><<<dim3((W + 31) / 32, (H + 15) / 16), dim3(32, 4)>>>(middle, result, W, H);
    LAUNCHED("columns");
    download(out.data(), result, W * H);
    expect(out == expected, "rows and columns");
    printf("%d %d\n", out[0], out[W * H / 2]);
    return finish();
}
