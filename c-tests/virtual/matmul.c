/*
 * Products by the libcublasLt at argv[1], compared with the same in C: integers and small fractions, so that each result is
 * exact. Then epilogues, and the answers to wrong calls; on a GPU the same program says what NVIDIA's library answers.
 */
#include "library.h"
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *descriptor;
static void *handle;
#define LT(name, ...) of(library, "cublasLt" name)(__VA_ARGS__)

enum { M = 37, N = 11, K = 24, LD = 40, COUNT = 2, SINGLE = 0, BYTE = 3, WORD = 10, BF16 = 14 };
enum { BY_ROWS = 1, TRANSPOSED = 1 };
static float a[COUNT][LD * 40], b[COUNT][LD * 40], c[COUNT][LD * 40], bias[M];

static uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static float widen(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    return wide;
}
static float as(int type, float value) { return type == BF16 ? widen(narrow(value)) : value; }
static size_t size(int type) { return type == BYTE ? 1 : type == BF16 ? 2 : 4; }

/* Numbers of the host as elements of a type, in device memory. */
static uint64_t device(const float *from, size_t count, int type)
{
    uint64_t at;
    char *bytes = malloc(count * 4);
    for (size_t i = 0; i < count; i++) {
        uint16_t small = narrow(from[i]);
        int word = (int)from[i];
        memcpy(bytes + i * size(type), type == BF16 ? (void *)&small : type == SINGLE ? (void *)&from[i] : (void *)&word, size(type));
    }
    CUDA("cuMemAlloc_v2", &at, count * size(type));
    CUDA("cuMemcpyHtoD_v2", at, bytes, count * size(type));
    free(bytes);
    return at;
}
static void get(float *to, uint64_t at, size_t count, int type)
{
    char *bytes = malloc(count * 4);
    CUDA("cuCtxSynchronize");
    CUDA("cuMemcpyDtoH_v2", bytes, at, count * size(type));
    for (size_t i = 0; i < count; i++)
        to[i] = type == BF16     ? widen(((uint16_t *)bytes)[i])
                : type == SINGLE ? ((float *)bytes)[i]
                : type == BYTE   ? ((signed char *)bytes)[i]
                                 : (float)((int *)bytes)[i];
    free(bytes);
}

static descriptor product(int compute, int scale)
{
    descriptor made;
    LT("MatmulDescCreate", &made, compute, scale);
    return made;
}
static void set(descriptor to, int field, int64_t value, size_t bytes) { LT("MatmulDescSetAttribute", to, field, &value, bytes); }
static descriptor matrix(int type, int64_t rows, int64_t columns, int64_t leading, int by_rows)
{
    descriptor made;
    int32_t count = COUNT;
    int64_t stride = sizeof a[0] / 4;
    LT("MatrixLayoutCreate", &made, type, rows, columns, leading);
    LT("MatrixLayoutSetAttribute", made, 1, &by_rows, (size_t)4);
    LT("MatrixLayoutSetAttribute", made, 5, &count, (size_t)4);
    LT("MatrixLayoutSetAttribute", made, 6, &stride, (size_t)8);
    return made;
}

/* An element of op(matrix), which lies by columns or by rows. */
static float at(const float *matrix, int row, int column, int turned, int by_rows)
{
    return turned == by_rows ? matrix[column * LD + row] : matrix[row * LD + column];
}

enum { ALL = sizeof a / 4, DEFAULT = 1, RELU = 2, BIAS = 4, GELU = 32, BITS = 128 };

/* d = f(alpha * op(a) * op(b) + beta * c + bias), twice. `places` as cublasLtPointerMode_t. */
static void compare(const char *name, int factor, int result, int compute, int epilogue, int turned_a, int turned_b, int by_rows,
                    int places)
{
    int scale = compute == 72 && result == WORD ? WORD : SINGLE;
    float scalars[2 * M] = {0.5f, 2}, got[ALL], was = 0;
    int32_t words[2] = {2, 1};
    if (scale == WORD)
        scalars[0] = 2, scalars[1] = 1;
    if (places >= 2)
        for (int i = 0; i < 2 * M; i++)
            scalars[i] = (float)(i % 3);
    uint64_t places_at = places ? device(scalars, 2 * M, SINGLE) : 0, bits = 0;
    uint64_t on[4] = {device(a[0], ALL, factor), device(b[0], ALL, factor), device(c[0], ALL, result), device(c[0], ALL, result)};
    descriptor of_a = turned_a ? matrix(factor, K, M, LD, 0) : matrix(factor, M, K, LD, 0);
    descriptor of_b = turned_b ? matrix(factor, N, K, LD, by_rows) : matrix(factor, K, N, LD, by_rows);
    descriptor of_c = matrix(result, M, N, LD, 0), of_d = matrix(result, M, N, LD, by_rows);
    descriptor what = product(compute, scale);
    set(what, 2, places, 4);
    set(what, 3, turned_a, 4);
    set(what, 4, turned_b, 4);
    set(what, 7, epilogue, 4);
    int bias_type = result == BYTE ? SINGLE : result;
    if (epilogue & BIAS)
        set(what, 8, (int64_t)device(bias, M, bias_type), 8);
    if (epilogue & BITS) {
        bits = device(&was, 1, SINGLE);
        CUDA("cuMemAlloc_v2", &bits, COUNT * 16 * N);
        set(what, 11, (int64_t)bits, 8);
        set(what, 12, 128, 8);
        set(what, 13, 128 * N, 8);
    }
    const void *alpha = places ? (void *)places_at : scale == WORD ? (void *)words : (void *)scalars;
    const void *beta = places >= 2 ? (const char *)alpha + 4 * M : (const char *)alpha + 4;
    int status = LT("Matmul", handle, what, alpha, on[0], of_a, on[1], of_b, beta, on[2], of_c, on[3], of_d, NULL, NULL, (size_t)0, NULL);
    get(got, on[3], ALL, result);
    unsigned char flags[COUNT][N][16];
    if (bits)
        CUDA("cuMemcpyDtoH_v2", flags, bits, sizeof flags);
    int right = 0;
    for (int z = 0; z < COUNT; z++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                float sum = 0, of_row = places >= 2 ? scalars[i] : scalars[0], of_c_row = places >= 2 ? scalars[M + i] : scalars[1];
                for (int p = 0; p < K; p++)
                    sum += at(a[z], i, p, turned_a, 0) * at(b[z], p, j, turned_b, by_rows);
                sum = of_row * sum + of_c_row * at(c[z], i, j, 0, 0) + (epilogue & BIAS ? bias[i] : 0);
                int flag = sum >= 0, is_flag = !bits || (flags[z][j][i / 8] >> i % 8 & 1) == flag;
                if (epilogue & RELU && sum < 0)
                    sum = 0;
                if (result == BYTE)
                    sum = fminf(127, fmaxf(-128, rintf(sum)));
                right += is_flag && at(got + z * (ALL / COUNT), i, j, 0, by_rows) == as(result, sum);
            }
    printf("%s: %d, %d of %d\n", name, status, right, COUNT * M * N);
}

/* One product of 1 by 1: f(a), whose bits are printed. */
static void function(const char *name, int epilogue, float value, float auxiliary)
{
    float one = 1, zero = 0, got[1], aux[8] = {auxiliary, 0};
    uint64_t x = device(&value, 1, SINGLE), y = device(&one, 1, SINGLE), d = device(&zero, 1, SINGLE), of_aux = device(aux, 8, SINGLE);
    int32_t count = 1;
    descriptor what = product(68, SINGLE), cell = matrix(SINGLE, 1, 1, 8, 0);
    LT("MatrixLayoutSetAttribute", cell, 5, &count, (size_t)4);
    set(what, 7, epilogue, 4);
    set(what, 11, (int64_t)of_aux, 8);
    set(what, 12, epilogue & GELU || epilogue & 64 ? 8 : 128, 8);
    int status = LT("Matmul", handle, what, &one, x, cell, y, cell, &zero, d, cell, d, cell, NULL, NULL, (size_t)0, NULL);
    uint32_t bits;
    get(got, d, 1, SINGLE);
    get(aux, of_aux, 1, SINGLE);
    memcpy(&bits, got, 4);
    printf("%s of %g: %d, %.6g (%08x), beside it %g\n", name, value, status, got[0], bits, aux[0]);
}

struct heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* NVIDIA's library crashes at some wrong calls: -1 means that. */
static sigjmp_buf before;
static void crashed(int signal)
{
    siglongjmp(before, signal);
}
#define ANSWER(call) (sigsetjmp(before, 1) ? -1 : (call))

static void answers(void)
{
    signal(SIGSEGV, crashed);
    float one = 1;
    uint64_t x = device(a[0], ALL, SINGLE);
    descriptor what = product(68, SINGLE), square = matrix(SINGLE, 8, 8, 8, 0), tall = matrix(SINGLE, 9, 8, 9, 0), preference;
    descriptor one_column = matrix(SINGLE, 8, 8, 0, 0), short_columns = matrix(SINGLE, 8, 8, 7, 0), halves = matrix(2, 8, 8, 8, 0), batch = matrix(SINGLE, 8, 8, 8, 0);
    int32_t three = 3;
    LT("MatrixLayoutSetAttribute", batch, 5, &three, (size_t)4);
    LT("MatmulPreferenceCreate", &preference);
    struct heuristic found[4];
    int count = 9;
#define RUN(of, p, q, r, s, factor) \
    ANSWER(LT("Matmul", handle, of, &one, factor, p, x, q, &one, x, r, x, s, NULL, NULL, (size_t)0, NULL))
    printf("right: %d; no handle: %d; no descriptor: %d; no layout: %d; no matrix: %d\n", RUN(what, square, square, square, square, x),
           ANSWER(LT("Matmul", NULL, what, &one, x, square, x, square, &one, x, square, x, square, NULL, NULL, (size_t)0, NULL)),
           RUN(NULL, square, square, square, square, x), RUN(what, NULL, square, square, square, x),
           RUN(what, square, square, square, square, (uint64_t)0));
    printf("one column for all: %d, as a result: %d\n", RUN(what, square, square, one_column, square, x),
           RUN(what, square, square, square, one_column, x));
    printf("sizes: %d; leading: %d; types: %d; batches: %d; no alpha: %d\n", RUN(what, tall, square, square, square, x),
           RUN(what, short_columns, square, square, square, x), RUN(what, halves, square, square, square, x),
           RUN(what, batch, square, square, square, x),
           ANSWER(LT("Matmul", handle, what, NULL, x, square, x, square, &one, x, square, x, square, NULL, NULL, (size_t)0, NULL)));
    descriptor bits = product(68, SINGLE), bare = product(68, SINGLE), other = product(64, SINGLE), half = product(68, SINGLE);
    set(bits, 7, RELU | BITS, 4);
    set(bare, 7, BIAS, 4);
    set(half, 6, 0, 4);
    printf("bits nowhere: %d; no bias: %d; compute: %d; a half: %d\n", RUN(bits, square, square, square, square, x),
           RUN(bare, square, square, square, square, x), RUN(other, square, square, square, square, x),
           RUN(half, square, square, square, square, x));
#define ASK(of, p, q, wanted) ANSWER(LT("MatmulAlgoGetHeuristic", handle, of, p, q, square, square, preference, wanted, found, &count))
    int status = ASK(what, square, square, 4);
    printf("heuristic: %d, %s, state %d\n", status, count > 0 ? "some" : "none", found[0].state);
    status = LT("MatmulAlgoCheck", handle, what, square, square, square, square, found[0].algorithm, &found[1]);
    printf("check: %d, %d\n", status, found[1].state);
    status = LT("Matmul", handle, what, &one, x, square, x, square, &one, x, square, x, square, found[0].algorithm, NULL, (size_t)0, NULL);
    printf("with it: %d\n", status);
    printf("none wanted: %d; sizes: %d, ", ASK(what, square, square, 0), ASK(what, tall, square, 4));
    printf("%d; types: %d, ", count, ASK(what, halves, square, 4));
    printf("%d\n", count);
}

int main(int argc, char **argv)
{
    // What was printed before a wrong call that crashes is not lost.
    setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t context;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    library = dlopen(argc > 1 ? argv[1] : "libcublasLt.so.12", RTLD_NOW);
    if (argc > 2) {
        printf("untouched: %d\n", LT("Matmul", NULL));
        return 0;
    }
    /* The library is the first thing of CUDA's that this program uses. */
    int status = LT("Create", &handle);
    printf("created: %d\n", status);
    CUDA("cuInit", 0);
    CUDA("cuDevicePrimaryCtxRetain", &context, 0);
    CUDA("cuCtxSetCurrent", context);
    for (int z = 0; z < COUNT; z++)
        for (int i = 0; i < LD * 40; i++) {
            a[z][i] = (float)((i * 7 + z) % 9 - 4);
            b[z][i] = (float)((i * 5 + z) % 7 - 3);
            c[z][i] = (float)((i * 3 + z) % 5 - 2);
        }
    for (int i = 0; i < M; i++)
        bias[i] = (float)(i % 4) - 1.5f;
    compare("singles", SINGLE, SINGLE, 68, DEFAULT, 0, 0, 0, 0);
    compare("singles turned, scalars of the device", SINGLE, SINGLE, 68, DEFAULT, TRANSPOSED, TRANSPOSED, 0, 1);
    compare("singles by rows", SINGLE, SINGLE, 68, DEFAULT, TRANSPOSED, 0, BY_ROWS, 0);
    compare("a scalar for each row", SINGLE, SINGLE, 68, DEFAULT, 0, 0, 0, 2);
    compare("bias and relu of bfloat16", BF16, BF16, 68, RELU | BIAS, TRANSPOSED, 0, 0, 0);
    compare("bits of relu", BF16, SINGLE, 68, RELU | BIAS | BITS, TRANSPOSED, 0, 0, 0);
    compare("bytes to words", BYTE, WORD, 72, DEFAULT, TRANSPOSED, 0, 0, 0);
    compare("bytes to bytes, with a bias", BYTE, BYTE, 72, BIAS, TRANSPOSED, 0, 0, 0);
    float values[] = {0, -0.0f, 1, -1, 0.5f, 3, -6, NAN, INFINITY, -INFINITY};
    for (unsigned i = 0; i < sizeof values / 4; i++) {
        function("relu", RELU | BITS, values[i], 0);
        function("gelu", GELU | BITS, values[i], 0);
        function("gradient of gelu", 192, 1, values[i]);
    }
    answers();
    printf("destroyed: %d\n", LT("Destroy", handle));
    return 0;
}
