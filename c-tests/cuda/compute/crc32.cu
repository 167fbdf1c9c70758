// CRC-32 with a table made on the device: one message per thread, and one long
// message in parts that are combined.
#include "../common.h"

__device__ unsigned table[256];

__global__ void make_table()
{
    unsigned c = threadIdx.x;
    for (int k = 0; k < 8; k++)
        c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[threadIdx.x] = c;
}

__global__ void of_parts(const unsigned char *text, unsigned *out, int each)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned c = 0;
    for (int i = 0; i < each; i++)
        c = table[(c ^ text[t * each + i]) & 255] ^ c >> 8;
    out[t] = c;
}

// c after n bytes of zero: linear in c.
__device__ unsigned advance(unsigned c, int n)
{
    for (int i = 0; i < n; i++)
        c = table[c & 255] ^ c >> 8;
    return c;
}

__global__ void combine(const unsigned *parts, int n, int each, unsigned *out)
{
    unsigned c = 0xffffffffu;
    for (int i = 0; i < n; i++)
        c = advance(c, each) ^ parts[i];
    *out = ~c;
}

int main()
{
    const int n = 32, each = 64;
    static unsigned char text[n * each];
    for (int i = 0; i < n * each; i++)
        text[i] = (unsigned char)(i * i >> 3);
    memcpy(text, "123456789", 9);
    unsigned char *d = nullptr;
    unsigned *parts = nullptr, *out = nullptr, h = 0;
    NEED(cudaMalloc(&d, sizeof text));
    NEED(cudaMalloc(&parts, n * sizeof(unsigned)));
    NEED(cudaMalloc(&out, sizeof h));
    CK(cudaMemcpy(d, text, sizeof text, cudaMemcpyHostToDevice));
    make_table<<<1, 256>>>();
    of_parts<<<1, n>>>(d, parts, each);
    combine<<<1, 1>>>(parts, n, each, out);
    LAUNCHED("crc");
    CK(cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost));
    unsigned c = ~0u;
    for (unsigned char b : text) {
        c ^= b;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    expect(h == ~c, "long message");
    of_parts<<<1, 1>>>(d, parts, 9);
    CK(cudaMemcpy(&h, parts, sizeof h, cudaMemcpyDeviceToHost));
    combine<<<1, 1>>>(parts, 1, 9, out);
    CK(cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost));
    printf("123456789 has %08x\n", h);
    return finish();
}
