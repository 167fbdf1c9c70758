// Common features of HIP programs: memory, launches, LDS, atomics, lanes, numbers of all sizes.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        hipError_t error = call;                                                        \
        if (error != hipSuccess) {                                                      \
            printf("%s: %s\n", #call, hipGetErrorString(error));                        \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static int failures;

static void report(const char *name, long wrong) {
    printf("%s: %s\n", name, wrong ? "WRONG" : "right");
    if (wrong)
        fprintf(stderr, "%s: %ld wrong\n", name, wrong);
    failures += wrong != 0;
}

template <typename T> struct Buffer {
    T *at;
    size_t count;
    explicit Buffer(size_t n) : count(n) { CHECK(hipMalloc(&at, n * sizeof(T))); }
    explicit Buffer(const std::vector<T> &v) : Buffer(v.size()) { CHECK(hipMemcpy(at, v.data(), count * sizeof(T), hipMemcpyHostToDevice)); }
    ~Buffer() { (void)hipFree(at); }
    std::vector<T> read() const {
        std::vector<T> v(count);
        CHECK(hipMemcpy(v.data(), at, count * sizeof(T), hipMemcpyDeviceToHost));
        return v;
    }
};

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void reduce(const int *in, int *out, int n) {
    __shared__ int part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 128; step; step >>= 1) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (!threadIdx.x)
        atomicAdd(out, part[0]);
}

__global__ void atomics(unsigned *u, float *f, double *d, unsigned long long *l, int *i) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], me);
    atomicXor(&u[1], me);
    atomicMax(&u[2], me * 2654435761u);
    // atomicInc of these headers uses an intrinsic that clang 19 no longer has.
    __builtin_amdgcn_atomic_inc32(&u[3], 99u, __ATOMIC_RELAXED, "agent");
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicAdd(l, (unsigned long long)me << 20);
    atomicMin(i, (int)me - 500);
    unsigned old = u[4], seen;
    do {
        seen = old;
        old = atomicCAS(&u[4], seen, seen + 3);
    } while (old != seen);
}

__global__ void lanes(int *out) {
    // Two waves of 32 compute the same twice.
    int at = threadIdx.x, lane = at % warpSize, v = lane * lane + 1;
    out[at] = __shfl(v, (lane + 5) % warpSize) + __shfl_xor(v, 9) * 3 + __shfl_up(v, 2) * 7 + __shfl_down(v, 3) * 11;
    unsigned long long votes = __ballot(v & 4);
    out[64 + at] = __popcll(votes & ((1ull << lane) - 1)) + (__any(v == 26) ? 1000 : 0) + (__all(v > 0) ? 5000 : 0);
    int sum = v;
    for (int step = warpSize / 2; step; step >>= 1)
        sum += __shfl_down(sum, step);
    out[128 + at] = __shfl(sum, 0);
}

__global__ void numbers(const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y[i];
    out[i] = a / b;
    out[n + i] = sqrtf(fabsf(a));
    out[2 * n + i] = fmaf(a, b, 1.5f);
    out[3 * n + i] = expf(b * 0.01f);
    out[4 * n + i] = logf(fabsf(a) + 1);
    out[5 * n + i] = sinf(a);
    out[6 * n + i] = fmodf(a, b);
    out[7 * n + i] = powf(fabsf(a), 0.3f);
    out[8 * n + i] = rintf(a) + floorf(b);
}

__global__ void doubles(const double *x, const double *y, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], b = y[i];
    out[i] = a / b;
    out[n + i] = sqrt(fabs(a));
    out[2 * n + i] = fma(a, b, 1.5);
    out[3 * n + i] = exp(b * 0.01);
    out[4 * n + i] = log(fabs(a) + 1);
    out[5 * n + i] = sin(a * 1e6);
    out[6 * n + i] = (double)(long long)a + (double)(unsigned)fabs(b);
}

__global__ void integers(const long long *x, const long long *y, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    long long a = x[i], b = y[i];
    out[i] = a / b;
    out[n + i] = a % b;
    out[2 * n + i] = (unsigned long long)a / (unsigned long long)b;
    out[3 * n + i] = a * b;
    out[4 * n + i] = __mul64hi(a, b);
    out[5 * n + i] = (int)a / ((int)b | 1);
    out[6 * n + i] = (unsigned)a % ((unsigned)b | 1);
    out[7 * n + i] = (a << (b & 63)) ^ (a >> (b & 31)) ^ __clzll(a) ^ __popcll(b) ^ __brevll(a);
    out[8 * n + i] = (short)a * (short)b + (signed char)(a >> 8) - (unsigned char)b;
}

__global__ void halves(const __half *x, const __half *y, __half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = __hadd(x[i], y[i]);
    out[n + i] = __hmul(x[i], y[i]);
    out[2 * n + i] = __hfma(x[i], y[i], x[i]);
    out[3 * n + i] = __hdiv(x[i], y[i]);
    __half2 p = __hadd2(__halves2half2(x[i], y[i]), __halves2half2(y[i], y[i]));
    out[4 * n + i] = __low2half(p);
}

__device__ int table[64];
__constant__ int steps[4] = {3, 1, 4, 1};

__device__ __noinline__ int deep(int n, int *trail) {
    trail[n & 15] = n;
    return n < 2 ? n : deep(n - 1, trail) + deep(n - 2, trail) + trail[n & 15] - n;
}

// A lane's own memory, calls, recursion, indirect calls, globals.
__global__ void stack(int *out) {
    int trail[16];
    for (int i = 0; i < 16; i++)
        trail[i] = i * threadIdx.x;
    int sum = deep(threadIdx.x % 9, trail);
    out[threadIdx.x] = sum + trail[(threadIdx.x + steps[threadIdx.x & 3]) & 15] * (threadIdx.x % 9 < 1);
    table[threadIdx.x] = out[threadIdx.x] + blockDim.x;
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static double apart(double x, double y) { return std::isnan(x) && std::isnan(y) ? 0 : std::fabs(x - y) / (std::fabs(y) + 1e-30); }

static unsigned seed = 12345;
static unsigned draw() { return seed = seed * 1664525u + 1013904223u; }

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    printf("device: %.*s, warp %d\n", (int)strcspn(properties.gcnArchName, ":"), properties.gcnArchName, properties.warpSize);
    const int n = 3000, blocks = (n + 255) / 256;
    std::vector<float> a(n), b(n);
    std::vector<double> da(n), db(n);
    std::vector<long long> la(n), lb(n);
    std::vector<int> ia(n);
    long total = 0;
    for (int i = 0; i < n; i++) {
        a[i] = ((int)draw() >> 8) / 1000.0f;
        b[i] = ((int)draw() >> 8) / 7000.0f + 0.001f;
        da[i] = (int)draw() / 1024.0;
        db[i] = (int)draw() / 1e6;
        la[i] = (long long)draw() << 32 | draw();
        lb[i] = ((long long)draw() << 32 | draw()) >> (i % 60) | 1;
        total += ia[i] = draw() % 1000;
    }
    Buffer<float> fa(a), fb(b), fc(n * 9);
    add<<<blocks, 256>>>(fa.at, fb.at, fc.at, n);
    CHECK(hipDeviceSynchronize());
    auto c = fc.read();
    long wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += c[i] != a[i] + b[i];
    report("add", wrong);

    Buffer<int> in(ia), out(192);
    CHECK(hipMemset(out.at, 0, 192 * 4));
    reduce<<<blocks, 256>>>(in.at, out.at, n);
    report("reduce", out.read()[0] != total);

    Buffer<unsigned> u(8);
    Buffer<float> f(1);
    Buffer<double> d(1);
    Buffer<unsigned long long> l(1);
    CHECK(hipMemset(u.at, 0, 32));
    CHECK(hipMemset(f.at, 0, 4));
    CHECK(hipMemset(d.at, 0, 8));
    CHECK(hipMemset(l.at, 0, 8));
    CHECK(hipMemset(out.at, 0, 4));
    atomics<<<8, 128>>>(u.at, f.at, d.at, l.at, out.at);
    auto ru = u.read();
    unsigned most = 0, all = 0;
    for (unsigned i = 0; i < 1024; i++) {
        most = i * 2654435761u > most ? i * 2654435761u : most;
        all ^= i;
    }
    wrong = (ru[0] != 1023 * 512) + (ru[1] != all) + (ru[2] != most) + (ru[3] != 1024 % 100) + (ru[4] != 3072) + (f.read()[0] != 512) +
            (d.read()[0] != 256) + (l.read()[0] != 523776ull << 20) + (out.read()[0] != -500);
    report("atomics", wrong);

    lanes<<<1, 64>>>(out.at);
    auto r = out.read();
    wrong = 0;
    auto v = [](int i) { return i * i + 1; };
    int before = 0, whole = 0, warp = properties.warpSize;
    for (int i = 0; i < warp; i++)
        whole += v(i);
    for (int at = 0; at < 64; at++) {
        int i = at % warp, up = i < 2 ? v(i) : v(i - 2), down = i > warp - 4 ? v(i) : v(i + 3);
        before = i ? before : 0;
        wrong += r[at] != v((i + 5) % warp) + v(i ^ 9) * 3 + up * 7 + down * 11;
        wrong += r[64 + at] != before + 1000 + 5000;
        before += (v(i) & 4) != 0;
        wrong += r[128 + at] != whole;
    }
    report("lanes", wrong);

    numbers<<<blocks, 256>>>(fa.at, fb.at, fc.at, n);
    c = fc.read();
    wrong = 0;
    for (int i = 0; i < n; i++) {
        wrong += c[i] != a[i] / b[i];
        wrong += c[n + i] != sqrtf(fabsf(a[i]));
        wrong += c[2 * n + i] != fmaf(a[i], b[i], 1.5f);
        wrong += apart(c[3 * n + i], exp((double)(b[i] * 0.01f))) > 3e-7;
        wrong += apart(c[4 * n + i], log((double)(fabsf(a[i]) + 1))) > 3e-7;
        wrong += fabs(c[5 * n + i] - sin((double)a[i])) > 3e-7;
        wrong += c[6 * n + i] != fmodf(a[i], b[i]);
        wrong += apart(c[7 * n + i], pow((double)fabsf(a[i]), (double)0.3f)) > 1e-6;
        wrong += c[8 * n + i] != rintf(a[i]) + floorf(b[i]);
    }
    report("floats", wrong);

    Buffer<double> xa(da), xb(db), xc(n * 7);
    doubles<<<blocks, 256>>>(xa.at, xb.at, xc.at, n);
    auto dc = xc.read();
    wrong = 0;
    for (int i = 0; i < n; i++) {
        wrong += dc[i] != da[i] / db[i];
        wrong += dc[n + i] != sqrt(fabs(da[i]));
        wrong += dc[2 * n + i] != fma(da[i], db[i], 1.5);
        wrong += apart(dc[3 * n + i], exp(db[i] * 0.01)) > 1e-15;
        wrong += apart(dc[4 * n + i], log(fabs(da[i]) + 1)) > 1e-15;
        wrong += fabs(dc[5 * n + i] - sin(da[i] * 1e6)) > 1e-15;
        wrong += dc[6 * n + i] != (double)(long long)da[i] + (double)(unsigned)fabs(db[i]);
    }
    report("doubles", wrong);

    Buffer<long long> ya(la), yb(lb), yc(n * 9);
    integers<<<blocks, 256>>>(ya.at, yb.at, yc.at, n);
    auto lc = yc.read();
    wrong = 0;
    for (int i = 0; i < n; i++) {
        long long x = la[i], y = lb[i];
        unsigned long long reversed = 0;
        for (int k = 0; k < 64; k++)
            reversed |= ((unsigned long long)x >> k & 1) << (63 - k);
        wrong += lc[i] != x / y;
        wrong += lc[n + i] != x % y;
        wrong += lc[2 * n + i] != (long long)((unsigned long long)x / (unsigned long long)y);
        wrong += lc[3 * n + i] != (long long)((unsigned long long)x * (unsigned long long)y);
        wrong += lc[4 * n + i] != (long long)((__int128)x * y >> 64);
        wrong += lc[5 * n + i] != (int)x / ((int)y | 1);
        wrong += lc[6 * n + i] != (unsigned)x % ((unsigned)y | 1);
        wrong += lc[7 * n + i] != ((long long)((unsigned long long)x << (y & 63)) ^ (x >> (y & 31)) ^ __builtin_clzll(x | 1) * (x != 0) ^
                                   __builtin_popcountll(y) ^ (long long)reversed);
        wrong += lc[8 * n + i] != (short)x * (short)y + (signed char)(x >> 8) - (unsigned char)y;
    }
    report("integers", wrong);

    std::vector<__half> ha(n), hb(n);
    for (int i = 0; i < n; i++) {
        ha[i] = (_Float16)((int)(draw() >> 8) % 2000 / 64.0f);
        hb[i] = (_Float16)((int)(draw() >> 8) % 3000 / 128.0f + 0.5f);
    }
    Buffer<__half> hx(ha), hy(hb), hz(n * 5);
    halves<<<blocks, 256>>>(hx.at, hy.at, hz.at, n);
    auto hc = hz.read();
    wrong = 0;
    for (int i = 0; i < n; i++) {
        float x = (float)(_Float16)ha[i], y = (float)(_Float16)hb[i];
        wrong += (float)(_Float16)hc[i] != (float)(_Float16)(x + y);
        wrong += (float)(_Float16)hc[n + i] != (float)(_Float16)(x * y);
        wrong += (float)(_Float16)hc[2 * n + i] != (float)(_Float16)((double)x * y + x);
        wrong += apart((float)(_Float16)hc[3 * n + i], x / y) > 1e-3;
        wrong += (float)(_Float16)hc[4 * n + i] != (float)(_Float16)(x + y);
    }
    report("halves", wrong);

    stack<<<1, 64>>>(out.at);
    r = out.read();
    int global[64];
    CHECK(hipMemcpyFromSymbol(global, HIP_SYMBOL(table), sizeof global));
    wrong = 0;
    for (int i = 0; i < 64; i++)
        wrong += (i % 9 >= 1 && r[i] != fib(i % 9)) + (global[i] != r[i] + 64);
    report("stack", wrong);

    int *managed;
    CHECK(hipHostMalloc(&managed, 4096));
    hipStream_t stream;
    hipEvent_t start, stop;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipEventRecord(start, stream));
    CHECK(hipMemsetAsync(managed, 7, 4096, stream));
    CHECK(hipMemcpyAsync(out.at, managed, 64, hipMemcpyDefault, stream));
    CHECK(hipEventRecord(stop, stream));
    CHECK(hipStreamSynchronize(stream));
    float time = -1;
    CHECK(hipEventElapsedTime(&time, start, stop));
    report("streams", (managed[5] != 0x07070707) + (out.read()[3] != 0x07070707) + !(time >= 0));
    printf("done, %d failures\n", failures);
    return failures != 0;
}
