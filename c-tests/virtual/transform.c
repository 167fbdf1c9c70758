/*
 * Transforms by the libcufft at argv[1], compared with sums of products in doubles: types, ranks, lengths, batches, layouts,
 * in place and out of place. Then cuFFT's errors, a graph, and a work area of the program's.
 */
#include <complex.h>
#include "library.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *stream;
#define FFT(name, ...) of(library, "cufft" name)(__VA_ARGS__)

enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, DOUBLES = 0x40, FORWARD = -1, INVERSE = 1, NEVER = -12345 };
enum { BASIC, IN_PLACE, ADVANCED, LAYOUTS };

static unsigned long device(size_t size)
{
    unsigned long at;
    CUDA("cuMemAlloc_v2", &at, size);
    return at;
}

static double any(void)
{
    static unsigned long long state = 88172645463325252;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}

/* One side of a transform: the layout of its elements. */
struct side {
    int embed[3], lengths[3], stride, distance, is_complex;
    size_t size;
};

static size_t place(const struct side *side, int b, int i, int j, int k)
{
    return (size_t)b * side->distance + (((size_t)i * side->embed[1] + j) * side->embed[2] + k) * side->stride;
}

static double complex element(const struct side *side, const void *memory, int doubles, size_t at)
{
    if (side->is_complex)
        return doubles ? ((double complex *)memory)[at] : ((float complex *)memory)[at];
    return doubles ? ((double *)memory)[at] : ((float *)memory)[at];
}

/* Transforms n numbers with stride `step`. */
static void line(double complex *x, int n, int step, int direction)
{
    double complex sums[n], roots[n];
    for (int k = 0; k < n; k++)
        roots[k] = cexp(direction * 2 * M_PI * I * k / n);
    for (int k = 0; k < n; k++) {
        sums[k] = 0;
        for (int j = 0; j < n; j++)
            sums[k] += x[j * step] * roots[(long)j * k % n];
    }
    for (int k = 0; k < n; k++)
        x[k * step] = sums[k];
}

static struct side side(const int *n, int rank, int layout, int is_complex, int is_half, int room, int doubles, int batch)
{
    struct side side = {.stride = 1, .is_complex = is_complex};
    for (int d = 0; d < 3; d++)
        side.lengths[d] = side.embed[d] = d < 3 - rank ? 1 : n[d];
    if (is_half)
        side.lengths[2] = side.embed[2] = n[2] / 2 + 1;
    if (room)
        side.embed[2] = 2 * (n[2] / 2 + 1);
    if (layout == ADVANCED) {
        for (int d = 3 - rank; d < 3; d++)
            side.embed[d] += d;
        side.stride = 2 + is_complex;
    }
    side.distance = side.embed[0] * side.embed[1] * side.embed[2] * side.stride + (layout == ADVANCED ? 5 : 0);
    side.size = (size_t)side.distance * batch * (doubles ? 8 : 4) * (1 + is_complex);
    return side;
}

/* Whether one transform is right: 1, 0, or a negative number if cuFFT returned an error. */
static int one(int type, int direction, const int *lengths, int rank, int batch, int layout, int with_64)
{
    int doubles = !!(type & DOUBLES), kind = type & ~DOUBLES, n[3] = {1, 1, 1};
    memcpy(n + 3 - rank, lengths, rank * sizeof *n);
    int room = layout == IN_PLACE;
    struct side in = side(n, rank, layout, kind != R2C, kind == C2R, room && kind == R2C, doubles, batch);
    struct side out = side(n, rank, layout, kind != C2R, kind == R2C, room && kind == C2R, doubles, batch);
    size_t size = in.size > out.size ? in.size : out.size;
    void *from = malloc(size), *to = malloc(size);
    for (size_t at = 0; at < size / (doubles ? 8 : 4); at++) {
        double value = any();
        if (doubles)
            ((double *)from)[at] = value;
        else
            ((float *)from)[at] = value;
    }
    unsigned long a = device(size), b = layout == IN_PLACE ? a : device(size);
    memset(to, 0x55, size);
    CUDA("cuMemcpyHtoD_v2", b, to, size);
    CUDA("cuMemcpyHtoD_v2", a, from, size);

    int plan, status;
    size_t work;
    int *shape = n + 3 - rank, *embed = in.embed + 3 - rank, *other = out.embed + 3 - rank;
    if (layout != ADVANCED)
        embed = other = NULL;
    if (with_64) {
        long long shape_64[3], embed_64[3], other_64[3];
        for (int d = 0; d < rank; d++)
            shape_64[d] = shape[d], embed_64[d] = embed ? embed[d] : 0, other_64[d] = other ? other[d] : 0;
        status = FFT("Create", &plan);
        if (!status)
            status = FFT("MakePlanMany64", plan, rank, shape_64, embed ? embed_64 : NULL, (long long)in.stride,
                         (long long)in.distance, other ? other_64 : NULL, (long long)out.stride, (long long)out.distance,
                         type, (long long)batch, &work);
    } else
        status = FFT("PlanMany", &plan, rank, shape, embed, in.stride, in.distance, other, out.stride, out.distance, type,
                     batch);
    const char *names[2][3] = {{"ExecC2C", "ExecR2C", "ExecC2R"}, {"ExecZ2Z", "ExecD2Z", "ExecZ2D"}};
    char name[20] = "cufft";
    strcat(name, names[doubles][kind == C2C ? 0 : kind == R2C ? 1 : 2]);
    if (!status)
        status = FFT("SetStream", plan, stream);
    if (!status)
        status = of(library, name)(plan, a, b, direction);
    if (status)
        return -status;
    CUDA("cuStreamSynchronize", stream);
    CUDA("cuMemcpyDtoH_v2", to, b, size);
    status = FFT("Destroy", plan);

    size_t each = (size_t)n[0] * n[1] * n[2];
    double complex *x = malloc(each * sizeof *x);
    double worst = 0, most = 0;
    int kept = 1;
    for (int q = 0; q < batch; q++) {
        for (int i = 0; i < n[0]; i++)
            for (int j = 0; j < n[1]; j++)
                for (int k = 0; k < n[2]; k++) {
                    int mirrored = kind == C2R && k > n[2] / 2;
                    size_t at = mirrored ? place(&in, q, (n[0] - i) % n[0], (n[1] - j) % n[1], n[2] - k)
                                         : place(&in, q, i, j, k);
                    double complex value = element(&in, from, doubles, at);
                    x[((size_t)i * n[1] + j) * n[2] + k] = mirrored ? conj(value) : value;
                }
        int sign = kind == C2C ? direction : kind == R2C ? FORWARD : INVERSE;
        for (int i = 0; i < n[0] * n[1]; i++)
            line(x + (size_t)i * n[2], n[2], 1, sign);
        for (int i = 0; i < n[0]; i++)
            for (int k = 0; k < n[2]; k++)
                line(x + (size_t)i * n[1] * n[2] + k, n[1], n[2], sign);
        for (int i = 0; i < n[1] * n[2]; i++)
            line(x + i, n[0], n[1] * n[2], sign);
        for (int i = 0; i < out.lengths[0]; i++)
            for (int j = 0; j < out.lengths[1]; j++)
                for (int k = 0; k < out.lengths[2]; k++) {
                    double complex wanted = x[((size_t)i * n[1] + j) * n[2] + k];
                    if (kind == C2R)
                        wanted = creal(wanted);
                    double off = cabs(element(&out, to, doubles, place(&out, q, i, j, k)) - wanted);
                    worst = !(off <= worst) ? off : worst;
                    most = cabs(wanted) > most ? cabs(wanted) : most;
                }
    }
    /* The gaps between the elements stay unchanged. */
    if (layout == ADVANCED) {
        size_t gap = place(&out, 0, 0, 0, 0) + 1, width = (doubles ? 8 : 4) * (1 + out.is_complex);
        for (size_t byte = gap * width; byte < (gap + 1) * width; byte++)
            kept &= ((unsigned char *)to)[byte] == 0x55;
    }
    CUDA("cuMemFree_v2", a);
    if (b != a)
        CUDA("cuMemFree_v2", b);
    free(from), free(to), free(x);
    double bound = (doubles ? 4e-16 : 2.5e-7) * (4 + log2((double)each)) * (most + sqrt((double)each));
    if (worst <= bound && kept && !status)
        return 1;
    if (getenv("SHOW"))
        printf("type %x direction %d lengths %d %d %d batch %d layout %d: off by %g, bound %g, kept %d\n", type, direction,
               n[0], n[1], n[2], batch, layout, worst, bound, kept);
    return 0;
}

static void values(void)
{
    static const int shapes[][4] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 7}, {1, 8}, {1, 11}, {1, 13}, {1, 16},
        {1, 30}, {1, 61}, {1, 64}, {1, 67}, {1, 77}, {1, 97}, {1, 100}, {1, 128}, {1, 134}, {1, 210}, {1, 211}, {1, 243},
        {1, 256}, {1, 360}, {1, 509}, {1, 625}, {1, 1000}, {1, 1024}, {1, 1331}, {2, 4, 4}, {2, 1, 9}, {2, 9, 1}, {2, 6, 5},
        {2, 7, 67}, {2, 67, 8}, {2, 12, 35}, {2, 71, 73}, {3, 2, 2, 2}, {3, 3, 4, 5}, {3, 8, 1, 6}, {3, 5, 67, 3},
        {3, 16, 9, 10}, {3, 1, 1, 17}};
    const char *names[] = {"basic", "in place", "advanced"};
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int doubles = 0; doubles <= DOUBLES; doubles += DOUBLES) {
            int right = 0, all = 0;
            for (size_t at = 0; at < sizeof shapes / sizeof *shapes; at++)
                for (int way = 0; way < 4; way++)
                    for (int batch = 1; batch <= 3; batch += 2) {
                        int type = (way < 2 ? C2C : way == 2 ? R2C : C2R) | doubles;
                        right += one(type, way == 1 ? INVERSE : FORWARD, shapes[at] + 1, shapes[at][0], batch, layout,
                                     at % 2) == 1;
                        all++;
                    }
            printf("%s, %s: %d of %d\n", names[layout], doubles ? "doubles" : "singles", right, all);
        }
}

static void errors(void)
{
    int plan = -1, other = -1, n[4] = {8, 8, 8, 8}, zero[1] = {0};
    size_t size = 0, told = 0;
    unsigned long a = device(1 << 16);
    printf("lengths: %d %d %d %d\n", FFT("Plan1d", &plan, 0, C2C, 1), FFT("Plan1d", &plan, -4, C2C, 1),
           FFT("Plan1d", &plan, 8, C2C, 0), FFT("Plan3d", &plan, 8, 0, 8, C2C));
    printf("ranks: %d %d\n", FFT("PlanMany", &plan, 0, n, NULL, 1, 1, NULL, 1, 1, C2C, 1),
           FFT("PlanMany", &plan, 4, n, NULL, 1, 1, NULL, 1, 1, C2C, 1));
    printf("type: %d\n", FFT("Plan1d", &plan, 8, 7, 1));
    printf("no length: %d\n", FFT("PlanMany", &plan, 1, zero, NULL, 1, 1, NULL, 1, 1, C2C, 1));
    printf("handles: %d %d %d\n", FFT("ExecC2C", NEVER, a, a, FORWARD), FFT("Destroy", NEVER),
           FFT("SetStream", NEVER, stream));
    printf("created: %d", FFT("Create", &plan));
    printf(" %d", FFT("ExecC2C", plan, a, a, FORWARD));
    printf(", made: %d", FFT("MakePlan1d", plan, 64, C2C, 2, &size));
    printf(", again: %d", FFT("MakePlan1d", plan, 64, C2C, 2, &size));
    printf(", size: %d", FFT("GetSize", plan, &told));
    printf(" %d\n", told == size);
    printf("executed: %d", FFT("ExecC2C", plan, a, a, INVERSE));
    printf(", no direction: %d\n", FFT("ExecC2C", plan, a, a, 0));
    printf("destroyed: %d", FFT("Destroy", plan));
    printf(" %d\n", FFT("Destroy", plan));
    FFT("Create", &other);
    printf("work area: %d", FFT("SetAutoAllocation", other, 0));
    printf(" %d", FFT("MakePlan1d", other, 67, C2C, 1, &size));
    printf(", none: %d", FFT("ExecC2C", other, a, a, FORWARD));
    printf(", set: %d", FFT("SetWorkArea", other, device(size ? size : 1)));
    printf(", executed: %d\n", FFT("ExecC2C", other, a, a, FORWARD));
    CUDA("cuCtxSynchronize");
    FFT("Destroy", other);
}

/* A transform becomes part of a graph, which is launched twice: forth and back multiply the numbers by n. */
static void graph(void)
{
    enum { N = 24 };
    double complex x[N], y[N];
    for (int at = 0; at < N; at++)
        x[at] = any() + any() * I;
    unsigned long a = device(sizeof x);
    CUDA("cuMemcpyHtoD_v2", a, x, sizeof x);
    int plan, status = FFT("Plan1d", &plan, N, C2C | DOUBLES, 1);
    status = status ? status : FFT("SetStream", plan, stream);
    /* Load the kernels first. */
    status = status ? status : FFT("ExecZ2Z", plan, a, a, FORWARD);
    status = status ? status : FFT("ExecZ2Z", plan, a, a, INVERSE);
    void *captured, *made;
    CUDA("cuStreamBeginCapture_v2", stream, 0);
    status = status ? status : FFT("ExecZ2Z", plan, a, a, FORWARD);
    status = status ? status : FFT("ExecZ2Z", plan, a, a, INVERSE);
    CUDA("cuStreamEndCapture", stream, &captured);
    CUDA("cuGraphInstantiateWithFlags", &made, captured, 0ULL);
    CUDA("cuGraphLaunch", made, stream);
    CUDA("cuGraphLaunch", made, stream);
    CUDA("cuStreamSynchronize", stream);
    CUDA("cuMemcpyDtoH_v2", y, a, sizeof y);
    int right = 0;
    for (int at = 0; at < N; at++)
        right += cabs(y[at] / (N * N * N) - x[at]) < 1e-14;
    printf("graph: %d, %d of %d\n", status, right, N);
}

/* One plan in several streams, forth and back, with nothing between: as if its work area were no part of it. */
static void streams(void)
{
    enum { N = 3000, STREAMS = 4, ROUNDS = 5 };
    static double complex x[STREAMS][N], y[N];
    void *of_its_own[STREAMS];
    unsigned long at[STREAMS];
    int plan, status = FFT("Plan1d", &plan, N, C2C | DOUBLES, 1), right = 0;
    for (int s = 0; s < STREAMS; s++) {
        for (int j = 0; j < N; j++)
            x[s][j] = any() + any() * I;
        CUDA("cuStreamCreate", &of_its_own[s], 1);
        at[s] = device(sizeof y);
        CUDA("cuMemcpyHtoD_v2", at[s], x[s], sizeof y);
    }
    for (int round = 0; round < 2 * ROUNDS; round++)
        for (int s = 0; s < STREAMS; s++) {
            status = status ? status : FFT("SetStream", plan, of_its_own[s]);
            status = status ? status : FFT("ExecZ2Z", plan, at[s], at[s], round % 2 ? INVERSE : FORWARD);
        }
    CUDA("cuCtxSynchronize");
    for (int s = 0; s < STREAMS; s++) {
        CUDA("cuMemcpyDtoH_v2", y, at[s], sizeof y);
        for (int j = 0; j < N; j++)
            right += cabs(y[j] / pow(N, ROUNDS) - x[s][j]) < 1e-12;
    }
    printf("streams: %d, %d of %d\n", status, right, STREAMS * N);
}

/* Halves, by the function with types as arguments. The results are exact here: the transform of a constant. */
static void halves(void)
{
    long long n = 16;
    size_t size;
    unsigned short x[16], y[2 * 9];
    for (int at = 0; at < 16; at++)
        x[at] = 0x4000;
    unsigned long a = device(sizeof x), b = device(sizeof y);
    CUDA("cuMemcpyHtoD_v2", a, x, sizeof x);
    int plan, status = FFT("Create", &plan);
    status = FFT("XtMakePlanMany", plan, 1, &n, NULL, 1LL, 1LL, 2, NULL, 1LL, 1LL, 6, 1LL, &size, 6);
    status = status ? status : FFT("XtExec", plan, a, b, FORWARD);
    CUDA("cuCtxSynchronize");
    CUDA("cuMemcpyDtoH_v2", y, b, sizeof y);
    int right = y[0] == 0x5000;
    for (int at = 1; at < 18; at++)
        right += !(y[at] & 0x7fff);
    printf("halves: %d, %d of 18\n", status, right);
    n = 12;
    FFT("Create", &plan);
    printf("halves of 12: %d\n", FFT("XtMakePlanMany", plan, 1, &n, NULL, 1LL, 1LL, 2, NULL, 1LL, 1LL, 6, 1LL, &size, 6));
    n = 16;
    printf("two types: %d\n", FFT("XtMakePlanMany", plan, 1, &n, NULL, 1LL, 1LL, 0, NULL, 1LL, 1LL, 5, 1LL, &size, 5));
}

/* Last, as it may make kernels fail. */
static void nowhere(void)
{
    int plan;
    unsigned long a = device(1 << 16);
    FFT("Plan1d", &plan, 64, C2C, 2);
    printf("another type: %d", FFT("ExecZ2Z", plan, a, a, FORWARD));
    printf(", then %d\n", of(driver, "cuCtxSynchronize")());
    printf("nowhere: %d", FFT("ExecC2C", plan, a, 0UL, FORWARD));
    printf(", then %d\n", of(driver, "cuCtxSynchronize")());
}

int main(int argc, char **argv)
{
    library = dlopen(argv[1], RTLD_NOW);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    int number, version = 0, plan;
    void *context;
    if (argc > 2) {
        printf("untouched: %d\n", FFT("Plan1d", &plan, 8, C2C, 1));
        return 0;
    }
    CUDA("cuInit", 0);
    CUDA("cuDeviceGet", &number, 0);
    CUDA("cuDevicePrimaryCtxRetain", &context, number);
    CUDA("cuCtxSetCurrent", context);
    CUDA("cuStreamCreate", &stream, 1);
    printf("version: %d\n", FFT("GetVersion", &version) || version < 10000);
    values();
    errors();
    graph();
    streams();
    halves();
    int gpus[2] = {0, 1};
    FFT("Create", &plan);
    printf("several GPUs: %d\n", FFT("XtSetGPUs", plan, 2, gpus));
    nowhere();
    return 0;
}
