// Bits: counting, finding, reversing, permuting bytes, extracting and inserting fields,
// funnel shifts, Gray codes, Morton codes, parity, and dot products of bytes.
#include "arrays.h"

const int OPS = 20;

__device__ unsigned field(unsigned v, unsigned at, unsigned bits)
{
    unsigned r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(at), "r"(bits));
    return r;
}
__device__ int signed_field(int v, unsigned at, unsigned bits)
{
    int r;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(at), "r"(bits));
    return r;
}
__device__ unsigned insert(unsigned field, unsigned into, unsigned at, unsigned bits)
{
    unsigned r;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(field), "r"(into), "r"(at), "r"(bits));
    return r;
}

__host__ __device__ unsigned spread(unsigned v)
{
    v &= 0xffff;
    v = (v | v << 8) & 0x00ff00ff;
    v = (v | v << 4) & 0x0f0f0f0f;
    v = (v | v << 2) & 0x33333333;
    return (v | v << 1) & 0x55555555;
}

__global__ void tricks(const unsigned *v, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = v[i], y = v[(i + 1) % n], at = y % 33, bits = x % 33, *o = out + i * OPS;
    o[0] = __popc(x);
    o[1] = __clz((int)x);
    o[2] = __ffs((int)x);
    o[3] = __brev(x);
    o[4] = __byte_perm(x, y, 0x5140);
    o[5] = field(x, at, bits);
    o[6] = (unsigned)signed_field((int)x, at, bits);
    o[7] = insert(y, x, at % 32, bits);
    o[8] = __funnelshift_l(x, y, at);
    o[9] = __funnelshift_rc(x, y, at);
    o[10] = x ^ x >> 1;
    o[11] = spread(x) | spread(y) << 1;
    o[12] = __popcll((unsigned long long)x << 32 | y) + 100 * __clzll((long long)x << 7 | y) + 10000 * __ffsll((long long)y << 13);
    o[13] = (unsigned)(__brevll((unsigned long long)x << 32 | y) >> 17);
    o[14] = __vadd4(x, y);
    o[15] = __urhadd(x, y);
    o[16] = __vcmpgtu2(x, y);
    o[17] = __usad(x, y, 5) + __sad((int)x, (int)y, 7u);
    o[18] = (x & y) | (~x & (x ^ 0x1234567u)) | (y & 0x1234567u);
    o[19] = (unsigned)__dp4a((int)x, (int)y, 11) + __dp4a(x, y, 13u);
}

static unsigned byte(unsigned v, int i) { return v >> 8 * i & 0xff; }

static void expected(unsigned x, unsigned y, unsigned *o)
{
    unsigned at = y % 33, bits = x % 33;
    unsigned long long both = (unsigned long long)y << 32 | x, mask = (1ull << bits) - 1;
    o[0] = (unsigned)__builtin_popcount(x);
    o[1] = x ? (unsigned)__builtin_clz(x) : 32;
    o[2] = (unsigned)__builtin_ffs((int)x);
    o[3] = 0;
    for (int i = 0; i < 32; i++)
        o[3] |= (x >> i & 1) << (31 - i);
    o[4] = byte(x, 0) | byte(y, 0) << 8 | byte(x, 1) << 16 | byte(y, 1) << 24;
    o[5] = at > 31 ? 0 : (unsigned)(x >> at & mask);
    // Beyond the word's end the sign bit is repeated.
    unsigned top = at + bits ? at + bits - 1 : 0;
    unsigned sign = bits == 0 ? 0 : (int)x >> (top > 31 ? 31 : top) & 1 ? ~0u : 0;
    o[6] = bits == 0 ? 0 : at > 31 ? sign : (unsigned)((long long)(int)x >> at & mask) | (bits < 32 ? sign << bits : 0);
    o[7] = (unsigned)((x & ~(mask << at % 32)) | (y & mask) << at % 32);
    o[8] = (unsigned)(both << at % 32 >> 32);
    o[9] = (unsigned)(both >> (at > 32 ? 32 : at));
    o[10] = x ^ x >> 1;
    o[11] = spread(x) | spread(y) << 1;
    unsigned long long wide = (unsigned long long)x << 32 | y, shifted = (unsigned long long)x << 7 | y;
    o[12] = (unsigned)(__builtin_popcountll(wide) + 100 * (shifted ? __builtin_clzll(shifted) : 64) +
                       10000 * __builtin_ffsll((long long)y << 13));
    unsigned long long turned = 0;
    for (int i = 0; i < 64; i++)
        turned |= (wide >> i & 1) << (63 - i);
    o[13] = (unsigned)(turned >> 17);
    o[14] = o[16] = 0;
    o[15] = (unsigned)(((unsigned long long)x + y + 1) >> 1);
    int dot = 11;
    unsigned udot = 13;
    for (int i = 0; i < 4; i++) {
        unsigned a = byte(x, i), b = byte(y, i);
        o[14] |= (a + b & 0xff) << 8 * i;
        dot += (int)(signed char)a * (signed char)b;
        udot += a * b;
    }
    o[16] |= (x & 0xffff) > (y & 0xffff) ? 0xffff : 0;
    o[16] |= x >> 16 > y >> 16 ? 0xffff0000u : 0;
    long long a = (int)x, b = (int)y;
    o[17] = (x > y ? x - y : y - x) + 5 + (unsigned)(a > b ? a - b : b - a) + 7;
    o[18] = (x & y) | (~x & (x ^ 0x1234567u)) | (y & 0x1234567u);
    o[19] = (unsigned)dot + udot;
}

int main()
{
    const int n = 500;
    static unsigned v[n], out[n * OPS];
    Numbers numbers(8);
    for (int i = 0; i < n; i++)
        v[i] = numbers.next() << 16 ^ numbers.next();
    v[0] = 0;
    v[1] = 0xffffffffu;
    v[2] = 0x80000000u;
    v[3] = 32;
    unsigned *d_v = upload(v, n), *d_out = zeros<unsigned>(n * OPS), sum = 0;
    NEED(cudaGetLastError());
    tricks<<<4, 128>>>(d_v, d_out, n);
    LAUNCHED("tricks");
    download(out, d_out, n * OPS);
    int wrong[OPS] = {};
    for (int i = 0; i < n; i++) {
        unsigned want[OPS];
        expected(v[i], v[(i + 1) % n], want);
        for (int k = 0; k < OPS; k++) {
            wrong[k] += want[k] != out[i * OPS + k];
            sum = sum * 31 + out[i * OPS + k];
        }
    }
    for (int w : wrong)
        printf("%d ", w);
    printf("wrong\nhash %08x\n", sum);
    return finish();
}
