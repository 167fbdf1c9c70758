// Prices of European options by the formula of Black and Scholes, in float with the
// usual polynomial and in double with erfc; put-call parity.
#include <vector>
#include "arrays.h"

__device__ float normal(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1 - tail : tail;
}

__global__ void prices(const float *stock, const float *strike, const float *years, float rate, float volatility,
                       float *call, float *put, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float root = sqrtf(years[i]);
        float d1 = (logf(stock[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        float d2 = d1 - volatility * root, discount = expf(-rate * years[i]);
        call[i] = stock[i] * normal(d1) - strike[i] * discount * normal(d2);
        put[i] = strike[i] * discount * (1 - normal(d2)) - stock[i] * (1 - normal(d1));
    }
}

__host__ __device__ double call_price(double s, double k, double t, double r, double v)
{
    double root = sqrt(t), d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
    return s * 0.5 * erfc(-d1 * 0.70710678118654752) - k * exp(-r * t) * 0.5 * erfc(-d2 * 0.70710678118654752);
}

__global__ void prices_double(const float *stock, const float *strike, const float *years, double *call, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        call[i] = call_price(stock[i], strike[i], years[i], 0.02, 0.3);
}

int main()
{
    const int n = 1500;
    std::vector<float> s(n), k(n), t(n), call(n), put(n);
    std::vector<double> exact(n);
    Numbers numbers(5);
    for (int i = 0; i < n; i++) {
        s[i] = 5 + 25 * numbers.unit();
        k[i] = 1 + 99 * numbers.unit();
        t[i] = 0.25f + 9.75f * numbers.unit();
    }
    s[0] = k[0] = 100;
    t[0] = 1;
    float *d_s = upload(s.data(), n), *d_k = upload(k.data(), n), *d_t = upload(t.data(), n);
    float *d_call = zeros<float>(n), *d_put = zeros<float>(n);
    double *d_exact = zeros<double>(n);
    NEED(cudaGetLastError());
    prices<<<4, 128>>>(d_s, d_k, d_t, 0.02f, 0.3f, d_call, d_put, n);
    LAUNCHED("prices");
    prices_double<<<(n + 127) / 128, 128>>>(d_s, d_k, d_t, d_exact, n);
    LAUNCHED("prices_double");
    download(call.data(), d_call, n);
    download(put.data(), d_put, n);
    download(exact.data(), d_exact, n);
    bool as_host = true, as_double = true, parity = true;
    for (int i = 0; i < n; i++) {
        double c = call_price(s[i], k[i], t[i], 0.02, 0.3);
        as_host = as_host && fabs(exact[i] - c) < 1e-10;
        as_double = as_double && fabs(call[i] - c) < 2e-4;
        parity = parity && fabs(call[i] - put[i] - (s[i] - k[i] * exp(-0.02 * t[i]))) < 2e-4;
    }
    expect(as_host, "in double");
    expect(as_double, "in float");
    expect(parity, "parity");
    printf("at the money: %.2f %.2f\n", call[0], put[0]);
    return finish();
}
