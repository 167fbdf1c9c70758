// The algorithms of more.cu in C.
#include "sha256.h"

// In tiles that fit into the cache; some rows of the result.
void transpose(int from, int to, int n, const float *restrict in, float *restrict out)
{
    for (int y = from; y < to; y += 16)
        for (int x = 0; x < n; x += 16)
            for (int j = y; j < y + 16 && j < to; j++)
                for (int i = x; i < x + 16; i++)
                    out[(long)j * n + i] = in[(long)i * n + j];
}

void spmv(int from, int to, const int *restrict starts, const int *restrict columns, const float *restrict values,
          const float *restrict x, float *restrict y)
{
    for (int row = from; row < to; row++) {
        float sum = 0;
        for (int k = starts[row]; k < starts[row + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}

// Groups of 512 words.
void bitonic(int from, int to, const unsigned *restrict in, unsigned *restrict out)
{
    for (int group = from; group < to; group++) {
        unsigned s[512];
        memcpy(s, in + (long)group * 512, sizeof s);
        for (int k = 2; k <= 512; k *= 2)
            for (int j = k / 2; j > 0; j /= 2)
                for (int base = 0; base < 512; base += 2 * j) {
                    int up = (base & k) == 0;
                    for (int i = base; i < base + j; i++) {
                        unsigned a = s[i], b = s[i + j], least = a < b ? a : b, most = a < b ? b : a;
                        s[i] = up ? least : most;
                        s[i + j] = up ? most : least;
                    }
                }
        memcpy(out + (long)group * 512, s, sizeof s);
    }
}

enum { ROW = 256 };

void softmax(int from, int to, const float *restrict in, float *restrict out)
{
    for (int row = from; row < to; row++) {
        const float *x = in + (long)row * ROW;
        float *y = out + (long)row * ROW, most = x[0], sum = 0;
        for (int k = 1; k < ROW; k++)
            most = x[k] > most ? x[k] : most;
        for (int k = 0; k < ROW; k++)
            sum += y[k] = expf(x[k] - most);
        for (int k = 0; k < ROW; k++)
            y[k] /= sum;
    }
}

void layernorm(int from, int to, const float *restrict in, float *restrict out)
{
    for (int row = from; row < to; row++) {
        const float *x = in + (long)row * ROW;
        float *y = out + (long)row * ROW, sum = 0, squares = 0;
        for (int k = 0; k < ROW; k++) {
            sum += x[k];
            squares += x[k] * x[k];
        }
        float mean = sum / ROW, scale = 1.0f / sqrtf(squares / ROW - mean * mean + 1e-5f);
        for (int k = 0; k < ROW; k++)
            y[k] = (x[k] - mean) * scale;
    }
}

// Counts the digits of a part, then moves its words to their places, which begin at `next`.
void radix_count(int from, int to, const unsigned *restrict in, unsigned *restrict counts, int shift)
{
    memset(counts, 0, 64);
    for (int i = from; i < to; i++)
        counts[in[i] >> shift & 15]++;
}

void radix_scatter(int from, int to, const unsigned *restrict in, unsigned *restrict out, unsigned *restrict next, int shift)
{
    for (int i = from; i < to; i++)
        out[next[in[i] >> shift & 15]++] = in[i];
}

// Some planes of a cube.
void stencil(int from, int to, int n, const float *restrict in, float *restrict out)
{
    for (int z = from < 1 ? 1 : from; z < to && z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                long i = ((long)z * n + y) * n + x;
                out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
            }
}

static const unsigned rounds[64] = SHA_ROUNDS;

void sha256(int from, int to, int n, const unsigned *restrict in, unsigned *restrict out)
{
    for (int m = from; m < to; m++) {
        unsigned w[16], h[8];
        for (int k = 0; k < 16; k++)
            w[k] = in[(long)k * n + m];
        SHA_BLOCK(w, h, rounds)
        for (int k = 0; k < 8; k++)
            out[(long)k * n + m] = h[k];
    }
}

// Some rows of c.
void bytes(int from, int to, int n, const signed char *restrict a, const signed char *restrict b, int *restrict c)
{
    memset(c + (long)from * n, 0, (long)(to - from) * n * 4);
    for (int i = from; i < to; i++)
        for (int k = 0; k < n / 4; k++) {
            const signed char *p = a + (long)i * n + 4 * k;
            for (int j = 0; j < n; j++) {
                const signed char *q = b + ((long)k * n + j) * 4;
                c[(long)i * n + j] += p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
            }
        }
}

void lu_begin(int n, const float *restrict in, double *restrict a)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++)
            a[y * n + x] = in[y * n + x] + (x == y ? n : 0);
}

// One column, for some rows.
void lu_column(int from, int to, int n, int k, double *a)
{
    for (int y = from < k + 1 ? k + 1 : from; y < to; y++) {
        double *restrict row = a + (long)y * n;
        const double *restrict top = a + (long)k * n;
        double by = row[k] /= top[k];
        for (int x = k + 1; x < n; x++)
            row[x] -= by * top[x];
    }
}
