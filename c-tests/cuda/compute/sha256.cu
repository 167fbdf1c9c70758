// SHA-256 of many messages at once, one for each thread, against known digests.
#include "../common.h"

__constant__ unsigned round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned v, int by) { return __funnelshift_r(v, v, by); }

__device__ void block(unsigned *state, const unsigned char *bytes)
{
    unsigned w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = bytes[4 * i] << 24 | bytes[4 * i + 1] << 16 | bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        unsigned a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++)
        v[i] = state[i];
    for (int i = 0; i < 64; i++) {
        unsigned s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        unsigned t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + w[i];
        unsigned s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        unsigned t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int j = 7; j > 0; j--)
            v[j] = v[j - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

__global__ void digest(const unsigned char *text, const int *begins, unsigned *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    const unsigned char *message = text + begins[t];
    int length = begins[t + 1] - begins[t];
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {};
    int whole = length / 64;
    for (int i = 0; i < whole; i++)
        block(state, message + 64 * i);
    int rest = length % 64, padded = rest < 56 ? 64 : 128;
    for (int i = 0; i < rest; i++)
        last[i] = message[64 * whole + i];
    last[rest] = 0x80;
    for (int i = 0; i < 4; i++)
        last[padded - 1 - i] = (unsigned)(8 * length) >> 8 * i;
    for (int i = 0; i < padded; i += 64)
        block(state, last + i);
    for (int i = 0; i < 8; i++)
        out[8 * t + i] = state[i];
}

int main()
{
    const char *known[] = {"", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    const int n = 67;
    static unsigned char text[8192];
    int begins[n + 1] = {}, at = 0;
    for (int i = 0; i < n; i++) {
        begins[i] = at;
        if (i < 3) {
            memcpy(text + at, known[i], strlen(known[i]));
            at += (int)strlen(known[i]);
        } else
            for (int j = 0; j < i * 2 - 3; j++)
                text[at++] = 'a' + (i + j) % 26;
    }
    begins[n] = at;
    unsigned char *d = nullptr;
    int *db = nullptr;
    unsigned *out = nullptr;
    static unsigned h[8 * n];
    NEED(cudaMalloc(&d, sizeof text));
    NEED(cudaMalloc(&db, sizeof begins));
    NEED(cudaMalloc(&out, sizeof h));
    CK(cudaMemcpy(d, text, sizeof text, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(db, begins, sizeof begins, cudaMemcpyHostToDevice));
    digest<<<3, 32>>>(d, db, out, n);
    LAUNCHED("digest");
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    for (int i : {0, 1, 2, 30, 31, 33, 34, 66}) {
        printf("%3d ", begins[i + 1] - begins[i]);
        for (int j = 0; j < 8; j++)
            printf("%08x", h[8 * i + j]);
        printf("\n");
    }
    return finish();
}
