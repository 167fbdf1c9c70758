// A seven-point stencil in a volume: planes stay in registers while z advances;
// integers, so that the result is exact.
#include "../common.h"

const int N = 32;

__global__ void step(const int *from, int *to)
{
    __shared__ int plane[10][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [=](int x, int y, int z) {
        return from[((z + N) % N * N + (y + N) % N) * N + (x + N) % N];
    };
    int below = at(x, y, -1), here = at(x, y, 0), above;
    for (int z = 0; z < N; z++) {
        above = at(x, y, z + 1);
        plane[ty][tx] = here;
        if (threadIdx.x == 0)
            plane[ty][0] = at(x - 1, y, z);
        if (threadIdx.x == 15)
            plane[ty][17] = at(x + 1, y, z);
        if (threadIdx.y == 0)
            plane[0][tx] = at(x, y - 1, z);
        if (threadIdx.y == 7)
            plane[9][tx] = at(x, y + 1, z);
        __syncthreads();
        to[(z * N + y) * N + x] = (2 * here + below + above + plane[ty][tx - 1] + plane[ty][tx + 1] +
                                   plane[ty - 1][tx] + plane[ty + 1][tx]) / 8;
        __syncthreads();
        below = here;
        here = above;
    }
}

int main()
{
    static int a[N * N * N], b[N * N * N], result[N * N * N];
    for (int i = 0; i < N * N * N; i++)
        a[i] = (i * 40503 >> 4) % 1000;
    int *d[2] = {};
    NEED(cudaMalloc(&d[0], sizeof a));
    NEED(cudaMalloc(&d[1], sizeof a));
    CK(cudaMemcpy(d[0], a, sizeof a, cudaMemcpyHostToDevice));
    for (int s = 0; s < 4; s++) {
        step<<<dim3(N / 16, N / 8), dim3(16, 8)>>>(d[s % 2], d[1 - s % 2]);
        for (int z = 0; z < N; z++)
            for (int y = 0; y < N; y++)
                for (int x = 0; x < N; x++) {
                    auto at = [&](int x, int y, int z) { return a[((z + N) % N * N + (y + N) % N) * N + (x + N) % N]; };
                    b[(z * N + y) * N + x] = (2 * at(x, y, z) + at(x, y, z - 1) + at(x, y, z + 1) + at(x - 1, y, z) +
                                              at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z)) / 8;
                }
        memcpy(a, b, sizeof a);
    }
    LAUNCHED("step");
    CK(cudaMemcpy(result, d[0], sizeof a, cudaMemcpyDeviceToHost));
    expect(memcmp(result, a, sizeof a) == 0, "every cell");
    return finish();
}
