// nvcuda::wmma: a tiled product of larger matrices for each type and shape, through shared memory, with every layout.
// Integer sums are exact; floating-point sums are compared with sums of doubles, and a digest of their bits shows that the
// device's own rounding is reproduced.
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include "arrays.h"

using namespace nvcuda;

// One warp for each tile of the result; shared memory holds `K` steps at a time.
template <int M, int N, int K, typename In, typename Sum, typename Stored, typename LA, typename LB>
__global__ void gemm(const Stored *a, const Stored *b, const Sum *c, Sum *d, int m, int n, int k, int lda, int ldb)
{
    __shared__ __align__(32) Stored tile[M * K];
    int row = blockIdx.y * M, column = blockIdx.x * N;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(sum, c + row * n + column, n, wmma::mem_row_major);
    for (int at = 0; at < k; at += K) {
        wmma::fragment<wmma::matrix_a, M, N, K, In, LA> x;
        wmma::fragment<wmma::matrix_b, M, N, K, In, LB> y;
        bool by_row = __is_same(LA, wmma::row_major);
        for (int i = threadIdx.x; i < M * K; i += 32) {
            int r = by_row ? i / K : i % M, l = by_row ? i % K : i / M;
            tile[i] = by_row ? a[(row + r) * lda + at + l] : a[(at + l) * lda + row + r];
        }
        __syncwarp();
        wmma::load_matrix_sync(x, tile, by_row ? K : M);
        bool second_by_row = __is_same(LB, wmma::row_major);
        wmma::load_matrix_sync(y, second_by_row ? b + at * ldb + column : b + column * ldb + at, ldb);
        wmma::mma_sync(sum, x, y, sum);
        __syncwarp();
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = sum.x[i] + sum.x[i];
    wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

static unsigned digest(const void *bytes, size_t n)
{
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return h;
}

template <typename T> static double number(T v) { return (double)(float)v; }
template <> double number(double v) { return v; }
template <> double number(int v) { return v; }

template <int M, int N, int K, typename In, typename Sum, typename Stored, typename LA, typename LB, typename Make>
static void product(const char *name, Make make, double share)
{
    const int m = 2 * M, n = 3 * N, k = 5 * K;
    Numbers numbers(M * 100 + N * 10 + K);
    std::vector<Stored> a(m * k), b(k * n);
    std::vector<Sum> c(m * n), d(m * n);
    for (auto &v : a)
        v = make(numbers);
    for (auto &v : b)
        v = make(numbers);
    for (auto &v : c)
        v = (Sum)(float)((int)numbers.below(64) - 32);
    const bool ra = __is_same(LA, wmma::row_major), rb = __is_same(LB, wmma::row_major);
    Stored *da = upload(a.data(), a.size()), *db = upload(b.data(), b.size());
    Sum *dc = upload(c.data(), c.size()), *dd = zeros<Sum>(d.size());
    gemm<M, N, K, In, Sum, Stored, LA, LB><<<dim3(n / N, m / M), 32>>>(da, db, dc, dd, m, n, k, ra ? k : m, rb ? n : k);
    LAUNCHED(name);
    download(d.data(), dd, d.size());
    bool right = true;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = number(c[i * n + j]), size = std::fabs(sum);
            for (int l = 0; l < k; l++) {
                double x = number(a[ra ? i * k + l : l * m + i]), y = number(b[rb ? l * n + j : j * k + l]);
                sum += x * y;
                size += std::fabs(x * y);
            }
            right &= std::fabs(2 * sum - number(d[i * n + j])) <= share * 2 * size;
        }
    expect(right, name);
    printf("%s: %08x\n", name, digest(d.data(), d.size() * sizeof(Sum)));
    cudaFree(da), cudaFree(db), cudaFree(dc), cudaFree(dd);
}

// Bits and 4-bit elements are packed in words: several per word in rows of a and columns of b.
template <typename In, typename Multiply>
__global__ void small(const int *a, const int *b, int *d, int n, int words, Multiply multiply)
{
    const int K = sizeof(typename Multiply::Tag) == 1 ? 128 : 32;
    wmma::fragment<wmma::accumulator, 8, 8, K, int> sum;
    wmma::fill_fragment(sum, 7);
    for (int at = 0; at < words * 32 / (128 / K); at += K) {
        wmma::fragment<wmma::matrix_a, 8, 8, K, In, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 8, 8, K, In, wmma::col_major> y;
        int per = K == 128 ? 32 : 8;
        wmma::load_matrix_sync(x, a + blockIdx.y * 8 * words + at / per, words * per);
        wmma::load_matrix_sync(y, b + blockIdx.x * 8 * words + at / per, words * per);
        multiply(sum, x, y);
    }
    wmma::store_matrix_sync(d + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}

struct Bits {
    typedef char Tag;
    template <typename S, typename X, typename Y> __device__ void operator()(S &s, X &x, Y &y)
    {
        wmma::bmma_sync(s, x, y, s);
    }
};

struct BothBits {
    typedef char Tag;
    template <typename S, typename X, typename Y> __device__ void operator()(S &s, X &x, Y &y)
    {
        wmma::bmma_sync(s, x, y, s, wmma::experimental::bmmaBitOpAND);
    }
};

struct Nibbles {
    typedef int Tag;
    template <typename S, typename X, typename Y> __device__ void operator()(S &s, X &x, Y &y)
    {
        wmma::mma_sync(s, x, y, s);
    }
};

static int nibble(int word, int at, bool negative)
{
    int v = (unsigned)word >> (4 * at) & 15;
    return negative && v > 7 ? v - 16 : v;
}

template <typename In, typename Multiply, typename Count>
static void packed(const char *name, Count count)
{
    const int n = 16, words = 16;
    Numbers numbers(77);
    std::vector<int> a(n * words), b(n * words), d(n * n);
    for (auto &v : a)
        v = (int)(numbers.next() << 12 ^ numbers.next());
    for (auto &v : b)
        v = (int)(numbers.next() << 12 ^ numbers.next());
    int *da = upload(a.data(), a.size()), *db = upload(b.data(), b.size()), *dd = zeros<int>(d.size());
    small<In><<<dim3(n / 8, n / 8), 32>>>(da, db, dd, n, words, Multiply());
    LAUNCHED(name);
    download(d.data(), dd, d.size());
    bool right = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int sum = 7;
            for (int w = 0; w < words; w++)
                sum += count(a[i * words + w], b[j * words + w]);
            right &= sum == d[i * n + j];
        }
    expect(right, name);
    cudaFree(da), cudaFree(db), cudaFree(dd);
}

static int ones(unsigned v)
{
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

template <bool negative> static int nibbles(int x, int y)
{
    int sum = 0;
    for (int k = 0; k < 8; k++)
        sum += nibble(x, k, negative) * nibble(y, k, negative);
    return sum;
}

// Numbers of different sizes.
static float spread(Numbers &n)
{
    float v = n.unit() - 0.5f;
    return n.below(3) ? v : v * 37.0f;
}

typedef wmma::row_major Row;
typedef wmma::col_major Col;

int main()
{
    NEED(cudaFree(nullptr));
    auto half_of = [](Numbers &n) { return __float2half(spread(n)); };
    auto bf16_of = [](Numbers &n) { return __float2bfloat16(spread(n)); };
    auto tf32_of = [](Numbers &n) { return (float)__float2bfloat16(spread(n)); };
    auto double_of = [](Numbers &n) { return (double)spread(n) * 1.0000001; };
    auto byte_of = [](Numbers &n) { return (unsigned char)n.below(256); };
    auto signed_of = [](Numbers &n) { return (signed char)(n.below(256) - 128); };
    product<16, 16, 16, half, float, half, Row, Col>("halves, 16x16x16, row, col", half_of, 1e-6);
    product<16, 16, 16, half, float, half, Col, Row>("halves, 16x16x16, col, row", half_of, 1e-6);
    product<8, 32, 16, half, float, half, Row, Row>("halves, 8x32x16, row, row", half_of, 1e-6);
    product<32, 8, 16, half, float, half, Col, Col>("halves, 32x8x16, col, col", half_of, 1e-6);
    product<16, 16, 16, half, half, half, Row, Col>("halves in halves, 16x16x16", half_of, 5e-3);
    product<32, 8, 16, half, half, half, Row, Row>("halves in halves, 32x8x16", half_of, 5e-3);
    product<16, 16, 16, __nv_bfloat16, float, __nv_bfloat16, Row, Col>("bf16, 16x16x16", bf16_of, 1e-6);
    product<8, 32, 16, __nv_bfloat16, float, __nv_bfloat16, Col, Row>("bf16, 8x32x16", bf16_of, 1e-6);
    product<32, 8, 16, __nv_bfloat16, float, __nv_bfloat16, Row, Row>("bf16, 32x8x16", bf16_of, 1e-6);
    product<16, 16, 8, wmma::precision::tf32, float, float, Row, Col>("tf32, 16x16x8, row, col", tf32_of, 1e-6);
    product<16, 16, 8, wmma::precision::tf32, float, float, Col, Row>("tf32, 16x16x8, col, row", tf32_of, 1e-6);
    product<8, 8, 4, double, double, double, Row, Col>("doubles, 8x8x4, row, col", double_of, 1e-14);
    product<8, 8, 4, double, double, double, Col, Row>("doubles, 8x8x4, col, row", double_of, 1e-14);
    product<16, 16, 16, unsigned char, int, unsigned char, Row, Col>("u8, 16x16x16", byte_of, 0);
    product<16, 16, 16, signed char, int, signed char, Col, Row>("s8, 16x16x16", signed_of, 0);
    product<8, 32, 16, signed char, int, signed char, Row, Row>("s8, 8x32x16", signed_of, 0);
    product<32, 8, 16, unsigned char, int, unsigned char, Col, Col>("u8, 32x8x16", byte_of, 0);
    typedef wmma::experimental::precision::b1 Bit;
    packed<Bit, Bits>("bits that differ", [](int x, int y) { return ones(x ^ y); });
    packed<Bit, BothBits>("bits in both", [](int x, int y) { return ones(x & y); });
    packed<wmma::experimental::precision::s4, Nibbles>("s4", nibbles<true>);
    packed<wmma::experimental::precision::u4, Nibbles>("u4", nibbles<false>);
    return finish();
}
