// Division: of integers by variables and by constants, of floats in every rounding,
// square roots, remainders, and edge cases of quotients.
#include <climits>
#include "arrays.h"

const int N = 10;

__global__ void integers(const int *v, int *out)
{
    int a = v[blockIdx.x], b = v[threadIdx.x];
    int *o = out + (blockIdx.x * N + threadIdx.x) * 8;
    int d = b == 0 || (b == -1 && a == INT_MIN) ? 3 : b;
    o[0] = a / d;
    o[1] = a % d;
    o[2] = (int)((unsigned)a / (unsigned)d);
    o[3] = (int)((unsigned)a % (unsigned)d);
    o[4] = a / 7;
    o[5] = a % 10;
    o[6] = (int)((unsigned)a / 641u);
    o[7] = (int)(short)a / ((int)(short)d | 1) + (int)(signed char)a % ((int)(signed char)d | 1);
}

__global__ void rounded(const float *v, unsigned *out)
{
    float a = v[blockIdx.x], b = v[threadIdx.x];
    unsigned *o = out + (blockIdx.x * N + threadIdx.x) * 6;
    o[0] = __float_as_uint(__fdiv_rn(a, b));
    o[1] = __float_as_uint(__fdiv_rz(a, b));
    o[2] = __float_as_uint(__fdiv_rd(a, b));
    o[3] = __float_as_uint(__fdiv_ru(a, b));
    o[4] = __float_as_uint(__fsqrt_rn(fabsf(a)));
    o[5] = __float_as_uint(fmodf(a, b));
}

__global__ void in_double(const double *v, unsigned long long *out)
{
    double a = v[blockIdx.x], b = v[threadIdx.x];
    unsigned long long *o = out + (blockIdx.x * N + threadIdx.x) * 4;
    o[0] = __double_as_longlong(a / b);
    o[1] = __double_as_longlong(__drcp_rn(b));
    o[2] = __double_as_longlong(__dsqrt_rn(fabs(a)));
    o[3] = __double_as_longlong(fmod(a, b));
}

template <typename F, typename U> static bool same(F want, U bits)
{
    F got;
    static_assert(sizeof got == sizeof bits, "sizes");
    memcpy(&got, &bits, sizeof got);
    return (want != want && got != got) || memcmp(&want, &got, sizeof got) == 0;
}

int main()
{
    const int v[N] = {0, 1, -1, 7, -7, 1000003, -65536, INT_MAX, INT_MIN, 12345};
    static int out[N * N * 8];
    int *d_v = upload(v, N), *d_out = zeros<int>(N * N * 8);
    NEED(cudaGetLastError());
    integers<<<N, N>>>(d_v, d_out);
    LAUNCHED("integers");
    download(out, d_out, N * N * 8);
    bool right = true;
    unsigned sum = 0;
    for (int i = 0; i < N * N; i++) {
        int a = v[i / N], b = v[i % N], d = b == 0 || (b == -1 && a == INT_MIN) ? 3 : b;
        int want[] = {a / d, a % d, (int)((unsigned)a / (unsigned)d), (int)((unsigned)a % (unsigned)d), a / 7, a % 10,
                      (int)((unsigned)a / 641u),
                      (int)(short)a / ((int)(short)d | 1) + (int)(signed char)a % ((int)(signed char)d | 1)};
        for (int k = 0; k < 8; k++) {
            right = right && want[k] == out[i * 8 + k];
            sum = sum * 31 + (unsigned)out[i * 8 + k];
        }
    }
    expect(right, "integers");
    printf("%08x\n", sum);

    const float f[N] = {1, 3, -7, 1e-40f, 3e38f, 0, -0.0f, INFINITY, 0.1f, 16777216};
    static unsigned bits[N * N * 6];
    float *d_f = upload(f, N);
    unsigned *d_bits = zeros<unsigned>(N * N * 6);
    rounded<<<N, N>>>(d_f, d_bits);
    LAUNCHED("rounded");
    download(bits, d_bits, N * N * 6);
    bool quotients = true, order = true, roots = true, rest = true;
    for (int i = 0; i < N * N; i++) {
        volatile float a = f[i / N], b = f[i % N];
        unsigned *o = bits + i * 6;
        quotients = quotients && same(a / b, o[0]);
        float down, up, zero;
        memcpy(&zero, o + 1, 4);
        memcpy(&down, o + 2, 4);
        memcpy(&up, o + 3, 4);
        if (a / b == a / b)
            order = order && down <= a / b && a / b <= up && (same(down, o[1]) || same(up, o[1])) && fabsf(zero) <= fabsf(a / b);
        roots = roots && same(sqrtf(fabsf(a)), o[4]);
        rest = rest && same(fmodf(a, b), o[5]);
    }
    expect(quotients, "float quotients");
    expect(order, "directed roundings");
    expect(roots, "float roots");
    expect(rest, "float remainders");
    printf("%08x %08x %08x %08x\n", bits[6], bits[7], bits[8], bits[9]);

    const double e[N] = {1, 3, -7, 5e-324, 1.7e308, 0, -0.0, INFINITY, 0.1, 9007199254740993.0};
    static unsigned long long wide[N * N * 4];
    double *d_e = upload(e, N);
    unsigned long long *d_wide = zeros<unsigned long long>(N * N * 4);
    in_double<<<N, N>>>(d_e, d_wide);
    LAUNCHED("in_double");
    download(wide, d_wide, N * N * 4);
    right = true;
    for (int i = 0; i < N * N; i++) {
        volatile double a = e[i / N], b = e[i % N], one = 1;
        unsigned long long *o = wide + i * 4;
        right = right && same(a / b, o[0]) && same(one / b, o[1]) && same(sqrt(fabs(a)), o[2]) && same(fmod(a, b), o[3]);
    }
    expect(right, "double");
    return finish();
}
