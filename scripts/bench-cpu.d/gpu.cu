// The cases of scripts/bench-cpu on a GPU, at full size, for scripts/sanitizer-cost: milliseconds of a launch with a wait after it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "kernels.cu"

static float *a, *b, *s;

static unsigned blocks(size_t n) { return unsigned((n + 255) / 256); }

static void saxpy_case() { saxpy<<<blocks(32 << 20), 256>>>(32 << 20, 0.5f, a, b); }
static void reduce_case() { reduce<<<512, 256>>>(64 << 20, a, s); }
static void matmul_case() { matmul<<<dim3(32, 32), dim3(32, 32)>>>(1024, a, a + (1 << 20), b); }
static void nbody_case() { nbody<<<32, 256>>>(8192, (float4 *)a, (float4 *)b); }

static void black_scholes_case()
{
    int n = 4 << 20;
    black_scholes<<<blocks(n), 256>>>(n, a, a + n, a + 2 * n, b, b + n);
}

static void histogram_case() { histogram<<<512, 256>>>(16 << 20, (unsigned *)a, (unsigned *)s); }

static void scan_case()
{
    int n = 16 << 20, m = n / 256, k = m / 256;
    int *first = (int *)s, *second = first + m, *third = second + k;
    scan<<<m, 256>>>(n, (int *)a, (int *)b, first);
    scan<<<k, 256>>>(m, first, first, second);
    scan<<<1, 256>>>(k, second, second, third);
    scan_add<<<k, 256>>>(m, first, second);
    scan_add<<<m, 256>>>(n, (int *)b, first);
}

static void convolution_case() { convolution<<<dim3(128, 512), dim3(32, 8)>>>(4096, 4096, a, b); }

static const struct { const char *name; void (*run)(); } CASES[] = {
    {"saxpy", saxpy_case}, {"reduce", reduce_case}, {"matmul", matmul_case}, {"nbody", nbody_case},
    {"black_scholes", black_scholes_case}, {"histogram", histogram_case}, {"scan", scan_case}, {"convolution", convolution_case},
};

static void need(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        exit(1);
    }
}

int main(int count, char **names)
{
    size_t bytes = size_t(256) << 20;
    need(cudaMalloc(&a, bytes), "cudaMalloc");
    need(cudaMalloc(&b, bytes), "cudaMalloc");
    need(cudaMalloc(&s, 1 << 20), "cudaMalloc");
    need(cudaMemset(a, 0x3c, bytes), "cudaMemset");
    need(cudaMemset(b, 0, bytes), "cudaMemset");
    need(cudaMemset(s, 0, 1 << 20), "cudaMemset");
    for (auto &one : CASES) {
        bool wanted = count < 2;
        for (int i = 1; i < count; i++)
            wanted |= !strcmp(names[i], one.name);
        if (!wanted)
            continue;
        // The first launch loads the code. Then the minimum over half a second, of three launches at least.
        double least = 1e30, all = 0;
        for (int round = 0; round < 4 || (all < 500 && round < 200); round++) {
            auto from = std::chrono::steady_clock::now();
            one.run();
            need(cudaDeviceSynchronize(), one.name);
            double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
            if (round > 0 && took < least)
                least = took;
            all += took;
        }
        printf("%s %.4f\n", one.name, least);
        fflush(stdout);
    }
    return 0;
}
