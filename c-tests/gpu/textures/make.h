// Random numbers, arrays and textures, and the recording of a kernel's results.
#pragma once
#include "kernels.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdint.h>
#include <string>
#include <vector>
typedef std::vector<float4> Cs;
static FILE *data, *idx;
static long off = 0;
static uint64_t seed = 1;
static uint64_t rnd()
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static float frnd() { return (rnd() >> 40) * (1.0f / 16777216.0f); }
static float fbits(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}
#define CU(x)                                                                                                        \
    do {                                                                                                             \
        CUresult r_ = (x);                                                                                           \
        if (r_) {                                                                                                    \
            printf("FAIL line %d: %s = %d\n", __LINE__, #x, r_);                                                     \
            fflush(stdout);                                                                                          \
        }                                                                                                            \
    } while (0)
typedef void (*Kern)(ARGS);
static int fill(const void *p, size_t n)
{
    fwrite(p, 1, n, data);
    int at = (int)off;
    off += n;
    return at;
}
struct Set {
    float4 *dev[3];
    int n;
    std::string name;
};
static float4 *up(const Cs &c)
{
    float4 *p;
    cudaMalloc(&p, c.size() * 16);
    cudaMemcpy(p, c.data(), c.size() * 16, cudaMemcpyHostToDevice);
    return p;
}
static Set set(const char *name, int dims, const Cs &c, const Cs *d = 0, const Cs *e = 0)
{
    Set s;
    s.n = (int)c.size();
    s.name = name;
    const Cs *all[3] = {&c, d, e};
    for (int k = 0; k < 3; k++) {
        s.dev[k] = 0;
        if (!all[k])
            continue;
        s.dev[k] = up(*all[k]);
        std::vector<float> f;
        for (auto &v : *all[k]) {
            const float *p = &v.x;
            f.insert(f.end(), p, p + (k ? 4 : dims));
        }
        int at = fill(f.data(), f.size() * 4);
        fprintf(idx, "set %s %d %d %d %d\n", name, k, at, s.n, k ? 4 : dims);
    }
    return s;
}
static int group(Kern k)
{
    if (k == (Kern)q2)
        return 1;
    if (k == (Kern)sq2)
        return 2;
    if (k == (Kern)tres)
        return 5;
    if (k == (Kern)g3 || k == (Kern)gcube)
        return 6;
    if (k == (Kern)ql)
        return 7;
    if (k == (Kern)q1)
        return 8;
    if (k == (Kern)sq)
        return 9;
    if (k == (Kern)goff || k == (Kern)toff)
        return 10;
    if (k == (Kern)gcr || k == (Kern)gai)
        return 11;
    if (k == (Kern)l2i || k == (Kern)g2l)
        return 13;
    if (k == (Kern)b2)
        return 14;
    if (k == (Kern)ta2i || k == (Kern)t3fi || k == (Kern)t2fi)
        return 15;
    if (k == (Kern)sp2t || k == (Kern)sp2c || k == (Kern)sp2z || k == (Kern)sp1t || k == (Kern)sp1c ||
        k == (Kern)sp1z)
        return 3;
    if (k == (Kern)srpt || k == (Kern)srpc || k == (Kern)srpz)
        return 4;
    if (k == (Kern)sr2t || k == (Kern)sr2c || k == (Kern)sr2z || k == (Kern)srmt || k == (Kern)srmc ||
        k == (Kern)srmz)
        return 12;
    return 0;
}
static uint4 *outbuf = 0;
static int outn = 0;
static void rec(const std::string &name, Kern k, CUtexObject t, const Set &s, int chans = 1)
{
    if (group(k) != GROUP)
        return;
    if (!t && name.substr(0, 4) != "none") {
        fprintf(idx, "nohandle %s\n", name.c_str());
        return;
    }
    if (outn < s.n) {
        if (outbuf)
            cudaFree(outbuf);
        cudaMalloc(&outbuf, s.n * 16);
        outn = s.n;
    }
    k<<<(s.n + 127) / 128, 128>>>(t, s.dev[0], s.dev[1], s.dev[2], outbuf, s.n);
    std::vector<uint4> h(s.n);
    cudaError_t el = cudaGetLastError(), er = cudaMemcpy(h.data(), outbuf, s.n * 16, cudaMemcpyDeviceToHost);
    if (el)
        er = el;
    if (er) {
        printf("%s: error %d %s\n", name.c_str(), er, cudaGetErrorName(er));
        fprintf(idx, "error %s %d\n", name.c_str(), er);
        return;
    }
    std::vector<uint32_t> f;
    for (int ch = 0; ch < chans; ch++)
        for (auto &v : h)
            f.push_back((&v.x)[ch]);
    int at = fill(f.data(), f.size() * 4);
    fprintf(idx, "rec %s %s %d %d %d\n", name.c_str(), s.name.c_str(), at, s.n, chans);
    fflush(idx);
}
static int fsize(int f) { return f == 1 || f == 8 ? 1 : f == 2 || f == 9 || f == 16 ? 2 : 4; }
static void upload(CUarray a, int bytes, int w, int h, int d, const void *p)
{
    CUDA_MEMCPY3D m;
    memset(&m, 0, sizeof m);
    m.srcMemoryType = CU_MEMORYTYPE_HOST;
    m.srcHost = p;
    m.srcPitch = (size_t)w * bytes;
    m.srcHeight = h ? h : 1;
    m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    m.dstArray = a;
    m.WidthInBytes = (size_t)w * bytes;
    m.Height = h ? h : 1;
    m.Depth = d ? d : 1;
    CU(cuMemcpy3D(&m));
}
static CUarray mk(int f, int ch, int w, int h, int d, int flags, const void *p)
{
    CUDA_ARRAY3D_DESCRIPTOR a;
    memset(&a, 0, sizeof a);
    a.Width = w;
    a.Height = h;
    a.Depth = d;
    a.Format = (CUarray_format)f;
    a.NumChannels = ch;
    a.Flags = flags;
    CUarray r = 0;
    CU(cuArray3DCreate(&r, &a));
    if (p && r)
        upload(r, fsize(f) * ch, w, h, d, p);
    return r;
}
struct How {
    int addr, filt, flags;
    float border[4];
    int mip;
    float bias, lo, hi;
    int aniso;
};
static How how(int addr, int filt, int flags)
{
    How h;
    memset(&h, 0, sizeof h);
    h.addr = addr;
    h.filt = filt;
    h.flags = flags;
    h.border[0] = 1000.25f;
    h.border[1] = -3;
    h.border[2] = 7;
    h.border[3] = 0.3f;
    h.hi = 100;
    return h;
}
static CUtexObject mktex(CUDA_RESOURCE_DESC r, How w)
{
    CUDA_TEXTURE_DESC t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < 3; i++)
        t.addressMode[i] = (CUaddress_mode)w.addr;
    t.filterMode = (CUfilter_mode)w.filt;
    t.flags = w.flags;
    memcpy(t.borderColor, w.border, 16);
    t.mipmapFilterMode = (CUfilter_mode)w.mip;
    t.mipmapLevelBias = w.bias;
    t.minMipmapLevelClamp = w.lo;
    t.maxMipmapLevelClamp = w.hi;
    t.maxAnisotropy = w.aniso;
    CUtexObject o = 0;
    CU(cuTexObjectCreate(&o, &r, &t, 0));
    return o;
}
static CUDA_RESOURCE_DESC res(CUarray a)
{
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = a;
    return r;
}
static CUDA_RESOURCE_DESC resm(CUmipmappedArray a)
{
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    r.res.mipmap.hMipmappedArray = a;
    return r;
}
static CUDA_RESOURCE_DESC reslin(CUdeviceptr p, int f, int ch, size_t bytes)
{
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_LINEAR;
    r.res.linear.devPtr = p;
    r.res.linear.format = (CUarray_format)f;
    r.res.linear.numChannels = ch;
    r.res.linear.sizeInBytes = bytes;
    return r;
}
static CUtexObject mktex(CUarray a, How h) { return mktex(res(a), h); }
static std::string S(const char *f, ...)
{
    char b[200];
    va_list v;
    va_start(v, f);
    vsnprintf(b, 200, f, v);
    va_end(v);
    return b;
}
static std::vector<float> texels(const char *name, int n, int lo, int hi)
{ // exponents lo to hi
    std::vector<float> v;
    for (int i = 0; i < n; i++) {
        uint32_t e = lo + rnd() % (hi - lo + 1);
        v.push_back(fbits((uint32_t)(rnd() & 0x807fffff) | e << 23));
    }
    fprintf(idx, "texels %s %d %d\n", name, fill(v.data(), n * 4), n * 4);
    return v;
}
static std::vector<unsigned char> raw(const char *name, int n)
{
    std::vector<unsigned char> v(n);
    for (auto &x : v)
        x = rnd();
    fprintf(idx, "texels %s %d %d\n", name, fill(v.data(), n), n);
    return v;
}
static float4 f4(float x, float y = 0, float z = 0, float w = 0) { return make_float4(x, y, z, w); }
static float ib(int i) { return fbits((uint32_t)i); }
static const uint32_t SPECIAL[] = {
    0,           0x80000000u, 1,           0x80000001u, 0x7f800000,  0xff800000u, 0x7fc00000, 0xffc00000u, 0x7f7fffff,
    0xff7fffffu, 0x4b000000,  0xcb000000u, 0x4f000000,  0xcf000000u, 0x4effffff,  0x4f800000, 0x5f000000,  0x3f800000,
    0x3f7fffff,  0x3f7ffffe,  0xbf800000u, 0xbf7fffffu, 0x33800000,  0xb3800000u, 0x3effffff, 0x3f000000,  0x3f000001,
    0x47800000,  0x48000000,  0x48800000,  0x49000000,  0xc7800000u, 0x00800000,  0x7f800001};
static const int NSPECIAL = sizeof SPECIAL / 4;
static Cs dense(int N, bool norm)
{
    Cs c;
    float s = norm ? 1.0f / N : 1.0f;
    int parts[][2] = {{-2, 2}, {N - 2, N + 2}};
    for (auto &p : parts)
        for (int k = p[0] * 1024; k < p[1] * 1024; k++)
            c.push_back(f4((k / 1024.0f) * s));
    for (int k = 0; k < 4096; k++)
        c.push_back(f4((frnd() * 6 - 3) * N * s));
    for (int k = 0; k < 1024; k++)
        c.push_back(f4(fbits((uint32_t)rnd())));
    for (int k = 0; k < 1024; k++)
        c.push_back(f4(fbits((uint32_t)(rnd() & 0x807fffff) | (uint32_t)(110 + rnd() % 40) << 23)));
    for (int k = 0; k < NSPECIAL; k++)
        c.push_back(f4(fbits(SPECIAL[k])));
    return c;
}
static const int INT = 1, NORM = 2, SRGB = 0x10;
