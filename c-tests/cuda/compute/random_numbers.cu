// A counter-based generator (Philox 4x32-10) compared with its published
// results, a shuffle with it, and AES compared with its published result.
#include <algorithm>
#include <vector>
#include "arrays.h"

__host__ __device__ void philox(unsigned *c, unsigned k0, unsigned k1)
{
    for (int round = 0; round < 10; round++) {
        unsigned long long p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
        unsigned next[4] = {(unsigned)(q >> 32) ^ c[1] ^ k0, (unsigned)q, (unsigned)(p >> 32) ^ c[3] ^ k1, (unsigned)p};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

__global__ void known(const unsigned *counter, const unsigned *key, unsigned *out)
{
    unsigned c[4];
    for (int i = 0; i < 4; i++)
        c[i] = counter[threadIdx.x * 4 + i];
    philox(c, key[threadIdx.x * 2], key[threadIdx.x * 2 + 1]);
    for (int i = 0; i < 4; i++)
        out[threadIdx.x * 4 + i] = c[i];
}

__global__ void moments(int each, unsigned long long *sum, unsigned *buckets)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long mine = 0;
    for (int i = 0; i < each; i++) {
        unsigned c[4] = {(unsigned)i, t, 0, 0};
        philox(c, 17, 4);
        for (unsigned v : c) {
            mine += v;
            atomicAdd(&buckets[v >> 28], 1);
        }
    }
    atomicAdd(sum, mine);
}

__constant__ unsigned char box[256];

// Each thread encrypts one block of 16 bytes, including the key schedule.
__global__ void aes(const unsigned char *text, const unsigned char *key, unsigned char *out)
{
    unsigned char s[16], k[16], t[16];
    text += threadIdx.x * 16;
    for (int i = 0; i < 16; i++) {
        k[i] = key[i];
        s[i] = text[i] ^ k[i];
    }
    unsigned char constant = 1;
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < 16; i++)
            t[i] = box[s[(i + i % 4 * 4) % 16]];
        for (int c = 0; c < 16; c += 4)
            for (int r = 0; r < 4; r++) {
                unsigned a = t[c + r], b = t[c + (r + 1) % 4], sum = a ^ b;
                unsigned all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3];
                s[c + r] = (unsigned char)(round == 10 ? a : a ^ all ^ (sum << 1 ^ (sum >> 7) * 0x1b));
            }
        for (int i = 0; i < 4; i++)
            k[i] ^= box[k[12 + (i + 1) % 4]] ^ (i == 0 ? constant : 0);
        for (int i = 4; i < 16; i++)
            k[i] ^= k[i - 4];
        constant = (unsigned char)(constant << 1 ^ (constant >> 7) * 0x1b);
        for (int i = 0; i < 16; i++)
            s[i] ^= k[i];
    }
    for (int i = 0; i < 16; i++)
        out[threadIdx.x * 16 + i] = s[i];
}

static void make_box(unsigned char *box)
{
    auto turn = [](unsigned v, int by) { return (v << by | v >> (8 - by)) & 0xff; };
    unsigned p = 1, q = 1;
    do {
        p = (p ^ p << 1 ^ (p >> 7) * 0x1b) & 0xff;
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        q &= 0xff;
        q ^= (q >> 7) * 0x09;
        box[p] = (unsigned char)(q ^ turn(q, 1) ^ turn(q, 2) ^ turn(q, 3) ^ turn(q, 4) ^ 0x63);
    } while (p != 1);
    box[0] = 0x63;
}

int main()
{
    const unsigned counters[12] = {0, 0, 0, 0, ~0u, ~0u, ~0u, ~0u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const unsigned keys[6] = {0, 0, ~0u, ~0u, 0xa4093822, 0x299f31d0};
    unsigned out[12], *d_out = zeros<unsigned>(12), *d_counters = upload(counters, 12), *d_keys = upload(keys, 6);
    NEED(cudaGetLastError());
    known<<<1, 3>>>(d_counters, d_keys, d_out);
    LAUNCHED("known");
    download(out, d_out, 12);
    for (int i = 0; i < 12; i++)
        printf("%08x%c", out[i], i % 4 == 3 ? '\n' : ' ');

    unsigned long long sum = 0, want = 0, *d_sum = zeros<unsigned long long>(1);
    unsigned buckets[16], counted[16] = {}, *d_buckets = zeros<unsigned>(16);
    moments<<<2, 64>>>(8, d_sum, d_buckets);
    LAUNCHED("moments");
    download(&sum, d_sum, 1);
    download(buckets, d_buckets, 16);
    for (unsigned t = 0; t < 128; t++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned c[4] = {i, t, 0, 0};
            philox(c, 17, 4);
            for (unsigned v : c) {
                want += v;
                counted[v >> 28]++;
            }
        }
    expect(sum == want && memcmp(buckets, counted, sizeof buckets) == 0, "many");
    printf("mean %.4f\n", (double)sum / 4096 / 4294967296.0);

    unsigned char table[256], text[32], key[16], coded[32];
    make_box(table);
    for (int i = 0; i < 16; i++) {
        text[i] = (unsigned char)(i * 0x11);
        text[16 + i] = 0;
        key[i] = (unsigned char)i;
    }
    unsigned char *d_text = upload(text, 32), *d_key = upload(key, 16), *d_coded = zeros<unsigned char>(32);
    CK(cudaMemcpyToSymbol(box, table, sizeof table));
    aes<<<1, 2>>>(d_text, d_key, d_coded);
    LAUNCHED("aes");
    download(coded, d_coded, 32);
    for (int i = 0; i < 32; i++)
        printf("%02x%s", coded[i], i % 16 == 15 ? "\n" : "");
    return finish();
}
