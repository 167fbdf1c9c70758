// Heat on a plate: a five-point stencil with a halo in shared memory, many steps,
// compared with the host's results.
#include <cmath>
#include "../common.h"

const int W = 96, H = 64, TILE = 16;

__global__ void step(const float *from, float *to)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, i = y * W + x;
    tile[ty][tx] = from[i];
    if (threadIdx.x == 0)
        tile[ty][0] = x ? from[i - 1] : 0;
    if (threadIdx.x == TILE - 1)
        tile[ty][TILE + 1] = x < W - 1 ? from[i + 1] : 0;
    if (threadIdx.y == 0)
        tile[0][tx] = y ? from[i - W] : 0;
    if (threadIdx.y == TILE - 1)
        tile[TILE + 1][tx] = y < H - 1 ? from[i + W] : 0;
    __syncthreads();
    if (x == 0 || y == 0 || x == W - 1 || y == H - 1)
        to[i] = tile[ty][tx];
    else
        to[i] = tile[ty][tx] + 0.2f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] -
                                       4 * tile[ty][tx]);
}

int main()
{
    const int steps = 20;
    static float a[H * W], b[H * W], result[H * W];
    for (int i = 0; i < H * W; i++)
        a[i] = i % W == 0 ? 100.0f : (i / W) % 7;
    float *d[2] = {};
    NEED(cudaMalloc(&d[0], sizeof a));
    NEED(cudaMalloc(&d[1], sizeof a));
    CK(cudaMemcpy(d[0], a, sizeof a, cudaMemcpyHostToDevice));
    for (int s = 0; s < steps; s++)
        step<<<dim3(W / TILE, H / TILE), dim3(TILE, TILE)>>>(d[s % 2], d[(s + 1) % 2]);
    LAUNCHED("step");
    CK(cudaMemcpy(result, d[steps % 2], sizeof a, cudaMemcpyDeviceToHost));
    for (int s = 0; s < steps; s++) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int i = y * W + x;
                b[i] = x == 0 || y == 0 || x == W - 1 || y == H - 1
                           ? a[i]
                           : a[i] + 0.2f * (a[i - 1] + a[i + 1] + a[i - W] + a[i + W] - 4 * a[i]);
            }
        memcpy(a, b, sizeof a);
    }
    float worst = 0;
    for (int i = 0; i < H * W; i++)
        worst = fmaxf(worst, fabsf(result[i] - a[i]));
    expect(worst < 1e-3f, "as on the host");
    printf("%.2f %.2f\n", result[32 * W], result[32 * W + 1]);
    return finish();
}
