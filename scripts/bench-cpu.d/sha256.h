// SHA-256 (FIPS 180-4) of one block: the constants, and the rounds, which the kernel and the C code share.
#define SHA_ROUNDS { \
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, \
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, \
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, \
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, \
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, \
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, \
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, \
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}
#define SHA_START { \
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
#define SHA_TURN(v, n) ((v) >> (n) | (v) << (32 - (n)))
// w: the 16 words; h: the digest.
#define SHA_BLOCK(w, h, rounds) \
    { \
        const unsigned start[8] = SHA_START; \
        unsigned a = start[0], b = start[1], c = start[2], d = start[3]; \
        unsigned e = start[4], f = start[5], g = start[6], i = start[7]; \
        _Pragma("unroll") for (int k = 0; k < 64; k++) { \
            if (k >= 16) { \
                unsigned p = w[(k + 1) & 15], q = w[(k + 14) & 15]; \
                w[k & 15] += (SHA_TURN(p, 7) ^ SHA_TURN(p, 18) ^ p >> 3) + w[(k + 9) & 15] + \
                             (SHA_TURN(q, 17) ^ SHA_TURN(q, 19) ^ q >> 10); \
            } \
            unsigned t = i + (SHA_TURN(e, 6) ^ SHA_TURN(e, 11) ^ SHA_TURN(e, 25)) + (g ^ (e & (f ^ g))) + rounds[k] + \
                         w[k & 15]; \
            unsigned u = (SHA_TURN(a, 2) ^ SHA_TURN(a, 13) ^ SHA_TURN(a, 22)) + ((a & b) | (c & (a | b))); \
            i = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u; \
        } \
        h[0] = a + start[0], h[1] = b + start[1], h[2] = c + start[2], h[3] = d + start[3]; \
        h[4] = e + start[4], h[5] = f + start[5], h[6] = g + start[6], h[7] = i + start[7]; \
    }
