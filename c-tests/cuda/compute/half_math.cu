// Half precision: conversions and their rounding, arithmetic on single and packed values,
// comparisons, sums in half and in float, NaNs and infinities.
#include <vector>
#include <cuda_fp16.h>
#include "arrays.h"

__global__ void convert(const float *in, unsigned short *bits, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        bits[i] = __half_as_ushort(__float2half_rn(in[i]));
        bits[n + i] = __half_as_ushort(__float2half_rz(in[i]));
        bits[2 * n + i] = __half_as_ushort(__float2half_rd(in[i]));
        bits[3 * n + i] = __half_as_ushort(__float2half_ru(in[i]));
    }
}

__global__ void arithmetic(const __half *a, const __half *b, __half *out, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = __hadd(a[i], b[i]);
        out[n + i] = __hmul(a[i], b[i]);
        out[2 * n + i] = __hfma(a[i], b[i], a[i]);
        out[3 * n + i] = __hsub(b[i], a[i]);
        out[4 * n + i] = __hneg(__habs(a[i]));
    }
}

__global__ void dot(const __half2 *a, const __half2 *b, float *out, int pairs)
{
    float sum = 0;
    __half2 packed = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < pairs; i += 32) {
        packed = __hfma2(a[i], b[i], packed);
        float2 x = __half22float2(a[i]), y = __half22float2(b[i]);
        sum += x.x * y.x + x.y * y.y;
    }
    float low = __low2float(packed) + __high2float(packed);
    for (int delta = 16; delta; delta /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, delta);
        low += __shfl_down_sync(0xffffffffu, low, delta);
    }
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = low;
    }
}

__global__ void compare(const __half *v, int n, unsigned *out)
{
    int i = threadIdx.x;
    __half one = __float2half(1.0f);
    bool less = i < n && __hlt(v[i], one), same = i < n && __heq(v[i], v[i]), strange = i < n && __hisnan(v[i]);
    unsigned a = __ballot_sync(0xffffffffu, less), b = __ballot_sync(0xffffffffu, same);
    unsigned c = __ballot_sync(0xffffffffu, strange);
    if (i == 0) {
        out[0] = a;
        out[1] = b;
        out[2] = c;
    }
}

int main()
{
    const float in[] = {1, 0.1f, 65504, 65519, 65520, 1e-8f, 6e-8f, -2.5f, 0.333333343f, 2049, 2051, -0.0f};
    const int n = sizeof in / sizeof *in;
    unsigned short bits[4 * n];
    float *d_in = upload(in, n);
    unsigned short *d_bits = zeros<unsigned short>(4 * n);
    NEED(cudaGetLastError());
    convert<<<1, 32>>>(d_in, d_bits, n);
    LAUNCHED("convert");
    download(bits, d_bits, 4 * n);
    for (int mode = 0; mode < 4; mode++) {
        for (int i = 0; i < n; i++)
            printf("%04x ", bits[mode * n + i]);
        printf("\n");
    }

    const int m = 32;
    __half a[m], b[m], out[5 * m];
    for (int i = 0; i < m; i++) {
        a[i] = __float2half((float)i * 0.25f - 3);
        b[i] = __float2half((float)(i % 7) * 0.5f);
    }
    __half *d_a = upload(a, m), *d_b = upload(b, m), *d_out = zeros<__half>(5 * m);
    arithmetic<<<1, 32>>>(d_a, d_b, d_out, m);
    LAUNCHED("arithmetic");
    download(out, d_out, 5 * m);
    bool right = true;
    for (int i = 0; i < m; i++) {
        // All these values are exact in half.
        float x = __half2float(a[i]), y = __half2float(b[i]);
        float want[] = {x + y, x * y, x * y + x, y - x, -fabsf(x)};
        for (int k = 0; k < 5; k++)
            right = right && __half2float(out[k * m + i]) == want[k];
    }
    expect(right, "arithmetic");

    const int pairs = 256;
    std::vector<__half> x(2 * pairs), y(2 * pairs);
    float exact = 0, sums[2] = {};
    for (int i = 0; i < 2 * pairs; i++) {
        x[i] = __float2half((float)(i % 5));
        y[i] = __float2half((float)(i % 3));
        exact += (float)(i % 5) * (float)(i % 3);
    }
    __half *d_x = upload(x.data(), x.size()), *d_y = upload(y.data(), y.size());
    float *d_sums = zeros<float>(2);
    dot<<<1, 32>>>((__half2 *)d_x, (__half2 *)d_y, d_sums, pairs);
    LAUNCHED("dot");
    download(sums, d_sums, 2);
    expect(sums[0] == exact && sums[1] == exact, "dot product");
    printf("%g\n", exact);

    __half odd[4] = {__float2half(0.5f), __float2half(2.0f), __float2half(NAN), __float2half(-INFINITY)};
    unsigned votes[3], *d_votes = zeros<unsigned>(3);
    __half *d_odd = upload(odd, 4);
    compare<<<1, 32>>>(d_odd, 4, d_votes);
    LAUNCHED("compare");
    download(votes, d_votes, 3);
    printf("less %x, same %x, no number %x\n", votes[0], votes[1], votes[2]);
    return finish();
}
