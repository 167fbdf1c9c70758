// Integers of 64 bits: products and their upper halves, quotients and remainders of
// every sign, shifts, and multi-word numbers added with carry.
#include "arrays.h"

const int OPS = 12, N = 12;

__host__ __device__ void all(unsigned long long a, unsigned long long b, unsigned long long *out)
{
    long long s = (long long)a, t = (long long)b;
    unsigned long long d = b ? b : 1;
    long long e = t == 0 || t == -1 ? 1 : t;
    out[0] = a + b;
    out[1] = a - b;
    out[2] = a * b;
    out[3] = a / d;
    out[4] = a % d;
    out[5] = (unsigned long long)(s / e);
    out[6] = (unsigned long long)(s % e);
    out[7] = a << (b & 63);
    out[8] = a >> (b & 63);
    out[9] = (unsigned long long)(s >> (b & 63));
    out[10] = (a < b) + 2 * (s < t) + 4 * (a == b);
#ifdef __CUDA_ARCH__
    out[11] = __umul64hi(a, b) ^ (unsigned long long)__mul64hi(s, t);
#else
    out[11] = (unsigned long long)((unsigned __int128)a * b >> 64) ^ (unsigned long long)((__int128)s * t >> 64);
#endif
}

__global__ void operate(const unsigned long long *v, unsigned long long *out)
{
    int i = blockIdx.x, j = threadIdx.x;
    all(v[i], v[j], out + (i * N + j) * OPS);
}

struct Wide {
    unsigned word[8];
};

// 256 bits, with the processor's carry flag.
__global__ void add_wide(const Wide *a, const Wide *b, Wide *out)
{
    Wide r = *a;
    const Wide &y = *b;
    asm("add.cc.u32 %0, %0, %8;\n\t"
        "addc.cc.u32 %1, %1, %9;\n\t"
        "addc.cc.u32 %2, %2, %10;\n\t"
        "addc.cc.u32 %3, %3, %11;\n\t"
        "addc.cc.u32 %4, %4, %12;\n\t"
        "addc.cc.u32 %5, %5, %13;\n\t"
        "addc.cc.u32 %6, %6, %14;\n\t"
        "addc.u32 %7, %7, %15;"
        : "+r"(r.word[0]), "+r"(r.word[1]), "+r"(r.word[2]), "+r"(r.word[3]), "+r"(r.word[4]), "+r"(r.word[5]),
          "+r"(r.word[6]), "+r"(r.word[7])
        : "r"(y.word[0]), "r"(y.word[1]), "r"(y.word[2]), "r"(y.word[3]), "r"(y.word[4]), "r"(y.word[5]),
          "r"(y.word[6]), "r"(y.word[7]));
    *out = r;
}

// Fibonacci numbers by squaring, modulo a prime near 2^61.
__global__ void fibonacci(unsigned long long n, unsigned long long *out)
{
    const unsigned long long p = (1ull << 61) - 1;
    auto times = [=](unsigned long long x, unsigned long long y) {
        unsigned long long low = x * y, high = __umul64hi(x, y);
        unsigned long long r = (low & p) + ((high << 3) | (low >> 61));
        return r >= p ? r - p : r;
    };
    unsigned long long a = 0, b = 1;
    for (int bit = 63; bit >= 0; bit--) {
        unsigned long long two_b = (b + b) % p, c = times(a, (two_b + p - a) % p), d = (times(a, a) + times(b, b)) % p;
        a = n >> bit & 1 ? d : c;
        b = n >> bit & 1 ? (c + d) % p : d;
    }
    *out = a;
}

int main()
{
    const unsigned long long v[N] = {0, 1, 2, 3, 10, 63, 0x7fffffffull, 0xffffffffull, 0x100000001ull,
                                     0x7fffffffffffffffull, 0x8000000000000000ull, 0xffffffffffffffffull};
    static unsigned long long out[N * N * OPS], want[OPS];
    unsigned long long *d_v = upload(v, N), *d_out = zeros<unsigned long long>(N * N * OPS);
    NEED(cudaGetLastError());
    operate<<<N, N>>>(d_v, d_out);
    LAUNCHED("operate");
    download(out, d_out, N * N * OPS);
    int wrong[OPS] = {};
    for (int i = 0; i < N * N; i++) {
        all(v[i / N], v[i % N], want);
        for (int k = 0; k < OPS; k++)
            wrong[k] += want[k] != out[i * OPS + k];
    }
    for (int k = 0; k < OPS; k++)
        printf("%d ", wrong[k]);
    printf("wrong\n");

    Wide a, b, sum;
    for (int i = 0; i < 8; i++) {
        a.word[i] = 0xffffffffu;
        b.word[i] = i == 0 ? 1 : 0;
    }
    b.word[5] = 7;
    Wide *d_a = upload(&a, 1), *d_b = upload(&b, 1), *d_sum = zeros<Wide>(1);
    add_wide<<<1, 1>>>(d_a, d_b, d_sum);
    LAUNCHED("add_wide");
    download(&sum, d_sum, 1);
    for (int i = 7; i >= 0; i--)
        printf("%08x", sum.word[i]);
    printf("\n");

    unsigned long long f = 0;
    const unsigned long long p = (1ull << 61) - 1;
    fibonacci<<<1, 1>>>(1000, d_out);
    LAUNCHED("fibonacci");
    download(&f, d_out, 1);
    unsigned long long x = 0, y = 1;
    for (int i = 0; i < 1000; i++) {
        unsigned long long z = (x + y) % p;
        x = y;
        y = z;
    }
    expect(f == x, "Fibonacci");
    printf("%llu\n", f);
    return finish();
}
