// The recording of queries and surfaces, and of the error of a kernel with an invalid access.
#pragma once
#include "make.h"
static CUsurfObject mksurf(CUarray a)
{
    CUDA_RESOURCE_DESC r = res(a);
    CUsurfObject s = 0;
    CU(cuSurfObjectCreate(&s, &r));
    return s;
}
static void queries()
{
    std::vector<unsigned char> z(1 << 20);
    Cs c;
    for (int i = -1; i < 9; i++)
        c.push_back(f4(ib(i)));
    c.push_back(f4(ib(0x7fffffff)));
    Set s = set("q", 1, c);
    Set one = s;
    one.n = 1;
    struct {
        const char *n;
        int w, h, d, fl;
    } shapes[] = {{"1d", 20, 0, 0, 0},   {"2d", 20, 12, 0, 0},   {"3d", 20, 12, 6, 0},    {"a1d", 20, 0, 7, 1},
                  {"a2d", 20, 12, 7, 1}, {"cube", 16, 16, 6, 4}, {"acube", 16, 16, 12, 5}};
    for (auto &h : shapes) {
        CUarray a = mk(0x20, 1, h.w, h.h, h.d, h.fl | 2, z.data());
        for (int norm = 0; norm < 4; norm += 2) {
            CUtexObject t = mktex(a, how(1, 1, norm));
            rec(S("q1_%s_%d", h.n, norm), q1, t, one, 4);
            rec(S("q2_%s_%d", h.n, norm), q2, t, one, 4);
            rec(S("ql_%s_%d", h.n, norm), ql, t, s, 3);
        }
        CUsurfObject f = mksurf(a);
        rec(S("sq_%s", h.n), sq, f, one, 4);
        rec(S("sq2_%s", h.n), sq2, f, one, 3);
    }
    CUmipmappedArray m = mip(64, 20, 0, 5, 1, 0);
    How g = how(1, 1, NORM);
    g.mip = 1;
    CUtexObject t = mktex(resm(m), g);
    rec("q1_mip", q1, t, one, 4);
    rec("q2_mip", q2, t, one, 4);
    rec("ql_mip", ql, t, s, 3);
    g.lo = 1;
    g.hi = 2;
    t = mktex(resm(m), g);
    rec("q1_mipc", q1, t, one, 4);
    rec("q2_mipc", q2, t, one, 4);
    rec("ql_mipc", ql, t, s, 3);
    CUdeviceptr p;
    CU(cuMemAlloc(&p, 1 << 16));
    for (int f : {1, 0x20})
        for (int ch : {1, 4}) {
            t = mktex(reslin(p, f, ch, 1000), how(1, 0, 0));
            rec(S("q1_lin_%d_%d", f, ch), q1, t, one, 4);
            rec(S("q2_lin_%d_%d", f, ch), q2, t, one, 4);
            rec(S("ql_lin_%d_%d", f, ch), ql, t, s, 3);
        }
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.format = (CUarray_format)0x20;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 13;
    r.res.pitch2D.height = 9;
    r.res.pitch2D.pitchInBytes = 64;
    t = mktex(r, how(1, 0, 0));
    rec("q1_pitch", q1, t, one, 4);
    rec("ql_pitch", ql, t, s, 3);
    for (int f : {1, 8, 2, 9, 3, 10, 16, 32})
        for (int ch : {1, 2, 4}) {
            CUarray a = mk(f, ch, 4, 4, 0, 2, z.data());
            t = mktex(a, how(1, 0, f == 3 || f == 10 ? INT : 0));
            rec(S("q2_f_%d_%d", f, ch), q2, t, one, 4);
            rec(S("sq2_f_%d_%d", f, ch), sq2, mksurf(a), one, 3);
        }
}
static void surfaces()
{
    std::vector<uint32_t> v;
    for (int i = 0; i < 4096; i++)
        v.push_back(0x01010101u * (i & 255) + i * 0x10000 + 7);
    Cs c;
    for (int y = -3; y < 12; y++)
        for (int x = -5; x < 13; x++)
            c.push_back(f4(ib(x * 4), ib(y), ib(y), ib(y)));
    int big[] = {0x7ffffffc, (int)0x80000000, 1 << 20, 1 << 28, -1024};
    for (int x : big) {
        c.push_back(f4(ib(x), ib(1), ib(1), ib(1)));
        c.push_back(f4(ib(4), ib(x), ib(1), ib(1)));
        c.push_back(f4(ib(4), ib(1), ib(x), ib(1)));
        c.push_back(f4(ib(4), ib(1), ib(1), ib(x)));
    }
    Set s = set("surf", 4, c);
    CUarray a2 = mk(3, 1, 8, 8, 0, 2, v.data()), a4 = mk(3, 4, 8, 8, 0, 2, v.data()),
            a1 = mk(3, 1, 8, 0, 0, 2, v.data()), a3 = mk(3, 1, 8, 8, 8, 2, v.data()),
            al = mk(3, 1, 8, 8, 7, 3, v.data()), al1 = mk(3, 1, 8, 0, 7, 3, v.data()),
            ab = mk(1, 1, 8, 8, 0, 2, v.data());
    CUarray cu = mk(3, 1, 8, 8, 6, 2 | 4, v.data());
#define L(cl)                                                                                                        \
    rec("su1" #cl, su1##cl, mksurf(a1), s, 3);                                                                       \
    rec("su2" #cl, su2##cl, mksurf(a4), s, 4);                                                                       \
    rec("su2w" #cl, su2w##cl, mksurf(a2), s);                                                                        \
    rec("su2n" #cl, su2##cl, mksurf(a2), s, 4);                                                                      \
    rec("su2b" #cl, su2w##cl, mksurf(ab), s);                                                                        \
    rec("su2wide" #cl, su2w##cl, mksurf(a4), s);                                                                     \
    rec("su3" #cl, su3##cl, mksurf(a3), s);                                                                          \
    rec("sua2" #cl, sua2##cl, mksurf(al), s);                                                                        \
    rec("sua1" #cl, sua1##cl, mksurf(al1), s);                                                                       \
    rec("sucube" #cl, sua2##cl, mksurf(cu), s);                                                                      \
    rec("su2of3" #cl, su2w##cl, mksurf(a3), s);
    L(c) L(z) struct {
        const char *n;
        Kern k;
        int f, ch;
    } st[] = {{"sw2c", sw2c, 3, 1},    {"sw2z", sw2z, 3, 1},  {"sw1bz", sw1bz, 3, 1}, {"sw1bc", sw1bc, 1, 1},
              {"sw4z", sw4z, 3, 4},    {"sw4zn", sw4z, 3, 1}, {"sw4c", sw4c, 3, 4},   {"sw2wide", sw2z, 3, 4},
              {"sr2z", sr2z, 3, 1},    {"sr2c", sr2c, 3, 1},  {"srmz", srmz, 10, 1},  {"srpz", srpz, 3, 1},
              {"srpf", srpz, 0x20, 1}, {"srp8", srpz, 1, 4}};
    int at[][2] = {{0, 0}, {4, 1}, {28, 7}, {32, 7}, {-4, 0}, {4, 8}, {4, -1}, {112, 7}, {16, 2}, {100, 100}};
    for (auto &k : st)
        for (auto &p : at) {
            CUarray a = mk(k.f, k.ch, 8, 8, 0, 2, v.data());
            Cs o;
            o.push_back(f4(ib(p[0]), ib(p[1]), ib(0x89abcdef), ib(0x12345678)));
            Set so = set("", 4, o);
            if (group(k.k) != GROUP)
                continue;
            rec(S("st_%s_%d_%d", k.n, p[0], p[1]), k.k, mksurf(a), so);
            std::vector<uint32_t> back(8 * 8 * 4);
            CUDA_MEMCPY2D m;
            memset(&m, 0, sizeof m);
            m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
            m.srcArray = a;
            m.dstMemoryType = CU_MEMORYTYPE_HOST;
            m.dstHost = back.data();
            int by = fsize(k.f) * k.ch * 8;
            m.dstPitch = by;
            m.WidthInBytes = by;
            m.Height = 8;
            CU(cuMemcpy2D(&m));
            fprintf(idx, "after %s_%d_%d %d %d\n", k.n, p[0], p[1], fill(back.data(), by * 8), by * 8);
        }
    if (GROUP != 3)
        return;
    uint32_t vals[] = {0,   1,     0xffffffffu, 0x3f800000, 0xbf800000u, 0x3f000000,  0x7fc00000,  0x7f800000,
                       300, 70000, 0xfffffff0u, 0x40490fdb, 0x3e99999a,  0xff7fffffu, 0x80000000u, 0x33000000};
    for (int f : {1, 8, 2, 9, 3, 10, 16, 32, 0xc2, 0xc8, 0xc5, 0xcb})
        for (int ch : {1, 2, 4}) {
            if (f >= 0xc0 && ch != 4)
                continue;
            CUarray a = 0;
            CUDA_ARRAY3D_DESCRIPTOR d;
            memset(&d, 0, sizeof d);
            d.Width = 16;
            d.Height = 8;
            d.Format = (CUarray_format)f;
            d.NumChannels = ch;
            d.Flags = 2;
            CUresult e = cuArray3DCreate(&a, &d);
            if (e) {
                printf("format %x %d: %d\n", f, ch, e);
                continue;
            }
            int size = f >= 0xc3 && f <= 0xc5 || f > 0xc8 ? 8 : f >= 0xc0 ? 4 : fsize(f) * ch;
            std::vector<unsigned char> z(16 * 16 * 8, 0xaa);
            upload(a, size, 16, 8, 0, z.data());
            Cs o;
            for (int i = 0; i < 16; i++)
                o.push_back(f4(ib(i), ib(1), fbits(vals[i]), fbits(vals[(i + 1) % 16])));
            Set so = set("", 4, o);
            rec(S("spw_%d_%d", f, ch), sp2z, mksurf(a), so);
            std::vector<unsigned char> back(16 * 8 * 16);
            CUDA_MEMCPY2D m;
            memset(&m, 0, sizeof m);
            m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
            m.srcArray = a;
            m.dstMemoryType = CU_MEMORYTYPE_HOST;
            m.dstHost = back.data();
            m.dstPitch = size * 16;
            m.WidthInBytes = size * 16;
            m.Height = 8;
            CU(cuMemcpy2D(&m));
            fprintf(idx, "after sp_%d_%d %d %d\n", f, ch, fill(back.data(), size * 128), size * 128);
        }
}
static void traps(int n)
{
    std::vector<uint32_t> v(4096, 5);
    CUarray a = mk(3, 1, 8, 8, 0, 2, v.data()), al = mk(3, 1, 8, 8, 7, 3, v.data());
    Kern k = su2wt;
    int x = 0, y = 0, w = 0;
    CUsurfObject s = 0;
    if (n < 12 || n > 19)
        s = mksurf(a);
    CUDA_RESOURCE_DESC r = res(a);
    switch (n) {
    case 0:
        x = -4;
        break;
    case 1:
        y = 8;
        break;
    case 2:
        x = 2;
        break;
    case 3:
        k = sw2t;
        x = 32;
        break;
    case 4:
        k = sr2t;
        x = 32;
        break;
    case 5:
        k = sua2t;
        s = mksurf(al);
        w = 7;
        break;
    case 6:
        k = su2wc;
        x = 2;
        break;
    case 7:
        k = sw2z;
        x = 2;
        break;
    case 8:
        k = sr2c;
        x = 1;
        break;
    case 9:
        k = sp1t;
        x = 8;
        break;
    case 10:
        cuSurfObjectDestroy(s);
        break;
    case 11:
        cuArrayDestroy(a);
        break;
    case 12:
        k = t2f;
        break;
    case 13:
        k = t2f;
        s = 0x123456;
        break;
    case 14:
        k = su2wc;
        s = 0;
        break;
    case 15:
        k = su2wc;
        s = 0x123456;
        break;
    case 16:
        k = t2f;
        s = mktex(mk(32, 1, 8, 8, 0, 0, v.data()), how(1, 0, 0));
        cuTexObjectDestroy(s);
        break;
    case 17:
        k = su2wc;
        s = mktex(a, how(1, 0, INT));
        break;
    case 18:
        k = t2f;
        s = mksurf(a);
        break;
    case 19: {
        CUdeviceptr p;
        cuMemAlloc(&p, 4096);
        s = mktex(reslin(p, 32, 1, 4096), how(1, 0, 0));
        cuMemFree(p);
        k = t1fi;
        break;
    }
    case 20:
        s = mksurf(mk(3, 1, 8, 8, 0, 0, v.data()));
        k = sw2z;
        break;
    case 21:
        k = su2t;
        x = 16;
        break;
    case 22:
        k = su2t;
        x = 4;
        break;
    case 23:
        k = su1t;
        x = 4;
        break;
    case 24:
        k = su3t;
        break;
    case 25:
        k = su2wt;
        x = 0x7ffffffc;
        break;
    }
    Cs c;
    c.push_back(f4(ib(x), ib(y), ib(0), ib(w)));
    Set st = set("t", 4, c);
    uint4 *o;
    cudaMalloc(&o, 64);
    cudaMemset(o, 0x77, 64);
    if (group(k) != GROUP) {
        printf("trap %d: another group\n", n);
        return;
    }
    k<<<1, 1>>>(s, st.dev[0], 0, 0, o, 1);
    int e1 = cudaGetLastError(), e = cudaDeviceSynchronize();
    uint4 h = {};
    if (!e)
        cudaMemcpy(&h, o, 16, cudaMemcpyDeviceToHost);
    printf("trap %d: launch %d sync %d %s: %x %x %x %x\n", n, e1, e, cudaGetErrorName((cudaError_t)e), h.x, h.y, h.z,
           h.w);
}
