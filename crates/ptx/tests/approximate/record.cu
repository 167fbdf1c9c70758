// Records what a GPU's approximate instructions give for all 2^32 operands: sums of hashes over blocks of operands, and
// over samples of them, one line for each form. `scripts/record-approximations` builds and runs it; the test beside this
// folder (main.rs) compares the definitions with the sums, and says what the numbers mean.
//
// With a second argument, a folder, it writes there the results of all operands that the others follow from, as
// `scripts/fit-approximations` reads them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

// Blocks of operands in order, samples, and operands in a sample.
static const int BLOCKS = 64, SAMPLES = 32, SAMPLE = 4096;

static void check(cudaError_t e, const char *what) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "record: %s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

// Bits that have nothing to do with their number.
__device__ u32 scramble(u32 x) {
    x *= 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA77u;
    return x ^ x >> 13;
}

// A dividend of which the quotient by x is a number of moderate size.
__device__ u32 near(u32 x) {
    u32 h = scramble(x);
    int e = (int)(x >> 23 & 255) + (int)(h >> 24 & 127) - 64;
    e = e < 0 ? 0 : e > 255 ? 255 : e;
    return (h & 0x807fffffu) | (u32)e << 23;
}

__device__ u64 mix(u32 x, u32 result) {
    u64 h = (u64)x << 32 | result;
    h *= 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ull;
    return h ^ h >> 32;
}

#define FORM(NAME, TEXT, BITS, BODY)                           \
    struct NAME {                                              \
        static const char *name() { return TEXT; }             \
        static const int bits = BITS;                          \
        __device__ static u32 of(u32 x) {                      \
            u32 r;                                             \
            BODY;                                              \
            return r;                                          \
        }                                                      \
    };
#define SINGLE(NAME, TEXT) FORM(NAME, TEXT, 32, asm volatile("{ .reg .f32 a, d; mov.b32 a, %1; " TEXT " d, a; mov.b32 %0, d; }" : "=r"(r) : "r"(x)))
#define PAIR(NAME, TEXT) FORM(NAME, TEXT, 32, asm volatile(TEXT " %0, %1;" : "=r"(r) : "r"(x)))
#define HALF(NAME, TEXT) FORM(NAME, TEXT, 16, asm volatile("{ .reg .b16 a, d; cvt.u16.u32 a, %1; " TEXT " d, a; cvt.u32.u16 %0, d; }" : "=r"(r) : "r"(x)))
#define DIVIDE(NAME, TEXT, HOW) FORM(NAME, TEXT " " #HOW, 32, asm volatile("{ .reg .f32 a, b, d; mov.b32 a, %1; mov.b32 b, %2; " TEXT " d, a, b; mov.b32 %0, d; }" : "=r"(r) : "r"(HOW(x)), "r"(x)))
#define DOUBLE(NAME, TEXT) FORM(NAME, TEXT, 32, double v; asm volatile(TEXT " %0, %1;" : "=d"(v) : "d"(__hiloint2double(x, scramble(x)))); r = __double2hiint(v) ^ (u32)__double2loint(v) * 0x9E3779B1u)

SINGLE(rcp, "rcp.approx.f32")
SINGLE(rcp_ftz, "rcp.approx.ftz.f32")
SINGLE(rsqrt_, "rsqrt.approx.f32")
SINGLE(rsqrt_ftz, "rsqrt.approx.ftz.f32")
SINGLE(sqrt_, "sqrt.approx.f32")
SINGLE(sqrt_ftz, "sqrt.approx.ftz.f32")
SINGLE(ex2, "ex2.approx.f32")
SINGLE(ex2_ftz, "ex2.approx.ftz.f32")
SINGLE(lg2, "lg2.approx.f32")
SINGLE(lg2_ftz, "lg2.approx.ftz.f32")
SINGLE(sin_, "sin.approx.f32")
SINGLE(sin_ftz, "sin.approx.ftz.f32")
SINGLE(cos_, "cos.approx.f32")
SINGLE(cos_ftz, "cos.approx.ftz.f32")
SINGLE(tanh_, "tanh.approx.f32")
DIVIDE(div_, "div.approx.f32", scramble)
DIVIDE(div_near, "div.approx.f32", near)
DIVIDE(div_ftz, "div.approx.ftz.f32", scramble)
DIVIDE(div_ftz_near, "div.approx.ftz.f32", near)
DIVIDE(full, "div.full.f32", scramble)
DIVIDE(full_near, "div.full.f32", near)
DIVIDE(full_ftz, "div.full.ftz.f32", scramble)
DIVIDE(full_ftz_near, "div.full.ftz.f32", near)
DOUBLE(rcp_double, "rcp.approx.ftz.f64")
DOUBLE(rsqrt_double, "rsqrt.approx.f64")
DOUBLE(rsqrt_double_ftz, "rsqrt.approx.ftz.f64")
HALF(ex2_half, "ex2.approx.f16")
PAIR(ex2_halves, "ex2.approx.f16x2")
HALF(ex2_bfloat, "ex2.approx.ftz.bf16")
PAIR(ex2_bfloats, "ex2.approx.ftz.bf16x2")
HALF(tanh_half, "tanh.approx.f16")
PAIR(tanh_halves, "tanh.approx.f16x2")
HALF(tanh_bfloat, "tanh.approx.bf16")
PAIR(tanh_bfloats, "tanh.approx.bf16x2")

typedef unsigned long long Sum;

// Each thread takes one operand of each block of 2^14.
template <class F> __global__ void blocks(Sum *sums) {
    u32 threads = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    const int shift = F::bits - 6;
    for (u32 block = 0; block < BLOCKS; block++) {
        u64 sum = 0;
        for (u32 k = first; k < 1u << shift; k += threads) {
            u32 x = block << shift | k;
            sum += mix(x, F::of(x));
        }
        for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
        if (threadIdx.x % 32 == 0) atomicAdd(&sums[block], (Sum)sum);
    }
}

template <class F> __global__ void samples(Sum *sums) {
    u32 n = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = n * 2654435761u >> (32 - F::bits);
    atomicAdd(&sums[n / SAMPLE], (Sum)mix(x, F::of(x)));
}

// Only forms whose names contain the variable ONLY, where it is set.
template <class F> void record(FILE *out) {
    const char *only = getenv("ONLY");
    if (only && !strstr(F::name(), only)) return;
    Sum *sums;
    check(cudaMallocManaged(&sums, sizeof(Sum) * (BLOCKS + SAMPLES)), "memory");
    memset(sums, 0, sizeof(Sum) * (BLOCKS + SAMPLES));
    blocks<F><<<1024, 256>>>(sums);
    samples<F><<<SAMPLES * SAMPLE / 256, 256>>>(sums + BLOCKS);
    check(cudaDeviceSynchronize(), F::name());
    fprintf(out, "%s\n", F::name());
    for (int n = 0; n < BLOCKS + SAMPLES; n++) fprintf(out, "%016llx%c", sums[n], n % 8 == 7 ? '\n' : ' ');
    fflush(out);
    cudaFree(sums);
}

template <class F> __global__ void fill(u32 *values, u32 first, u32 count) {
    u32 n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) values[n] = F::of(first + n);
}

// The results of `count` operands from one on, 4 bytes each.
template <class F> void values(const char *folder, const char *name, u32 first, u32 count) {
    u32 *list;
    check(cudaMallocManaged(&list, 4ull * count), "memory");
    fill<F><<<(count + 255) / 256, 256>>>(list, first, count);
    check(cudaDeviceSynchronize(), name);
    FILE *f = fopen((std::string(folder) + "/" + name).c_str(), "wb");
    if (!f || fwrite(list, 4, count, f) != count || fclose(f)) {
        perror(name);
        exit(1);
    }
    cudaFree(list);
}

template <class... F> void record_all(FILE *out) { int all[] = {(record<F>(out), 0)...}; (void)all; }

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: record FILE [FOLDER]\n");
        return 2;
    }
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "device");
    FILE *out = fopen(arguments[1], "w");
    if (!out) return perror(arguments[1]), 1;
    const char *about = getenv("ABOUT");
    fprintf(out, "cushim: sums of approximate instructions, version 1\n");
    fprintf(out, "%s (sm_%d%d), %s\n", device.name, device.major, device.minor, about ? about : "");
    record_all<rcp, rcp_ftz, rsqrt_, rsqrt_ftz, sqrt_, sqrt_ftz, ex2, ex2_ftz, lg2, lg2_ftz, sin_, sin_ftz, cos_, cos_ftz, tanh_>(out);
    record_all<div_, div_near, div_ftz, div_ftz_near, full, full_near, full_ftz, full_ftz_near>(out);
    record_all<rcp_double, rsqrt_double, rsqrt_double_ftz>(out);
    record_all<ex2_half, ex2_halves, ex2_bfloat, ex2_bfloats, tanh_half, tanh_halves, tanh_bfloat, tanh_bfloats>(out);
    if (fclose(out)) return perror(arguments[1]), 1;
    if (count > 2) {
        const char *folder = arguments[2];
        const u32 one = 0x3f800000u, binade = 1u << 23;
        values<rcp_ftz>(folder, "rcp", one, binade);
        values<rsqrt_ftz>(folder, "rsqrt", one, 2 * binade);
        values<sqrt_ftz>(folder, "sqrt", one, 2 * binade);
        values<ex2_ftz>(folder, "ex2", one, binade);
        values<lg2_ftz>(folder, "lg2", one + binade, binade);
        // From a quarter of a turn to half of one, and what is around.
        values<sin_ftz>(folder, "sin", one + binade / 2, binade + binade / 2);
        values<tanh_>(folder, "tanh", one - 8 * binade, 11 * binade);
    }
    return 0;
}
