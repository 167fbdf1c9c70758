// Conway's game of life on a torus: cells in shared memory with a halo, and 32
// cells per word with neighbours counted in parallel by bit operations.
#include <vector>
#include "arrays.h"

const int W = 128, H = 96, STEPS = 40;

__global__ void step(const unsigned char *from, unsigned char *to)
{
    __shared__ unsigned char tile[18][18];
    int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        int x = (x0 + i % 18 - 1 + W) % W, y = (y0 + i / 18 - 1 + H) % H;
        tile[i / 18][i % 18] = from[y * W + x];
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1, n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            n += (dx || dy) ? tile[y + dy][x + dx] : 0;
    to[(y0 + y - 1) * W + x0 + x - 1] = n == 3 || (n == 2 && tile[y][x]);
}

// One word holds 32 cells of a row; bit planes hold the neighbour counts.
__global__ void step_bits(const unsigned *from, unsigned *to)
{
    int x = threadIdx.x, y = blockIdx.x, words = W / 32;
    unsigned one = 0, two = 0, four = 0, self = from[y * words + x];
    for (int dy = -1; dy <= 1; dy++) {
        const unsigned *row = from + (y + dy + H) % H * words;
        unsigned m = row[x], left = __funnelshift_l(row[(x + words - 1) % words], m, 1);
        unsigned right = __funnelshift_r(m, row[(x + 1) % words], 1);
        unsigned add[3] = {left, right, dy ? m : 0};
        for (unsigned a : add) {
            unsigned carry = one & a;
            one ^= a;
            unsigned carry2 = two & carry;
            two ^= carry;
            four |= carry2;
        }
    }
    to[y * words + x] = two & ~four & (one | self);
}

int main()
{
    std::vector<unsigned char> cells(W * H), now, next(W * H);
    Numbers numbers(3);
    for (auto &c : cells)
        c = numbers.below(3) == 0;
    now = cells;
    for (int s = 0; s < STEPS; s++) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int n = 0;
                for (int k = 0; k < 9; k++)
                    n += k == 4 ? 0 : now[(y + k / 3 - 1 + H) % H * W + (x + k % 3 - 1 + W) % W];
                next[y * W + x] = n == 3 || (n == 2 && now[y * W + x]);
            }
        now.swap(next);
    }
    unsigned char *a = upload(cells.data(), cells.size()), *b = zeros<unsigned char>(W * H);
    std::vector<unsigned> bits(W / 32 * H, 0);
    for (int i = 0; i < W * H; i++)
        bits[i / 32] |= (unsigned)cells[i] << i % 32;
    unsigned *p = upload(bits.data(), bits.size()), *q = zeros<unsigned>(bits.size());
    NEED(cudaGetLastError());
    for (int s = 0; s < STEPS; s++) {
        step<<<dim3(W / 16, H / 16), dim3(16, 16)>>>(s % 2 ? b : a, s % 2 ? a : b);
        step_bits<<<H, W / 32>>>(s % 2 ? q : p, s % 2 ? p : q);
    }
    LAUNCHED("steps");
    std::vector<unsigned char> result(W * H);
    download(result.data(), a, result.size());
    download(bits.data(), p, bits.size());
    expect(result == now, "cells");
    bool right = true;
    int alive = 0;
    for (int i = 0; i < W * H; i++) {
        right = right && (bits[i / 32] >> i % 32 & 1) == now[i];
        alive += now[i];
    }
    expect(right, "bits");
    printf("%d alive after %d steps\n", alive, STEPS);
    return finish();
}
