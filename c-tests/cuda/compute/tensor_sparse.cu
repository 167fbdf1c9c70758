// Products whose first factor stores two of four elements: mma.sp on halves and on bytes, with the metadata words that
// say which.
#include <vector>
#include <cuda_fp16.h>
#include "arrays.h"

typedef unsigned Word;

// 16 rows of 16 of 32 halves; a word has 16 bits of a row and of the one 8 below it; lanes 0 and 1 of four have them.
__global__ void halves(const half *a, const half *b, float *d, const Word *which)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    Word x[4], y[4];
    float sum[4] = {};
    for (int i = 0; i < 4; i++) {
        x[i] = *(const Word *)&a[(g + i % 2 * 8) * 16 + t * 2 + i / 2 * 8];
        y[i] = *(const Word *)&b[g * 32 + t * 2 + i * 8];
    }
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, "
                 "{%0, %1, %2, %3}, %12, 0x0;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(which[lane]));
    for (int i = 0; i < 4; i++)
        d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = sum[i];
}

// 16 rows of 16 of 32 bytes; a word has 32 bits of one row; lanes 2 and 3 of four have them.
__global__ void bytes(const signed char *a, const signed char *b, int *d, const Word *which)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    Word x[2], y[2];
    int sum[4] = {1, 2, 3, 4};
    for (int i = 0; i < 2; i++) {
        x[i] = *(const Word *)&a[(g + i * 8) * 16 + t * 4];
        y[i] = *(const Word *)&b[g * 32 + t * 4 + i * 16];
    }
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, "
                 "0x1;"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]), "r"(which[lane]));
    for (int i = 0; i < 4; i++)
        d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = sum[i];
}

int main()
{
    NEED(cudaFree(nullptr));
    Numbers numbers(3);
    // For each row, which two of each four elements are stored.
    unsigned char place[16][8][2];
    for (auto &row : place)
        for (auto &two : row) {
            two[0] = (unsigned char)numbers.below(3);
            two[1] = (unsigned char)(two[0] + 1 + numbers.below(3 - two[0]));
        }
    std::vector<Word> of_halves(32), of_bytes(32);
    for (int row = 0; row < 16; row++)
        for (int n = 0; n < 8; n++) {
            Word code = place[row][n][0] | place[row][n][1] << 2;
            of_halves[row % 8 * 4 + n / 4] |= code << (n % 4 * 4 + row / 8 * 16);
            of_bytes[row % 8 * 4 + 2 + row / 8] |= code << (n * 4);
        }
    std::vector<half> a(16 * 16), b(8 * 32);
    for (auto &v : a)
        v = __float2half((float)((int)numbers.below(33) - 16) / 4);
    for (auto &v : b)
        v = __float2half((float)((int)numbers.below(33) - 16) / 8);
    std::vector<float> d(128);
    half *da = upload(a.data(), a.size()), *db = upload(b.data(), b.size());
    float *dd = zeros<float>(128);
    Word *dw = upload(of_halves.data(), 32);
    halves<<<1, 32>>>(da, db, dd, dw);
    LAUNCHED("halves");
    download(d.data(), dd, 128);
    bool right = true;
    for (int i = 0; i < 128; i++) {
        float sum = 0;
        for (int j = 0; j < 16; j++)
            sum += (float)a[i / 8 * 16 + j] * (float)b[i % 8 * 32 + j / 2 * 4 + place[i / 8][j / 2][j % 2]];
        right &= sum == d[i];
    }
    expect(right, "halves");

    std::vector<signed char> p(16 * 16), q(8 * 32);
    for (auto &v : p)
        v = (signed char)numbers.next();
    for (auto &v : q)
        v = (signed char)numbers.next();
    std::vector<int> r(128);
    signed char *dp = upload(p.data(), p.size()), *dq = upload(q.data(), q.size());
    int *dr = zeros<int>(128);
    Word *dv = upload(of_bytes.data(), 32);
    bytes<<<1, 32>>>(dp, dq, dr, dv);
    LAUNCHED("bytes");
    download(r.data(), dr, 128);
    right = true;
    for (int i = 0; i < 128; i++) {
        int sum = 1 + i % 2 + i / 64 * 2;
        for (int j = 0; j < 16; j++)
            sum += p[i / 8 * 16 + j] * q[i % 8 * 32 + j / 2 * 4 + place[i / 8][j / 2][j % 2]];
        right &= sum == r[i];
    }
    expect(right, "bytes");
    return finish();
}
