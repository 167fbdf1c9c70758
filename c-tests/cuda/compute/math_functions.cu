// CUDA's mathematical functions compared with the host's: in float, in double, the
// fast ones within the bounds of the manual, and the exact results at edge cases.
#include <vector>
#include "arrays.h"

typedef float (*Float)(float);
typedef double (*Double)(double);

#define FUNCTIONS(F)                                                                                                   \
    F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) \
    F(log1p) F(sqrt) F(cbrt) F(erf) F(erfc) F(tgamma) F(lgamma) F(floor) F(ceil) F(trunc) F(rint) F(round)
#define NAME(f) #f,
static const char *names[] = {FUNCTIONS(NAME)};
const int COUNT = sizeof names / sizeof *names, N = 96;

#define IN_FLOAT(g) out[k++ * n + i] = g##f(x);
#define IN_DOUBLE(g) out[k++ * n + i] = g((double)x);
__global__ void floats(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i < n) {
        float x = in[i];
        FUNCTIONS(IN_FLOAT)
    }
}
__global__ void doubles(const float *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i < n) {
        float x = in[i];
        FUNCTIONS(IN_DOUBLE)
    }
}
__global__ void fast(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i];
        out[i] = __sinf(x);
        out[n + i] = __cosf(x);
        out[2 * n + i] = __expf(x);
        out[3 * n + i] = __logf(fabsf(x) + 0.5f);
        out[4 * n + i] = __powf(fabsf(x) + 0.5f, 1.5f);
        out[5 * n + i] = __fdividef(x, 3.0f);
        out[6 * n + i] = rsqrtf(fabsf(x) + 0.5f);
        out[7 * n + i] = powf(fabsf(x), x);
        out[8 * n + i] = atan2f(x, 1 - x);
        out[9 * n + i] = hypotf(x, 3);
    }
}
__global__ void edges(double *out)
{
    int exponent = 0;
    double whole = 0;
    out[0] = frexp(40.0, &exponent) * 1000 + exponent;
    out[1] = modf(-3.25, &whole) + whole * 1000;
    out[2] = ldexp(0.75, 5);
    out[3] = copysign(3.0, -0.0);
    out[4] = fmin((double)NAN, 2.0) + fmax((double)NAN, 3.0);
    out[5] = (double)isnan(sqrt(-1.0)) + 2 * isinf(exp(1000.0)) + 4 * signbit(-0.0);
    out[6] = remainder(7.5, 2.0);
    out[7] = nextafter(1.0, 2.0) - 1 == 2.220446049250313e-16;
    out[8] = (double)lrintf(2.5f) + 10 * (double)lroundf(2.5f) + 100 * (double)__float2int_rz(-2.9f);
    out[9] = (double)__float2int_rn(1e20f) + (double)__float2uint_rn(-5.0f);
    out[10] = pow(0.0, 0.0) + pow(-2.0, 3.0) + log(1.0) + ilogb(1000.0) + logb(1000.0);
    out[11] = fma(1e16, 1e-16, -1.0) == 0 ? 0 : 1;
}

#define HOST(f) (Double)::f,
static const Double host[] = {FUNCTIONS(HOST)};

// Where the host's function returns NaN, the device's must, too.
static bool agree(double got, double want, double share)
{
    if (want != want)
        return got != got;
    if (std::isinf(want))
        return got == want;
    return fabs(got - want) <= share * fmax(fabs(want), 1e-3);
}

int main()
{
    std::vector<float> in(N), out(COUNT * N), quick(10 * N);
    std::vector<double> wide(COUNT * N);
    for (int i = 0; i < N; i++)
        in[i] = (float)(i - 47) * 0.21875f;
    float *d_in = upload(in.data(), N), *d_out = zeros<float>(COUNT * N), *d_quick = zeros<float>(10 * N);
    double *d_wide = zeros<double>(COUNT * N), *d_edges = zeros<double>(12);
    NEED(cudaGetLastError());
    floats<<<3, 32>>>(d_in, d_out, N);
    LAUNCHED("floats");
    doubles<<<3, 32>>>(d_in, d_wide, N);
    LAUNCHED("doubles");
    fast<<<3, 32>>>(d_in, d_quick, N);
    LAUNCHED("fast");
    download(out.data(), d_out, out.size());
    download(wide.data(), d_wide, wide.size());
    download(quick.data(), d_quick, quick.size());
    for (int k = 0; k < COUNT; k++) {
        bool single = true, twice = true;
        for (int i = 0; i < N; i++) {
            double want = host[k]((double)in[i]);
            // tgamma is steep, and lgamma loses digits near its zeros.
            single = single && (fabs(want) > 3e38 || agree(out[k * N + i], want, 2e-6));
            twice = twice && agree(wide[k * N + i], want, 1e-13);
        }
        printf("%s %s %s\n", names[k], single ? "ok" : "wrong", twice ? "ok" : "wrong");
        wrong_results += !single + !twice;
    }
    bool right[10] = {true, true, true, true, true, true, true, true, true, true};
    for (int i = 0; i < N; i++) {
        double x = in[i], y = fabs(x) + 0.5;
        double want[] = {sin(x), cos(x), exp(x), log(y), pow(y, 1.5), x / 3, 1 / sqrt(y), pow(fabs(x), x), atan2(x, 1 - x), hypot(x, 3)};
        for (int k = 0; k < 10; k++)
            right[k] = right[k] && fabs(quick[k * N + i] - want[k]) <= (k < 2 ? 2e-5 : 1e-5 * fmax(fabs(want[k]), 0.1));
    }
    for (int k = 0; k < 10; k++)
        printf("%s%c", right[k] ? "ok" : "wrong", k == 9 ? '\n' : ' ');
    double edge[12];
    edges<<<1, 1>>>(d_edges);
    LAUNCHED("edges");
    download(edge, d_edges, 12);
    for (double e : edge)
        printf("%g ", e);
    printf("\n");
    return finish();
}
