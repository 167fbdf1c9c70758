// Heat in a plate: all steps in one cooperative launch with grid barriers,
// compared with one launch per step; and the largest change, found by the grid.
#include <vector>
#include <cooperative_groups.h>
#include "arrays.h"

namespace cg = cooperative_groups;
const int W = 40, H = 30;

__device__ float relaxed(const float *from, int x, int y)
{
    return 0.25f * (from[y * W + x - 1] + from[y * W + x + 1] + from[(y - 1) * W + x] + from[(y + 1) * W + x]);
}

__global__ void step(const float *from, float *to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y + 1;
    if (x < W - 1)
        to[y * W + x] = relaxed(from, x, y);
}

__global__ void together(float *a, float *b, int steps, int *change)
{
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; s++) {
        for (int i = (int)grid.thread_rank(); i < (W - 2) * (H - 2); i += (int)grid.size()) {
            int x = i % (W - 2) + 1, y = i / (W - 2) + 1;
            b[y * W + x] = relaxed(a, x, y);
            if (s == steps - 1)
                atomicMax(change, __float_as_int(fabsf(b[y * W + x] - a[y * W + x])));
        }
        grid.sync();
        float *swap = a;
        a = b;
        b = swap;
    }
}

int main()
{
    const int steps = 60;
    std::vector<float> plate(W * H, 0.0f), one(W * H), other(W * H), host, next;
    for (int x = 0; x < W; x++)
        plate[x] = 100;
    for (int y = 0; y < H; y++)
        plate[y * W] = (float)y;
    host = next = plate;
    float last = 0;
    for (int s = 0; s < steps; s++) {
        last = 0;
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++) {
                next[y * W + x] = 0.25f * (host[y * W + x - 1] + host[y * W + x + 1] + host[(y - 1) * W + x] + host[(y + 1) * W + x]);
                last = fmaxf(last, fabsf(next[y * W + x] - host[y * W + x]));
            }
        host.swap(next);
    }
    float *a = upload(plate.data(), W * H), *b = upload(plate.data(), W * H);
    float *c = upload(plate.data(), W * H), *d = upload(plate.data(), W * H);
    int *d_change = zeros<int>(1), bits = 0, count = steps;
    NEED(cudaGetLastError());
    for (int s = 0; s < steps; s++)
        step<<<dim3(2, H - 2), 32>>>(s % 2 ? b : a, s % 2 ? a : b);
    LAUNCHED("steps");
    void *args[] = {&c, &d, &count, &d_change};
    CK(cudaLaunchCooperativeKernel((void *)together, dim3(6), dim3(64), args, 0, nullptr));
    download(one.data(), a, W * H);
    download(other.data(), c, W * H);
    download(&bits, d_change, 1);
    float change;
    memcpy(&change, &bits, sizeof change);
    expect(one == host, "step by step");
    expect(other == host, "all steps at once");
    expect(change == last, "largest change");
    printf("%.3f %.3f\n", host[W + 1], host[15 * W + 20]);
    return finish();
}
