// Bitonic sort: short distances in shared memory, long ones through global memory;
// floats, including negative ones, zeros and infinities.
#include <cmath>
#include "../common.h"

const int BLOCK = 256;

__device__ void order(float &a, float &b, bool up)
{
    if ((a > b) == up) {
        float old = a;
        a = b;
        b = old;
    }
}

__global__ void far(float *v, int size, int stride)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (stride - 1));
    order(v[i], v[i + stride], (i & size) == 0);
}

__global__ void near(float *v, int first, int last)
{
    __shared__ float tile[2 * BLOCK];
    int base = blockIdx.x * 2 * BLOCK, t = threadIdx.x;
    tile[t] = v[base + t];
    tile[t + BLOCK] = v[base + t + BLOCK];
    for (int size = first; size <= last; size *= 2)
        for (int stride = min(size / 2, BLOCK); stride > 0; stride /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (stride - 1));
            order(tile[i], tile[i + stride], ((base + i) & size) == 0);
        }
    __syncthreads();
    v[base + t] = tile[t];
    v[base + t + BLOCK] = tile[t + BLOCK];
}

int main()
{
    const int n = 4096;
    static float h[n];
    double before = 0, after = 0;
    unsigned seed = 12345;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        h[i] = ((int)(seed >> 8) % 100000 - 50000) / 16.0f;
        before += h[i];
    }
    h[7] = INFINITY;
    h[8] = -INFINITY;
    h[9] = 0.0f;
    before = 0;
    for (int i = 0; i < n; i++)
        before += std::isinf(h[i]) ? 0 : h[i];
    float *d = nullptr;
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    near<<<n / 2 / BLOCK, BLOCK>>>(d, 2, 2 * BLOCK);
    for (int size = 4 * BLOCK; size <= n; size *= 2) {
        for (int stride = size / 2; stride > BLOCK; stride /= 2)
            far<<<n / 2 / BLOCK, BLOCK>>>(d, size, stride);
        near<<<n / 2 / BLOCK, BLOCK>>>(d, size, size);
    }
    LAUNCHED("sort");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    bool sorted = true;
    for (int i = 0; i < n; i++) {
        sorted = sorted && (i == 0 || h[i - 1] <= h[i]);
        after += std::isinf(h[i]) ? 0 : h[i];
    }
    expect(sorted, "sorted");
    expect(before == after, "nothing lost");
    printf("%g %g\n", h[0], h[n - 1]);
    return finish();
}
