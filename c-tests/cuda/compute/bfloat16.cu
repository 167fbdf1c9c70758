// bfloat16: conversions, arithmetic on single and packed values, sums kept in float.
#include <vector>
#include <cuda_bf16.h>
#include "arrays.h"

__global__ void convert(const float *in, unsigned short *bits, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        bits[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
        bits[n + i] = __bfloat16_as_ushort(__float2bfloat16_rz(in[i]));
    }
}

__global__ void axpy(__nv_bfloat162 a, const __nv_bfloat162 *x, __nv_bfloat162 *y, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs)
        y[i] = __hfma2(a, x[i], y[i]);
}

__global__ void mean_square(const __nv_bfloat16 *v, int n, float *out)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float f = __bfloat162float(v[i]);
        sum += f * f;
    }
    for (int delta = 16; delta; delta /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, delta);
    if (threadIdx.x == 0)
        *out = sum / (float)n;
}

__global__ void extremes(const __nv_bfloat16 *v, __nv_bfloat16 *out)
{
    __nv_bfloat16 most = v[0], least = v[0];
    for (int i = 1; i < 64; i++) {
        most = __hmax(most, v[i]);
        least = __hmin(least, v[i]);
    }
    out[0] = most;
    out[1] = least;
}

int main()
{
    const float in[] = {1, 1.00390625f, 1.01171875f, 3.14159274f, 1e38f, 3.4e38f, -0.1f, 1e-40f, 257, 255.5f};
    const int n = sizeof in / sizeof *in, m = 512;
    unsigned short bits[2 * n];
    float *d_in = upload(in, n);
    unsigned short *d_bits = zeros<unsigned short>(2 * n);
    NEED(cudaGetLastError());
    convert<<<1, 32>>>(d_in, d_bits, n);
    LAUNCHED("convert");
    download(bits, d_bits, 2 * n);
    for (int i = 0; i < 2 * n; i++)
        printf("%04x%c", bits[i], i % n == n - 1 ? '\n' : ' ');

    std::vector<__nv_bfloat16> x(m), y(m), out(m);
    for (int i = 0; i < m; i++) {
        x[i] = __float2bfloat16((float)(i % 16) - 8);
        y[i] = __float2bfloat16((float)(i % 5));
    }
    __nv_bfloat16 *d_x = upload(x.data(), m), *d_y = upload(y.data(), m);
    axpy<<<2, 128>>>(__float2bfloat162_rn(2.0f), (__nv_bfloat162 *)d_x, (__nv_bfloat162 *)d_y, m / 2);
    LAUNCHED("axpy");
    download(out.data(), d_y, m);
    bool right = true;
    double squares = 0;
    for (int i = 0; i < m; i++) {
        float want = 2 * ((float)(i % 16) - 8) + (float)(i % 5);
        right = right && __bfloat162float(out[i]) == want;
        squares += want * want;
    }
    expect(right, "axpy");
    float mean = 0, *d_mean = zeros<float>(1);
    mean_square<<<1, 32>>>(d_y, m, d_mean);
    LAUNCHED("mean_square");
    download(&mean, d_mean, 1);
    expect(mean == (float)(squares / m), "mean of squares");
    __nv_bfloat16 ends[2], *d_ends = zeros<__nv_bfloat16>(2);
    extremes<<<1, 1>>>(d_y, d_ends);
    LAUNCHED("extremes");
    download(ends, d_ends, 2);
    printf("from %g to %g\n", __bfloat162float(ends[1]), __bfloat162float(ends[0]));
    return finish();
}
