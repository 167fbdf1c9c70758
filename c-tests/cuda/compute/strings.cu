// Text: MD5 of many messages, all occurrences of a pattern, word counts, rotated
// letters, numbers formatted and parsed.
#include <string>
#include <vector>
#include "arrays.h"

__constant__ unsigned sines[64];
__constant__ unsigned char turns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

__device__ void md5_block(unsigned *state, const unsigned *w)
{
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        unsigned f, g;
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d); g = i; break;
        case 1: f = (d & b) | (~d & c); g = 5 * i + 1; break;
        case 2: f = b ^ c ^ d; g = 3 * i + 5; break;
        default: f = c ^ (b | ~d); g = 7 * i;
        }
        unsigned t = a + f + sines[i] + w[g % 16], by = turns[i / 16 * 4 + i % 4];
        a = d;
        d = c;
        c = b;
        b += t << by | t >> (32 - by);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

// Messages of at most 55 letters: one block each.
__global__ void md5(const char *text, const int *start, int n, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned w[16] = {};
    unsigned char *bytes = (unsigned char *)w;
    int length = start[i + 1] - start[i];
    for (int k = 0; k < length; k++)
        bytes[k] = (unsigned char)text[start[i] + k];
    bytes[length] = 0x80;
    w[14] = (unsigned)length * 8;
    unsigned state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    md5_block(state, w);
    for (int k = 0; k < 4; k++)
        out[i * 4 + k] = state[k];
}

__global__ void find(const char *text, int n, const char *pattern, int m, int *places, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + m > n)
        return;
    for (int k = 0; k < m; k++)
        if (text[i + k] != pattern[k])
            return;
    places[atomicAdd(count, 1)] = i;
}

__device__ bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

__global__ void words(const char *text, int n, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool begins = i < n && letter(text[i]) && (i == 0 || !letter(text[i - 1]));
    int here = __syncthreads_count(begins);
    if (threadIdx.x == 0)
        atomicAdd(count, here);
}

__global__ void rot13(char *text, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && letter(text[i])) {
        char base = text[i] >= 'a' ? 'a' : 'A';
        text[i] = (char)(base + (text[i] - base + 13) % 26);
    }
}

__device__ int write_number(char *to, int v)
{
    char back[12];
    int n = 0, length = 0;
    unsigned u = v < 0 ? 0u - (unsigned)v : (unsigned)v;
    do
        back[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        to[length++] = '-';
    while (n)
        to[length++] = back[--n];
    to[length] = 0;
    return length;
}

__global__ void numbers_as_text(const int *v, char *out, int *back)
{
    char *mine = out + threadIdx.x * 16;
    write_number(mine, v[threadIdx.x]);
    int r = 0, sign = 1;
    for (const char *c = mine; *c; c++)
        if (*c == '-')
            sign = -1;
        else
            r = r * 10 + sign * (*c - '0');
    back[threadIdx.x] = r;
}

int main()
{
    const char *messages[] = {"", "a", "abc", "message digest", "abcdefghijklmnopqrstuvwxyz",
                              "The quick brown fox jumps over the lazy dog"};
    std::string text;
    std::vector<int> start(1, 0);
    for (const char *m : messages) {
        text += m;
        start.push_back((int)text.size());
    }
    unsigned table[64], digests[6 * 4];
    for (int i = 0; i < 64; i++)
        table[i] = (unsigned)(long long)(fabs(sin(i + 1.0)) * 4294967296.0);
    char *d_text = upload(text.data(), text.size());
    int *d_start = upload(start.data(), start.size());
    unsigned *d_digests = zeros<unsigned>(24);
    NEED(cudaGetLastError());
    CK(cudaMemcpyToSymbol(sines, table, sizeof table));
    md5<<<1, 32>>>(d_text, d_start, 6, d_digests);
    LAUNCHED("md5");
    download(digests, d_digests, 24);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 16; k++)
            printf("%02x", digests[i * 4 + k / 4] >> k % 4 * 8 & 0xff);
        printf(" \"%s\"\n", messages[i]);
    }

    std::string book;
    for (int i = 0; i < 60; i++)
        book += i % 3 ? "the cat sat on the mat, " : "A banana; bananas! ";
    int n = (int)book.size(), count[2], blocks = (n + 127) / 128, expected = 0;
    for (size_t at = book.find("ana"); at != std::string::npos; at = book.find("ana", at + 1))
        expected++;
    char *d_book = upload(book.data(), book.size()), *d_pattern = upload("ana", 3);
    int *d_places = zeros<int>(n), *d_count = zeros<int>(2);
    find<<<blocks, 128>>>(d_book, n, d_pattern, 3, d_places, d_count);
    LAUNCHED("find");
    words<<<blocks, 128>>>(d_book, n, d_count + 1);
    LAUNCHED("words");
    download(count, d_count, 2);
    expect(count[0] == expected, "places");
    printf("%d places, %d words\n", count[0], count[1]);
    rot13<<<blocks, 128>>>(d_book, n);
    LAUNCHED("rot13");
    std::string turned(19, ' ');
    download(&turned[0], d_book, 19);
    printf("%s\n", turned.c_str());

    const int v[] = {0, 7, -1, 1000000, 2147483647, -2147483647 - 1, -90210, 42};
    char out[8][16];
    int back[8], *d_v = upload(v, 8), *d_back = zeros<int>(8);
    char *d_out = zeros<char>(sizeof out);
    numbers_as_text<<<1, 8>>>(d_v, d_out, d_back);
    LAUNCHED("numbers");
    download(&out[0][0], d_out, sizeof out);
    download(back, d_back, 8);
    for (auto &o : out)
        printf("%s ", o);
    printf("\n");
    expect(memcmp(back, v, sizeof v) == 0, "read again");
    return finish();
}
