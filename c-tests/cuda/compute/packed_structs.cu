// Structures as real programs have them: packed, with bit fields, with unions,
// nested, by value as an argument, with the same layout on both sides.
#include <cstddef>
#include "arrays.h"

#pragma pack(push, 1)
struct Packed {
    char tag;
    short small;
    int number;
    double real;
    char tail[3];
};
#pragma pack(pop)

struct Bits {
    unsigned a : 3, b : 7, c : 1;
    int d : 9;
    unsigned long long e : 40;
};

union Either {
    float real;
    unsigned bits;
    unsigned char byte[4];
};

struct alignas(16) Aligned {
    float4 v;
    char flag;
    Either either;
};

struct Nested {
    Packed packed[2];
    char odd;
    struct {
        Bits bits;
        long long wide;
    } inner;
};

__global__ void layout(unsigned long long *out)
{
    out[0] = sizeof(Packed) * 1000 + offsetof(Packed, number);
    out[1] = sizeof(Bits);
    out[2] = sizeof(Aligned) * 1000 + alignof(Aligned);
    out[3] = sizeof(Nested) * 1000 + offsetof(Nested, inner);
}

// Reads at any address: assembles the value from bytes where it is not aligned.
__global__ void from_bytes(const unsigned char *raw, int n, int stride, long long *out)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    Packed p;
    memcpy(&p, raw + i * stride, sizeof p);
    out[i] = p.tag + 10ll * p.small + 1000ll * p.number + (long long)p.real + p.tail[2];
}

__global__ void change(Packed *p, Bits *b, Aligned *a, int n)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    Packed copy = p[i];
    copy.small = (short)(copy.small * 2);
    copy.real += 0.5;
    p[i] = copy;
    p[i].tail[1] = (char)('a' + i);
    b[i].a = (unsigned)i;
    b[i].b = b[i].b + 1;
    b[i].d = -i;
    b[i].e = (1ull << 40) - 1 - (unsigned)i;
    a[i].v.x += a[i].v.w;
    a[i].either.real = (float)i;
    a[i].flag = (char)a[i].either.byte[3];
}

__global__ void by_value(Nested n, Packed p, char c, Aligned a, short s, long long *out)
{
    out[0] = n.packed[1].number + n.inner.wide + n.odd + n.inner.bits.b + p.number + c + (long long)a.v.y + s;
}

int main()
{
    unsigned long long sizes[4], *d_sizes = zeros<unsigned long long>(4);
    NEED(cudaGetLastError());
    layout<<<1, 1>>>(d_sizes);
    LAUNCHED("layout");
    download(sizes, d_sizes, 4);
    expect(sizes[0] == sizeof(Packed) * 1000 + offsetof(Packed, number) && sizes[1] == sizeof(Bits) &&
               sizes[2] == sizeof(Aligned) * 1000 + alignof(Aligned) &&
               sizes[3] == sizeof(Nested) * 1000 + offsetof(Nested, inner), "layout");

    const int n = 12, stride = 21;
    unsigned char raw[n * stride] = {};
    Packed p[n] = {};
    Bits b[n] = {};
    Aligned a[n] = {};
    for (int i = 0; i < n; i++) {
        p[i] = {(char)i, (short)(-i * 3), i * 1000 + 7, i * 2.5, {'x', 'y', (char)(i + 1)}};
        memcpy(raw + i * stride, &p[i], sizeof p[i]);
        b[i].b = 125;
        a[i].v = make_float4(1, 2, 3, (float)i);
    }
    unsigned char *d_raw = upload(raw, sizeof raw);
    long long *d_out = zeros<long long>(n), out[n];
    from_bytes<<<1, 32>>>(d_raw, n, stride, d_out);
    LAUNCHED("from_bytes");
    download(out, d_out, n);
    bool right = true;
    for (int i = 0; i < n; i++)
        right = right && out[i] == p[i].tag + 10ll * p[i].small + 1000ll * p[i].number + (long long)p[i].real + p[i].tail[2];
    expect(right, "from any byte");
    Packed *d_p = upload(p, n);
    Bits *d_b = upload(b, n);
    Aligned *d_a = upload(a, n);
    change<<<1, 32>>>(d_p, d_b, d_a, n);
    LAUNCHED("change");
    Packed q[n];
    download(q, d_p, n);
    download(b, d_b, n);
    download(a, d_a, n);
    right = true;
    for (int i = 0; i < n; i++) {
        Either e;
        e.real = (float)i;
        right = right && q[i].small == p[i].small * 2 && q[i].real == p[i].real + 0.5 && q[i].number == p[i].number &&
                q[i].tail[0] == 'x' && q[i].tail[1] == 'a' + i && b[i].a == (unsigned)i % 8 && b[i].b == 126 &&
                b[i].d == -i && b[i].e == (1ull << 40) - 1 - (unsigned)i && b[i].c == 0 && a[i].v.x == 1 + i &&
                a[i].either.bits == e.bits && a[i].flag == (char)e.byte[3];
    }
    expect(right, "changed");
    Nested nested = {};
    nested.packed[1].number = 100000;
    nested.inner.wide = 5000000000ll;
    nested.odd = 3;
    nested.inner.bits.b = 44;
    by_value<<<1, 1>>>(nested, p[5], 'c', a[2], -9, d_out);
    LAUNCHED("by_value");
    download(out, d_out, 1);
    printf("%lld\n", out[0]);
    return finish();
}
