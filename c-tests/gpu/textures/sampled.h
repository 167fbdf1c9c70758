// The recording of sampling: address modes, weights, formats, integer coordinates.
#pragma once
#include "make.h"
static void addressing()
{
    int Ns[] = {64, 37, 5, 1};
    for (int N : Ns) {
        std::vector<float> v;
        for (int i = 0; i < N; i++)
            v.push_back(i + 1);
        CUarray a = mk(0x20, 1, N, 0, 0, 0, v.data());
        CUarray a2 = mk(0x20, 1, 1, N, 0, 0, v.data());
        for (int norm = 0; norm < 2; norm++) {
            Set s = set(S("d%d_%d", N, norm).c_str(), 1, dense(N, norm));
            for (int addr = 0; addr < 4; addr++)
                for (int filt = 0; filt < 2; filt++) {
                    if (!norm && (addr == 0 || addr == 2) && N != 64)
                        continue;
                    CUtexObject t = mktex(a, how(addr, filt, norm ? NORM : 0));
                    rec(S("addr1d_%d_%d_%d_%d", N, addr, filt, norm), t1f, t, s);
                }
        }
    }
    int Ms[] = {3, 7, 100, 641, 1000, 4096, 16384, 65536, 131072};
    for (int N : Ms) {
        std::vector<float> v;
        for (int i = 0; i < N; i++)
            v.push_back(i);
        CUarray a = mk(0x20, 1, N, 0, 0, 0, v.data());
        Cs c, u;
        for (int k = 0; k < 3072; k++) {
            c.push_back(f4(frnd()));
            u.push_back(f4(frnd() * N));
        }
        for (int k = 0; k < 1024; k++) {
            c.push_back(f4(frnd() * 8 - 4));
            u.push_back(f4((int)(rnd() % (N + 2)) - 1 + (int)(rnd() % 1025) / 1024.0f));
        }
        for (int k = 0; k < 1024; k++) {
            int i = rnd() % (N * 2);
            float x = (float)i / 2 / N;
            uint32_t b;
            memcpy(&b, &x, 4);
            if (b)
                b += (int)(rnd() % 7) - 3;
            c.push_back(f4(fbits(b)));
            u.push_back(f4(frnd() * 4));
        }
        Set s = set(S("n%d", N).c_str(), 1, c), su = set(S("u%d", N).c_str(), 1, u);
        for (int addr = 0; addr < 3; addr++)
            for (int filt = 0; filt < 2; filt++)
                rec(S("size1d_%d_%d_%d_1", N, addr, filt), t1f, mktex(a, how(addr, filt, NORM)), s);
        for (int filt = 0; filt < 2; filt++)
            rec(S("size1d_%d_1_%d_0", N, filt), t1f, mktex(a, how(1, filt, 0)), su);
    }
}
static void weights()
{
    std::vector<float> w(8 * 8 * 4);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            for (int c = 0; c < 4; c++)
                w[(y * 8 + x) * 4 + c] = (x & 1) + 2 * (y & 1) == c;
    CUarray a = mk(0x20, 4, 8, 8, 0, 0, w.data());
    Cs c;
    for (int b = 0; b < 256; b++)
        for (int k = 0; k < 256; k++)
            c.push_back(f4(2.5f + k / 256.0f, 2.5f + b / 256.0f));
    rec("w2d", t2f, mktex(a, how(1, 1, 0)), set("w2d", 2, c), 4);
    Cs c3;
    for (int k = 0; k < 24576; k++)
        c3.push_back(f4(2.5f + (rnd() & 255) / 256.0f, 2.5f + (rnd() & 255) / 256.0f, 2.5f + (rnd() & 255) / 256.0f));
    Set s3 = set("w3d", 3, c3);
    for (int z1 = 0; z1 < 2; z1++) {
        std::vector<float> v(8 * 8 * 8 * 4);
        for (int z = 0; z < 8; z++)
            for (int i = 0; i < 256; i++)
                v[z * 256 + i] = (z & 1) == z1 ? w[i] : 0;
        CUarray b = mk(0x20, 4, 8, 8, 8, 0, v.data());
        rec(S("w3d_%d", z1), t3f, mktex(b, how(1, 1, 0)), s3, 4);
    }
    const char *names[] = {"narrow", "one", "wide", "top", "low"};
    int ex[][2] = {{120, 130}, {127, 127}, {100, 154}, {250, 254}, {0, 4}};
    Cs r1, r2, r3;
    for (int k = 0; k < 16384; k++) {
        float x = 0.5f + rnd() % 15 + (rnd() & 255) / 256.0f, y = 0.5f + rnd() % 15 + (rnd() & 255) / 256.0f,
              z = 0.5f + rnd() % 15 + (rnd() & 255) / 256.0f;
        r1.push_back(f4(x));
        r2.push_back(f4(x, y));
        r3.push_back(f4(x, y, z));
    }
    Set q1 = set("r1", 1, r1), q2 = set("r2", 2, r2), q3 = set("r3", 3, r3);
    for (int k = 0; k < 5; k++) {
        std::vector<float> v = texels(names[k], 4096, ex[k][0], ex[k][1]);
        CUarray a1 = mk(0x20, 1, 16, 0, 0, 0, v.data()), a2 = mk(0x20, 1, 16, 16, 0, 0, v.data()),
                a3 = mk(0x20, 1, 16, 16, 16, 0, v.data());
        How h = how(1, 1, 0);
        rec(S("v1_%s", names[k]), t1f, mktex(a1, h), q1);
        rec(S("v2_%s", names[k]), t2f, mktex(a2, h), q2);
        rec(S("v3_%s", names[k]), t3f, mktex(a3, h), q3);
    }
    std::vector<float> sp;
    for (int k = 0; k < 16; k++)
        sp.push_back(fbits((uint32_t[]){0x7f800000, 0x3f800000, 0xff800000, 0x7fc00001, 0, 0x80000000, 0x80000000, 1,
                                        0x7f7fffff, 0x7f7fffff, 0xff7fffff, 0x007fffff, 0x00800000, 0x80000001,
                                        0x7f800000, 0x7f800000}[k]));
    Cs cs;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 256; k += 5)
            cs.push_back(f4(i + 0.5f + k / 256.0f));
    rec("special", t1f, mktex(mk(0x20, 1, 16, 0, 0, 0, sp.data()), how(1, 1, 0)), set("special", 1, cs));
    fprintf(idx, "texels special %d 64\n", fill(sp.data(), 64));
}
static void formats()
{
    Cs all;
    for (int i = 0; i < 65536; i++)
        all.push_back(f4(i % 256 + 0.5f, i / 256 + 0.5f));
    Set sa = set("all16", 2, all);
    Cs few;
    for (int i = 0; i < 256; i++)
        few.push_back(f4(i % 16 + 0.5f, i / 16 + 0.5f));
    Set sf = set("few", 2, few);
    std::vector<uint16_t> v16;
    for (int i = 0; i < 65536; i++)
        v16.push_back(i);
    std::vector<uint8_t> v8;
    for (int i = 0; i < 256; i++)
        v8.push_back(i);
    for (int f : {2, 9, 16})
        rec(S("all_%d", f), t2f, mktex(mk(f, 1, 256, 256, 0, 0, v16.data()), how(1, 0, 0)), sa);
    for (int f : {1, 8})
        rec(S("all_%d", f), t2f, mktex(mk(f, 1, 16, 16, 0, 0, v8.data()), how(1, 0, 0)), sf);
    std::vector<uint8_t> s8;
    for (int i = 0; i < 256; i++)
        for (int c = 0; c < 4; c++)
            s8.push_back(i + c * 64);
    rec("srgb", t2f, mktex(mk(1, 4, 16, 16, 0, 0, s8.data()), how(1, 0, SRGB)), sf, 4);
    for (int ch : {1, 2})
        rec(S("srgb%d", ch), t2f, mktex(mk(1, ch, 16, 16, 0, 0, s8.data()), how(1, 0, SRGB)), sf, 4);
    std::vector<unsigned char> b = raw("bytes", 256 * 16);
    Cs lf;
    for (int k = 0; k < 8192; k++)
        lf.push_back(f4(0.5f + rnd() % 15 + (rnd() & 255) / 256.0f, 0.5f + rnd() % 15 + (rnd() & 255) / 256.0f));
    Set sl = set("lf", 2, lf);
    Set few1 = sf;
    few1.n = 32;
    Cs bo;
    bo.push_back(f4(-1, -1));
    bo.push_back(f4(0, 3));
    bo.push_back(f4(20, 3));
    bo.push_back(f4(15.9f, 3));
    Set sb = set("border", 2, bo);
    for (int f : {1, 8, 2, 9, 3, 10, 16, 32})
        for (int ch : {1, 2, 4}) {
            CUarray a = mk(f, ch, 16, 16, 0, 0, b.data());
            bool big = f == 3 || f == 10, fl = f >= 16;
            rec(S("as_f_%d_%d", f, ch), t2f, mktex(a, how(1, 0, big ? INT : 0)), few1, 4);
            rec(S("as_u_%d_%d", f, ch), t2u, mktex(a, how(1, 0, INT)), few1, 4);
            rec(S("bord_f_%d_%d", f, ch), t2f, mktex(a, how(3, 0, big ? INT : 0)), sb, 4);
            rec(S("bord_u_%d_%d", f, ch), t2u, mktex(a, how(3, 0, INT)), sb, 4);
            if (!big)
                rec(S("bord_l_%d_%d", f, ch), t2f, mktex(a, how(3, 1, 0)), sb, 4);
            if (!big && f != 32)
                rec(S("lin_%d_%d", f, ch), t2f, mktex(a, how(1, 1, 0)), sl, ch == 4 ? 4 : 1);
            if (f == 1)
                rec(S("lins_%d_%d", f, ch), t2f, mktex(a, how(1, 1, SRGB)), sl, ch);
            (void)fl;
        }
}
static void integers()
{
    std::vector<float> v;
    for (int i = 0; i < 512; i++)
        v.push_back(i + 1);
    CUarray a1 = mk(0x20, 1, 16, 0, 0, 0, v.data()), a2 = mk(0x20, 1, 16, 16, 0, 0, v.data()),
            a3 = mk(0x20, 1, 8, 8, 8, 0, v.data());
    CUarray al = mk(0x20, 1, 8, 8, 8, CUDA_ARRAY3D_LAYERED, v.data()),
            al1 = mk(0x20, 1, 8, 0, 8, CUDA_ARRAY3D_LAYERED, v.data());
    int xs[] = {0, 1, 15, 16, 17, -1, -2, -17, 32, 1000000, 0x7fffffff, (int)0x80000000, 8, 7, 31};
    Cs c, f;
    for (int x : xs)
        for (int y : xs) {
            c.push_back(f4(ib(x), ib(y), ib(y), ib(y)));
            f.push_back(f4(x, 2.5f, 2.5f, ib(y)));
        }
    Set s = set("ints", 4, c), sf = set("layers", 4, f);
    for (int addr = 0; addr < 4; addr++)
        for (int filt = 0; filt < 2; filt++)
            for (int norm = 0; norm < 2; norm++) {
                How h = how(addr, filt, norm ? NORM : 0);
                rec(S("i1_%d_%d_%d", addr, filt, norm), t1fi, mktex(a1, h), s);
                rec(S("i2_%d_%d_%d", addr, filt, norm), t2fi, mktex(a2, h), s);
                rec(S("i3_%d_%d_%d", addr, filt, norm), t3fi, mktex(a3, h), s);
                rec(S("ia2_%d_%d_%d", addr, filt, norm), ta2i, mktex(al, h), s);
                rec(S("a1_%d_%d_%d", addr, filt, norm), ta1, mktex(al1, h), sf);
                rec(S("a2_%d_%d_%d", addr, filt, norm), ta2, mktex(al, h), sf);
            }
    CUdeviceptr p;
    CU(cuMemAlloc(&p, 4096));
    CU(cuMemcpyHtoD(p, v.data(), 2048));
    for (int flags : {0, 1, 2}) {
        rec(S("lin_fetch_%d", flags), t1fi, mktex(reslin(p, 0x20, 1, 100), how(1, 0, flags)), s, 4);
        rec(S("lin_float_%d", flags), t1f, mktex(reslin(p, 0x20, 1, 100), how(1, 0, flags)), sf, 4);
    }
    rec("lin_u8", t1fi, mktex(reslin(p, 1, 4, 102), how(1, 0, 0)), s, 4);
    rec("lin_border", t1fi, mktex(reslin(p, 0x20, 1, 100), how(3, 0, 0)), s, 4);
    rec("lin_filter", t1fi, mktex(reslin(p, 0x20, 1, 100), how(1, 1, 0)), s, 4);
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.format = (CUarray_format)0x20;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 13;
    r.res.pitch2D.height = 9;
    r.res.pitch2D.pitchInBytes = 64;
    Cs pc;
    for (int i = 0; i < 2048; i++)
        pc.push_back(f4(frnd() * 40 - 13, frnd() * 27 - 9));
    Cs pn;
    for (auto &q : pc)
        pn.push_back(f4(q.x / 13, q.y / 9));
    Set sp = set("pitch", 2, pc), sn = set("pitchn", 2, pn);
    for (int addr = 0; addr < 4; addr++)
        for (int filt = 0; filt < 2; filt++) {
            rec(S("pitch_%d_%d_0", addr, filt), t2f, mktex(r, how(addr, filt, 0)), sp);
            rec(S("pitch_%d_%d_1", addr, filt), t2f, mktex(r, how(addr, filt, NORM)), sn);
        }
}
