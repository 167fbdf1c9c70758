// More features of HIP programs: blocks and grids of three dimensions, dynamic LDS, tiles, histograms, bytes, lanes by
// DPP and by the crossbar, packed halves, dot products, several streams.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
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

template <typename T> T *device(const std::vector<T> &v) {
    T *at;
    CHECK(hipMalloc(&at, v.size() * sizeof(T)));
    CHECK(hipMemcpy(at, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
    return at;
}
template <typename T> std::vector<T> host(const T *at, size_t n) {
    std::vector<T> v(n);
    CHECK(hipMemcpy(v.data(), at, n * sizeof(T), hipMemcpyDeviceToHost));
    return v;
}
static unsigned seed = 99;
static unsigned draw() { return seed = seed * 1664525u + 1013904223u; }

__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[16][17], tb[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[threadIdx.y][threadIdx.x] = y < n && k + threadIdx.x < n ? a[y * n + k + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = x < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n)
        c[y * n + x] = sum;
}

__global__ void places(unsigned *out, int nx, int ny) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
             z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
}

__global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    extern __shared__ unsigned bins[];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&out[i], bins[i]);
}

__global__ void scan(const int *in, int *out) {
    __shared__ int sums[8];
    int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize, v = in[blockIdx.x * 256 + threadIdx.x];
    for (int step = 1; step < warpSize; step <<= 1) {
        int other = __shfl_up(v, step);
        if (lane >= step)
            v += other;
    }
    if (lane == warpSize - 1)
        sums[wave] = v;
    __syncthreads();
    for (int i = 0; i < wave; i++)
        v += sums[i];
    out[blockIdx.x * 256 + threadIdx.x] = v;
}

__global__ void bytes(const uchar4 *in, uchar4 *out, short2 *shorts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uchar4 v = in[i];
    out[i] = make_uchar4(v.x + v.w, v.y * 3, v.z >> 1, v.w ^ v.x);
    shorts[i] = make_short2((short)(v.x * v.y - v.z), (short)((signed char)v.w * 5));
}

__global__ void crossings(int *out) {
    // Two waves of 32 compute the same twice.
    int at = threadIdx.x, lane = at % warpSize, v = lane * 3 + 1;
    out[at] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, false);       // row_shr:1
    out[64 + at] = __builtin_amdgcn_update_dpp(-1, v, 0x1b, 0xf, 0xf, true);    // quad_perm reversed
#if defined(__gfx1030__)
    out[128 + at] = __builtin_amdgcn_update_dpp(-7, v, 0x165, 0xa, 0xf, false);   // row_xmask:5, rows 1 and 3
    out[576 + at] = __builtin_amdgcn_permlane16(-1, v, 0x89abcdef, 0x01234567, false, false);
    out[640 + at] = __builtin_amdgcn_permlanex16(-1, v, 0x89abcdef, 0x01234567, false, false);
    out[704 + at] = __builtin_amdgcn_mov_dpp8(v, 0 << 0 | 7 << 3 | 1 << 6 | 6 << 9 | 2 << 12 | 5 << 15 | 3 << 18 | 4 << 21);
#else
    out[128 + at] = __builtin_amdgcn_update_dpp(-7, v, 0x142, 0xa, 0xf, false);   // row_bcast:15, rows 1 and 3
    out[576 + at] = __shfl(v, lane ^ 15);
    out[640 + at] = __shfl(v, lane ^ 31);
    out[704 + at] = __shfl(v, lane & ~7 | (lane % 2 ? 7 - lane % 8 / 2 : lane % 8 / 2));
#endif
    out[192 + at] = __builtin_amdgcn_update_dpp(0, v, 0x140, 0xf, 0xf, true);   // row_mirror
    out[256 + at] = __builtin_amdgcn_ds_swizzle(v, 0x041f);                     // xor 1
    out[320 + at] = __builtin_amdgcn_ds_bpermute((lane ^ 33) * 4, v);
    out[384 + at] = __builtin_amdgcn_ds_permute(((lane + 7) % warpSize) * 4, v);
    out[448 + at] = __builtin_amdgcn_readlane(v, 17) + __builtin_amdgcn_readfirstlane(v);
    if (lane > 20)
        out[512 + at] = __builtin_amdgcn_readfirstlane(v) + (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

__global__ void packed(const __half2 *a, const __half2 *b, __half2 *out, const int *x, const int *y, int *dots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = __hfma2(a[i], b[i], __hmul2(a[i], a[i]));
    dots[i] = __builtin_amdgcn_sdot4(x[i], y[i], 10, false);
    dots[n + i] = (int)__builtin_amdgcn_udot4(x[i], y[i], 5u, false);
}

__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * by + 1;
}

int main() {
    const int n = 75;
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++) {
        a[i] = (float)(draw() >> 28);
        b[i] = (float)(draw() >> 28) - 7;
    }
    float *da = device(a), *db = device(b), *dc = device(a);
    matmul<<<dim3(5, 5), dim3(16, 16)>>>(da, db, dc, n);
    auto c = host(dc, n * n);
    long wrong = 0;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[y * n + k] * b[k * n + x];
            wrong += c[y * n + x] != sum;
        }
    report("tiles", wrong);

    std::vector<unsigned> grid(12 * 10 * 6);
    unsigned *dg = device(grid);
    places<<<dim3(3, 2, 3), dim3(4, 5, 2)>>>(dg, 12, 10);
    grid = host(dg, grid.size());
    wrong = 0;
    for (unsigned i = 0; i < grid.size(); i++)
        wrong += grid[i] != i % 12 + 100 * (i / 12 % 10) + 10000 * (i / 120);
    report("places", wrong);

    std::vector<unsigned char> text(20011);
    std::vector<unsigned> bins(256), expected(256);
    for (auto &t : text)
        expected[t = draw() >> 25]++;
    unsigned char *dt = device(text);
    unsigned *dbins = device(bins);
    histogram<<<5, 192, 1024>>>(dt, dbins, text.size());
    report("histogram", host(dbins, 256) != expected);

    std::vector<int> in(1024), sums(1024);
    for (int i = 0, sum = 0; i < 1024; i++) {
        in[i] = draw() >> 24;
        sums[i] = sum = (i % 256 ? sum : 0) + in[i];
    }
    int *di = device(in), *dout = device(in);
    scan<<<4, 256>>>(di, dout);
    report("scan", host(dout, 1024) != sums);

    const int m = 1000;
    std::vector<uchar4> pixels(m), other(m);
    std::vector<short2> shorts(m);
    for (auto &p : pixels)
        p = make_uchar4(draw() >> 24, draw() >> 24, draw() >> 24, draw() >> 24);
    uchar4 *dp = device(pixels), *dq = device(other);
    short2 *ds = device(shorts);
    bytes<<<4, 256>>>(dp, dq, ds, m);
    other = host(dq, m);
    shorts = host(ds, m);
    wrong = 0;
    for (int i = 0; i < m; i++) {
        uchar4 v = pixels[i];
        wrong += other[i].x != (unsigned char)(v.x + v.w) || other[i].y != (unsigned char)(v.y * 3) || other[i].z != v.z >> 1 ||
                 other[i].w != (v.w ^ v.x) || shorts[i].x != (short)(v.x * v.y - v.z) || shorts[i].y != (short)((signed char)v.w * 5);
    }
    report("bytes", wrong);

    std::vector<int> lanes(768);
    int *dl = device(lanes);
    crossings<<<1, 64>>>(dl);
    lanes = host(dl, 768);
    wrong = 0;
    int warp = 0;
    CHECK(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
    auto v = [](int lane) { return lane * 3 + 1; };
    for (int at = 0; at < 64; at++) {
        int i = at % warp;
        wrong += lanes[at] != (i % 16 ? v(i - 1) : -1);
        wrong += lanes[64 + at] != v((i & ~3) | (3 - (i & 3)));
        wrong += lanes[128 + at] != (i / 16 % 2 ? v(warp == 64 ? (i & ~15) - 1 : i ^ 5) : -7);
        wrong += lanes[192 + at] != v((i & ~15) | (15 - (i & 15)));
        wrong += lanes[256 + at] != v(i ^ 1);
        wrong += lanes[320 + at] != v((i ^ 33) % warp);
        wrong += lanes[384 + at] != v((i + warp - 7) % warp);
        wrong += lanes[448 + at] != v(17) + v(0);
        wrong += i > 20 && lanes[512 + at] != v(21) + i;
        wrong += lanes[576 + at] != v(i ^ 15);
        wrong += lanes[640 + at] != v(i ^ 31);
        wrong += lanes[704 + at] != v((i & ~7) | (i % 2 ? 7 - i % 8 / 2 : i % 8 / 2));
    }
    report("crossings", wrong);

    std::vector<__half2> ha(m), hb(m);
    std::vector<int> x(m), y(m), dots(2 * m);
    for (int i = 0; i < m; i++) {
        ha[i] = __floats2half2_rn((int)(draw() >> 24) / 16.0f, (int)(draw() >> 24) / -8.0f);
        hb[i] = __floats2half2_rn((int)(draw() >> 24) / 32.0f, (int)(draw() >> 24) / 64.0f);
        x[i] = draw();
        y[i] = draw();
    }
    __half2 *dha = device(ha), *dhb = device(hb), *dhc = device(ha);
    int *dx = device(x), *dy = device(y), *dd = device(dots);
    packed<<<4, 256>>>(dha, dhb, dhc, dx, dy, dd, m);
    auto hc = host(dhc, m);
    dots = host(dd, 2 * m);
    wrong = 0;
    for (int i = 0; i < m; i++) {
        float al = __low2float(ha[i]), ah = __high2float(ha[i]), bl = __low2float(hb[i]), bh = __high2float(hb[i]);
        wrong += __low2float(hc[i]) != (float)(_Float16)((double)al * bl + (float)(_Float16)(al * al));
        wrong += __high2float(hc[i]) != (float)(_Float16)((double)ah * bh + (float)(_Float16)(ah * ah));
        int s = 10;
        unsigned u = 5;
        for (int k = 0; k < 32; k += 8) {
            s += (signed char)(x[i] >> k) * (signed char)(y[i] >> k);
            u += (unsigned char)(x[i] >> k) * (unsigned char)(y[i] >> k);
        }
        wrong += dots[i] != s || dots[m + i] != (int)u;
    }
    report("packed", wrong);

    hipStream_t streams[4];
    float *parts[4];
    std::vector<float> ones(5000, 1.0f);
    for (int s = 0; s < 4; s++) {
        CHECK(hipStreamCreate(&streams[s]));
        parts[s] = device(ones);
    }
    for (int round = 0; round < 20; round++)
        for (int s = 0; s < 4; s++)
            scale<<<20, 256, 0, streams[s]>>>(parts[s], 0.5f * (s + 1), 5000);
    wrong = 0;
    for (int s = 0; s < 4; s++) {
        CHECK(hipStreamSynchronize(streams[s]));
        float right = 1;
        for (int round = 0; round < 20; round++)
            right = right * (0.5f * (s + 1)) + 1;
        for (float p : host(parts[s], 5000))
            wrong += p != right;
    }
    report("streams", wrong);
    printf("done, %d failures\n", failures);
    return failures != 0;
}
