// The same algorithms in C, each for a part of the work, so that threads can divide it.
#include <math.h>
#include <string.h>

void saxpy(int from, int to, float a, const float *restrict x, float *restrict y)
{
    for (int i = from; i < to; i++)
        y[i] = a * x[i] + y[i];
}

float reduce(int from, int to, const float *x)
{
    float sum = 0;
    for (int i = from; i < to; i++)
        sum += x[i];
    return sum;
}

// Some rows of c, in tiles that fit into the cache.
void matmul(int from, int to, int n, const float *restrict a, const float *restrict b, float *restrict c)
{
    enum { TILE = 32, WIDE = 256 };
    memset(c + (long)from * n, 0, (long)(to - from) * n * 4);
    for (int k = 0; k < n; k += TILE)
        for (int j = 0; j < n; j += WIDE)
            for (int i = from; i < to; i++)
                for (int l = k; l < k + TILE; l++) {
                    float v = a[(long)i * n + l];
                    for (int m = j; m < j + WIDE; m++)
                        c[(long)i * n + m] += v * b[(long)l * n + m];
                }
}

void nbody(int from, int to, int n, const float *restrict p, float *restrict out)
{
    for (int i = from; i < to; i++) {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            float dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1], dz = p[4 * j + 2] - p[4 * i + 2];
            float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = p[4 * j + 3] * r * r * r;
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
        out[4 * i] = ax;
        out[4 * i + 1] = ay;
        out[4 * i + 2] = az;
    }
}

static inline float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - c : c;
}

void black_scholes(int from, int to, const float *restrict price, const float *restrict strike,
                   const float *restrict years, float *restrict call, float *restrict put)
{
    const float rate = 0.02f, volatility = 0.3f;
    for (int i = from; i < to; i++) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float e = x * expf(-rate * t);
        call[i] = s * normal(d1) - e * normal(d2);
        put[i] = e * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
    }
}

void histogram(int from, int to, const unsigned *restrict x, unsigned *restrict bins)
{
    for (int i = from; i < to; i++)
        bins[x[i] >> 24]++;
}

int scan(int from, int to, int before, const int *restrict x, int *restrict out)
{
    for (int i = from; i < to; i++)
        out[i] = before += x[i];
    return before;
}

int total(int from, int to, const int *restrict x)
{
    int sum = 0;
    for (int i = from; i < to; i++)
        sum += x[i];
    return sum;
}

static const float weights[25] = {
    1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

// Some rows of an image.
void convolution(int from, int to, int w, int h, const float *restrict in, float *restrict out)
{
    for (int y = from < 2 ? 2 : from; y < to && y < h - 2; y++)
        for (int x = 2; x < w - 2; x++) {
            float sum = 0;
            for (int j = 0; j < 5; j++)
                for (int i = 0; i < 5; i++)
                    sum += weights[j * 5 + i] * in[(y + j - 2) * w + x + i - 2];
            out[y * w + x] = sum;
        }
}

#include "more.c"
