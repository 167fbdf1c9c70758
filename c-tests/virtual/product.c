/*
 * Matrix products by the libcublas at argv[1], compared with the same in C. Integers and small fractions: each result is exact.
 */
#include <complex.h>
#include "library.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct handle {
    void *stream;
    int mode;
};

static unsigned long device(const void *bytes, size_t size)
{
    unsigned long at;
    CUDA("cuMemAlloc_v2", &at, size);
    CUDA("cuMemcpyHtoD_v2", at, bytes, size);
    return at;
}

/* The handle's stream is one for which copies do not wait. */
static void get(struct handle *handle, void *to, unsigned long at, size_t size)
{
    CUDA("cuStreamSynchronize", handle->stream);
    CUDA("cuMemcpyDtoH_v2", to, at, size);
}

enum { M = 37, N = 11, K = 19, COUNT = 3 };
static float sa[K * M], sb[K * N], sc[N * M], sd[N * M];
static double da[COUNT][K * M], db[COUNT][K * N], dc[COUNT][N * M];
static double complex za[COUNT][K * M], zb[COUNT][K * N], zc[COUNT][N * M];
static signed char ba[K * M], bb[K * N];
static int ic[N * M];

static void singles(struct handle *handle)
{
    float scalars[2] = {0.5f, 2};
    for (handle->mode = 0; handle->mode < 2; handle->mode++) {
        unsigned long a = device(sa, sizeof sa), b = device(sb, sizeof sb), c = device(sc, sizeof sc);
        float *alpha = handle->mode ? (float *)device(scalars, sizeof scalars) : scalars;
        int status = of(library, "cublasSgemm_v2")(handle, 1, 0, M, N, K, alpha, a, K, b, K, alpha + 1, c, M);
        get(handle, sd, c, sizeof sd);
        int right = 0;
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                float sum = 0;
                for (int p = 0; p < K; p++)
                    sum += sa[i * K + p] * sb[j * K + p];
                right += sd[j * M + i] == 0.5f * sum + 2 * sc[j * M + i];
            }
        printf("singles, scalars of the %s: %d, %d of %d\n", handle->mode ? "device" : "host", status, right, M * N);
    }
    handle->mode = 0;
}

/* The second factor is conjugated and stored by rows; the old result is not read. */
static void complexes(struct handle *handle)
{
    double complex alpha = 1 + 2 * I, beta = 0;
    unsigned long a = device(za, sizeof za), b = device(zb, sizeof zb), c = device(zc, sizeof zc);
    int status = of(library, "cublasZgemmStridedBatched")(handle, 0, 2, M, N, K, &alpha, a, M, (long)K * M, b, N,
                                                          (long)K * N, &beta, c, M, (long)N * M, COUNT);
    get(handle, zc, c, sizeof zc);
    int right = 0;
    for (int q = 0; q < COUNT; q++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                double complex sum = 0;
                for (int p = 0; p < K; p++)
                    sum += za[q][p * M + i] * conj(zb[q][p * N + j]);
                right += zc[q][j * M + i] == alpha * sum;
            }
    printf("complex numbers: %d, %d of %d\n", status, right, COUNT * M * N);
}

static void pointers(struct handle *handle)
{
    double alpha = 1, beta = 1;
    unsigned long at[3][COUNT];
    for (int q = 0; q < COUNT; q++) {
        at[0][q] = device(da[q], sizeof da[q]);
        at[1][q] = device(db[q], sizeof db[q]);
        at[2][q] = device(dc[q], sizeof dc[q]);
    }
    unsigned long arrays = device(at, sizeof at);
    int status = of(library, "cublasDgemmBatched_64")(
        handle, 0, 0, (long)M, (long)N, (long)K, &alpha, arrays, (long)M, arrays + sizeof at[0], (long)K, &beta,
        arrays + 2 * sizeof at[0], (long)M, (long)COUNT);
    int right = 0;
    for (int q = 0; q < COUNT; q++) {
        static double got[N * M];
        get(handle, got, at[2][q], sizeof got);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                double sum = dc[q][j * M + i];
                for (int p = 0; p < K; p++)
                    sum += da[q][p * M + i] * db[q][j * K + p];
                right += got[j * M + i] == sum;
            }
    }
    printf("doubles by pointers: %d, %d of %d\n", status, right, COUNT * M * N);
}

/* Every third element, from the last one backwards, into every second one. */
static void vectors(struct handle *handle)
{
    static double x[3 * K], y[2 * M], got[2 * M];
    double alpha = 2, beta = -1;
    for (int p = 0; p < K; p++)
        x[3 * p] = p - 5;
    for (int i = 0; i < M; i++)
        y[2 * i] = i, y[2 * i + 1] = 0.5;
    unsigned long a = device(da, sizeof da[0]), xs = device(x, sizeof x), ys = device(y, sizeof y);
    int status = of(library, "cublasDgemv_v2")(handle, 0, M, K, &alpha, a, M, xs, -3, &beta, ys, 2);
    get(handle, got, ys, sizeof got);
    int right = 0;
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int p = 0; p < K; p++)
            sum += da[0][p * M + i] * x[3 * (K - 1 - p)];
        right += got[2 * i] == 2 * sum - i && got[2 * i + 1] == 0.5;
    }
    printf("vectors: %d, %d of %d\n", status, right, M);
}

/* x * conj(t)^T = b with an upper triangle; its lower half is not read. Pivots are 2 and 2i, so each result is exact. */
static void triangles(struct handle *handle)
{
    static double complex t[N * N], x[N * M], b[N * M], got[N * M];
    double complex alpha = 2;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            t[j * N + i] = i > j ? 0.0 / 0.0 : i == j ? (i % 2 ? 2 : 2 * I) : (i + j) % 3 - 1 + (i % 2) * I;
    for (int at = 0; at < N * M; at++)
        x[at] = at % 5 - 2 + (at % 3) * I;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            double complex sum = 0;
            for (int p = j; p < N; p++)
                sum += x[p * M + i] * conj(t[p * N + j]);
            b[j * M + i] = sum / 2;
        }
    unsigned long ts = device(t, sizeof t), bs = device(b, sizeof b);
    int status = of(library, "cublasZtrsm_v2_64")(handle, 1, 1, 2, 0, (long)M, (long)N, &alpha, ts, (long)N, bs, (long)M);
    get(handle, got, bs, sizeof got);
    int right = 0;
    for (int at = 0; at < N * M; at++)
        right += got[at] == x[at];
    printf("triangles: %d, %d of %d\n", status, right, N * M);
}

static void bytes(struct handle *handle)
{
    int alpha = 3, beta = 0;
    unsigned long a = device(ba, sizeof ba), b = device(bb, sizeof bb), c = device(ic, sizeof ic);
    int status = of(library, "cublasGemmEx")(handle, 0, 0, M, N, K, &alpha, a, 3, M, b, 3, K, &beta, c, 10, M, 72, -1);
    get(handle, ic, c, sizeof ic);
    int right = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            int sum = 0;
            for (int p = 0; p < K; p++)
                sum += ba[p * M + i] * bb[j * K + p];
            right += ic[j * M + i] == 3 * sum;
        }
    printf("bytes: %d, %d of %d\n", status, right, M * N);
    status = of(library, "cublasGemmEx")(handle, 0, 0, M, N, K, &alpha, a, 3, M - 1, b, 3, K, &beta, c, 10, M, 72, -1);
    printf("rows too short: %d\n", status);
    status = of(library, "cublasGemmEx")(NULL, 0, 0, M, N, K, &alpha, a, 3, M, b, 3, K, &beta, c, 10, M, 72, -1);
    printf("no handle: %d\n", status);
    /* CUDA_R_8F_E4M3 */
    status = of(library, "cublasGemmEx")(handle, 0, 0, M, N, K, &alpha, a, 28, M, b, 28, K, &beta, c, 0, M, 68, -1);
    printf("other types: %d\n", status);
}

/* Functions of vectors, with a handle that this program creates and destroys. */
static void made(void *stream)
{
    void *handle = NULL;
    printf("made: %d", of(library, "cublasCreate_v2")(&handle));
    printf(" %d", of(library, "cublasSetStream_v2")(handle, stream));
    struct handle same = {stream, 0};
    unsigned long z = device(za, sizeof za[0]), s = device(sa, sizeof sa);
    double complex dot = 0, sum = 0;
    int status = of(library, "cublasZdotc_v2")(handle, K * M / 2, z, 2, z + sizeof sum, 2, &dot);
    for (int at = 0; at + 1 < K * M; at += 2)
        sum += conj(za[0][at]) * za[0][at + 1];
    printf("; dot %d %d", status, dot == sum);
    long least = 0;
    status = of(library, "cublasIsamin_v2_64")(handle, (long)M, s, 1L, &least);
    /* The first zero. */
    printf("; amin %d %ld", status, least);
    double norm = 0, wanted[2] = {3e300, 4e300};
    status = of(library, "cublasDnrm2_v2")(handle, 2, device(wanted, sizeof wanted), 1, &norm);
    printf("; nrm2 %d %d", status, norm > 4.9999e300 && norm < 5.0001e300);
    /* The lower half of a * a^T; the upper half stays. */
    float one = 1, zero = 0, square[9] = {0, 0, 0, 99, 0, 0, 99, 99, 0};
    unsigned long c = device(square, sizeof square);
    status = of(library, "cublasSsyrk_v2")(handle, 0, 0, 3, 2, &one, s, 3, &zero, c, 3);
    get(&same, square, c, sizeof square);
    int right = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            right += square[j * 3 + i] == (i < j ? 99 : sa[i] * sa[j] + sa[3 + i] * sa[3 + j]);
    printf("; syrk %d %d", status, right);
    double alpha = 2, beta = -1, turned[4], from[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    unsigned long a = device(from, sizeof from), d = device(from, sizeof turned);
    status = of(library, "cublasDgeam_64")(handle, 1, 0, 2L, 2L, &alpha, a, 2L, &beta, a + 32, 2L, d, 2L);
    get(&same, turned, d, sizeof turned);
    printf("; geam %d %g %g %g %g", status, turned[0], turned[1], turned[2], turned[3]);
    /* A scalar that is null is zero, as cuSOLVER has it. */
    status = of(library, "cublasDgeam_64")(handle, 1, 1, 2L, 2L, &alpha, a, 2L, NULL, a, 2L, d, 2L);
    get(&same, turned, d, sizeof turned);
    printf("; turned %d %g %g %g %g", status, turned[0], turned[1], turned[2], turned[3]);
    /* Row times row turned, twice; the upper half is kept. */
    status = of(library, "cublasDsyr2k_v2")(handle, 0, 0, 2, 1, &alpha, a, 2, a + 32, 2, &beta, d, 2);
    get(&same, turned, d, sizeof turned);
    printf("; syr2k %d %g %g %g %g", status, turned[0], turned[1], turned[2], turned[3]);
    status = of(library, "cublasDgeam_64")(handle, 1, 0, 2L, 2L, &alpha, a, 2L, &beta, a + 32, 2L, d, 2L);
    status = of(library, "cublasDtrsv_v2")(handle, 1, 0, 0, 2, a, 2, d, -1);
    get(&same, turned, d, sizeof turned);
    printf("; trsv %d %g %g", status, turned[0], turned[1]);
    printf("; destroyed: %d", of(library, "cublasDestroy_v2")(handle));
    printf(" %d\n", of(library, "cublasDestroy_v2")(handle));
}

int main(int argc, char **argv)
{
    for (int at = 0; at < K * M; at++) {
        sa[at] = at % 7 - 3;
        ba[at] = at % 251 - 125;
        for (int q = 0; q < COUNT; q++)
            da[q][at] = at % 5 - q, za[q][at] = at % 4 - q + (at % 3 - 1) * I;
    }
    for (int at = 0; at < K * N; at++) {
        sb[at] = at % 9 - 4;
        bb[at] = at % 255 - 127;
        for (int q = 0; q < COUNT; q++)
            db[q][at] = at % 6 - q, zb[q][at] = at % 3 - q + (at % 5 - 2) * I;
    }
    for (int at = 0; at < N * M; at++) {
        sc[at] = at % 8;
        for (int q = 0; q < COUNT; q++)
            dc[q][at] = at % 10, zc[q][at] = 0.0 / 0.0;
    }
    library = dlopen(argv[1], RTLD_NOW);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    struct handle handle = {0};
    if (argc > 2)
        printf("untouched: %d\n", of(library, "cublasSgemm_v2")());
    int number;
    void *context;
    CUDA("cuInit", 0);
    CUDA("cuDeviceGet", &number, 0);
    CUDA("cuCtxCreate_v2", &context, 0, number);
    CUDA("cuStreamCreate", &handle.stream, 1);
    singles(&handle);
    complexes(&handle);
    pointers(&handle);
    vectors(&handle);
    triangles(&handle);
    bytes(&handle);
    made(handle.stream);
    return 0;
}
