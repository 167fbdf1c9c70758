// mma in inline PTX: ldmatrix loads tiles, plain and transposed, products of each type are added, and stmatrix or plain stores
// write the results. movmatrix gives the same as a transposed ldmatrix.
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include "arrays.h"

typedef unsigned Word;

__device__ Word shared(const void *p) { return (Word)__cvta_generic_to_shared(p); }

// A tile of 16 rows of 32 bytes as first factor: first the 8 rows below, then 16 bytes to the right.
__device__ void load_first(Word (&a)[4], const unsigned char *tile, int pitch)
{
    int lane = threadIdx.x % 32;
    Word at = shared(tile + lane % 16 * pitch + lane / 16 * 16);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(at));
}

// A tile of 8 rows of 32 bytes as second factor, stored by columns.
__device__ void load_second(Word (&b)[2], const unsigned char *tile, int pitch)
{
    int lane = threadIdx.x % 16;
    Word at = shared(tile + lane % 8 * pitch + lane / 8 * 16);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(at));
}

#define MMA(name, text)                                                                                                \
    struct name {                                                                                                      \
        static __device__ void add(float (&d)[4], Word (&a)[4], Word (&b)[2])                                          \
        {                                                                                                              \
            asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
        }                                                                                                              \
    }

#define IMMA(name, text)                                                                                               \
    struct name {                                                                                                      \
        static __device__ void add(int (&d)[4], Word (&a)[4], Word (&b)[2])                                            \
        {                                                                                                              \
            asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
        }                                                                                                              \
    }

MMA(Half, "m16n8k16.row.col.f32.f16.f16.f32");
MMA(Bf16, "m16n8k16.row.col.f32.bf16.bf16.f32");
MMA(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32");
MMA(E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32");
MMA(E5m2, "m16n8k32.row.col.f32.e5m2.e4m3.f32");
IMMA(S8, "m16n8k32.row.col.s32.s8.s8.s32");
IMMA(U8, "m16n8k32.row.col.satfinite.s32.u8.s8.s32");
IMMA(S4, "m16n8k64.row.col.s32.s4.u4.s32");
IMMA(B1, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc");

// d = a * b, where rows of a and columns of b have `bytes` bytes, 32 in a step. A block's four warps have one tile each.
template <typename Multiply, typename Sum>
__global__ void gemm(const unsigned char *a, const unsigned char *b, Sum *d, int n, int bytes)
{
    __shared__ __align__(16) unsigned char first[64 * 48], second[8 * 48];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.y * 64, column = blockIdx.x * 8;
    Sum sum[4] = {};
    for (int at = 0; at < bytes; at += 32) {
        for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x)
            first[i / 32 * 48 + i % 32] = a[(row + i / 32) * bytes + at + i % 32];
        for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x)
            second[i / 32 * 48 + i % 32] = b[(column + i / 32) * bytes + at + i % 32];
        __syncthreads();
        Word x[4], y[2];
        load_first(x, first + warp * 16 * 48, 48);
        load_second(y, second, 48);
        Multiply::add(sum, x, y);
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        d[(row + warp * 16 + lane / 4 + i / 2 * 8) * n + column + lane % 4 * 2 + i % 2] = sum[i];
}

// Half by half: the second factor is stored by rows and loaded transposed; stmatrix writes the result.
__global__ void halves(const half *a, const half *b, half *d, int k)
{
    __shared__ __align__(16) half first[16 * 24], second[16 * 8], result[16 * 8];
    int lane = threadIdx.x;
    Word sum[2] = {0, 0};
    for (int at = 0; at < k; at += 16) {
        for (int i = lane; i < 256; i += 32)
            first[i / 16 * 24 + i % 16] = a[i / 16 * k + at + i % 16];
        for (int i = lane; i < 128; i += 32)
            second[i] = b[at * 8 + i];
        __syncwarp();
        Word x[4], y[2];
        load_first(x, (unsigned char *)first, 48);
        Word place = shared(second + lane % 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(place));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(sum[0]), "+r"(sum[1])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    Word place = shared(result + lane % 16 * 8);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(place), "r"(sum[0]), "r"(sum[1]) : "memory");
    __syncwarp();
    for (int i = lane; i < 128; i += 32)
        d[i] = result[i];
}

__global__ void doubles(const double *a, const double *b, double *d, int k)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    double sum[4] = {};
    for (int at = 0; at < k; at += 8) {
        double x[4], y[2];
        for (int i = 0; i < 4; i++)
            x[i] = a[(g + i % 2 * 8) * k + at + t + i / 2 * 4];
        for (int i = 0; i < 2; i++)
            y[i] = b[(at + t + i * 4) * 8 + g];
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
                     "%2, %3};"
                     : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                     : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y[0]), "d"(y[1]));
    }
    for (int i = 0; i < 4; i++)
        d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = sum[i];
}

__global__ void across(const Word *in, Word *out)
{
    __shared__ __align__(16) Word rows[32];
    int lane = threadIdx.x;
    rows[lane] = in[lane];
    __syncwarp();
    Word straight, turned, moved;
    Word place = shared(rows + lane % 8 * 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(straight) : "r"(place));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(turned) : "r"(place));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(straight));
    out[lane] = turned;
    out[32 + lane] = moved;
}

static unsigned digest(const void *bytes, size_t n)
{
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return h;
}

// The value in the bits from `at` on.
typedef double (*Read)(const unsigned char *bytes, int at);

template <typename T> static double as(const unsigned char *bytes, int at)
{
    T v;
    memcpy(&v, bytes + at * sizeof v, sizeof v);
    return (double)(float)v;
}

static double signed_nibble(const unsigned char *bytes, int at)
{
    int v = bytes[at / 2] >> (at % 2 * 4) & 15;
    return v > 7 ? v - 16 : v;
}

static double nibble(const unsigned char *bytes, int at) { return bytes[at / 2] >> (at % 2 * 4) & 15; }
static double bit(const unsigned char *bytes, int at) { return bytes[at / 8] >> at % 8 & 1; }

template <typename Multiply, typename Sum, typename Fill>
static void product(const char *name, int bits, Read first, Read second, Fill fill, double share)
{
    const int m = 64, n = 16, bytes = 32 * 6, k = bytes * 8 / bits;
    Numbers numbers(bits * 31 + (unsigned char)name[0]);
    std::vector<unsigned char> a(m * bytes), b(n * bytes);
    std::vector<Sum> d(m * n);
    fill(a, numbers);
    fill(b, numbers);
    unsigned char *da = upload(a.data(), a.size()), *db = upload(b.data(), b.size());
    Sum *dd = zeros<Sum>(d.size());
    gemm<Multiply, Sum><<<dim3(n / 8, m / 64), 128>>>(da, db, dd, n, bytes);
    LAUNCHED(name);
    download(d.data(), dd, d.size());
    bool right = true;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int l = 0; l < k; l++) {
                double x = first(&a[i * bytes], l), y = second(&b[j * bytes], l), z = bits == 1 ? x != y : x * y;
                sum += z;
                size += std::fabs(z);
            }
            right &= std::fabs(sum - (double)d[i * n + j]) <= share * size;
        }
    expect(right, name);
    printf("%s: %08x\n", name, digest(d.data(), d.size() * sizeof(Sum)));
    cudaFree(da), cudaFree(db), cudaFree(dd);
}

template <typename T> static void numbers_of(std::vector<unsigned char> &to, Numbers &n)
{
    for (size_t i = 0; i + sizeof(T) <= to.size(); i += sizeof(T)) {
        float f = n.unit() - 0.5f;
        T v = (T)(n.below(3) ? f : f * 21.0f);
        memcpy(&to[i], &v, sizeof v);
    }
}

static void tf32s(std::vector<unsigned char> &to, Numbers &n)
{
    numbers_of<float>(to, n);
    for (size_t i = 0; i < to.size(); i += 4) {
        to[i] = 0;
        to[i + 1] &= 0xe0;
    }
}

static void random_bytes(std::vector<unsigned char> &to, Numbers &n)
{
    for (auto &v : to)
        v = (unsigned char)n.next();
}

int main()
{
    NEED(cudaFree(nullptr));
    product<Half, float>("halves", 16, as<half>, as<half>, numbers_of<half>, 1e-6);
    product<Bf16, float>("bf16", 16, as<__nv_bfloat16>, as<__nv_bfloat16>, numbers_of<__nv_bfloat16>, 1e-6);
    product<Tf32, float>("tf32", 32, as<float>, as<float>, tf32s, 1e-6);
    product<E4m3, float>("e4m3", 8, as<__nv_fp8_e4m3>, as<__nv_fp8_e4m3>, numbers_of<__nv_fp8_e4m3>, 1e-6);
    product<E5m2, float>("e5m2", 8, as<__nv_fp8_e5m2>, as<__nv_fp8_e4m3>, numbers_of<__nv_fp8_e4m3>, 1e-5);
    product<S8, int>("s8", 8, [](const unsigned char *p, int at) { return (double)(signed char)p[at]; },
                     [](const unsigned char *p, int at) { return (double)(signed char)p[at]; }, random_bytes, 0);
    product<U8, int>("u8", 8, [](const unsigned char *p, int at) { return (double)p[at]; },
                     [](const unsigned char *p, int at) { return (double)(signed char)p[at]; }, random_bytes, 0);
    product<S4, int>("s4", 4, signed_nibble, nibble, random_bytes, 0);
    product<B1, int>("bits", 1, bit, bit, random_bytes, 0);

    const int k = 96;
    Numbers numbers(5);
    std::vector<half> a(16 * k), b(k * 8), d(128);
    for (auto &v : a)
        v = __float2half(numbers.unit() - 0.5f);
    for (auto &v : b)
        v = __float2half(numbers.unit() * 3 - 1.5f);
    half *da = upload(a.data(), a.size()), *db = upload(b.data(), b.size()), *dd = zeros<half>(128);
    halves<<<1, 32>>>(da, db, dd, k);
    LAUNCHED("halves in halves");
    download(d.data(), dd, 128);
    bool right = true;
    for (int i = 0; i < 128; i++) {
        double sum = 0, size = 0;
        for (int l = 0; l < k; l++) {
            double x = (float)a[i / 8 * k + l], y = (float)b[l * 8 + i % 8];
            sum += x * y;
            size += std::fabs(x * y);
        }
        right &= std::fabs(sum - (double)(float)d[i]) <= 5e-3 * size;
    }
    expect(right, "halves in halves");
    printf("halves in halves: %08x\n", digest(d.data(), 256));

    std::vector<double> x(16 * 24), y(24 * 8), z(128);
    for (auto &v : x)
        v = numbers.unit() / 3.0 - 0.1;
    for (auto &v : y)
        v = numbers.unit() / 7.0 - 0.05;
    double *dx = upload(x.data(), x.size()), *dy = upload(y.data(), y.size()), *dz = zeros<double>(128);
    doubles<<<1, 32>>>(dx, dy, dz, 24);
    LAUNCHED("doubles");
    download(z.data(), dz, 128);
    right = true;
    for (int i = 0; i < 128; i++) {
        double sum = 0;
        for (int l = 0; l < 24; l++)
            sum = std::fma(x[i / 8 * 24 + l], y[l * 8 + i % 8], sum);
        right &= sum == z[i];
    }
    expect(right, "doubles, one after the other");

    std::vector<Word> rows(32), out(64);
    for (auto &v : rows)
        v = numbers.next() << 10 ^ numbers.next();
    Word *din = upload(rows.data(), 32), *dout = zeros<Word>(64);
    across<<<1, 32>>>(din, dout);
    LAUNCHED("across");
    download(out.data(), dout, 64);
    right = true;
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++) {
            const unsigned short *from = (const unsigned short *)rows.data();
            unsigned expected = from[(lane % 4 * 2 + i) * 8 + lane / 4];
            right &= (out[lane] >> (16 * i) & 0xffff) == expected && (out[32 + lane] >> (16 * i) & 0xffff) == expected;
        }
    expect(right, "across");
    return finish();
}
