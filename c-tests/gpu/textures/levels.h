// The recording of cubes, mipmap levels and gathers.
#pragma once
#include "make.h"
static void cubes()
{
    std::vector<float> v;
    for (int f = 0; f < 12; f++)
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) {
                v.push_back(f);
                v.push_back(x);
                v.push_back(y);
                v.push_back(fbits((uint32_t)(rnd() & 0x807fffff) | 127u << 23));
            }
    fprintf(idx, "texels cube %d %d\n", fill(v.data(), v.size() * 4), (int)v.size() * 4);
    CUarray a = mk(0x20, 4, 8, 8, 6, CUDA_ARRAY3D_CUBEMAP, v.data()),
            a12 = mk(0x20, 4, 8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, v.data());
    Cs c;
    for (int i = 0; i < 16384; i++)
        c.push_back(f4(frnd() * 2 - 1, frnd() * 2 - 1, frnd() * 2 - 1, ib((int)(rnd() % 5) - 1)));
    for (int i = 0; i < 3000; i++) {
        float m = 1 - (rnd() % 3 ? frnd() / 10 : 0);
        float t[3] = {m, frnd() * 2 - 1, 1};
        int k = rnd() % 3;
        for (int j = 0; j < 3; j++)
            if (rnd() & 1)
                t[j] = -t[j];
        c.push_back(f4(t[k], t[(k + 1) % 3], t[(k + 2) % 3]));
    }
    float z[] = {0, -0.0f, 1, -1, 0.5f, -0.5f, INFINITY, NAN, 1e-40f, 2};
    for (float x : z)
        for (float y : z)
            for (float w : z)
                c.push_back(f4(x, y, w));
    Set s = set("cube", 4, c);
    for (int filt = 0; filt < 2; filt++)
        for (int seam = 0; seam < 2; seam++) {
            How h = how(1, filt, (seam ? 0x40 : 0) | NORM);
            rec(S("cube_%d_%d", filt, seam), tcube, mktex(a, h), s, 4);
            rec(S("acube_%d_%d", filt, seam), tacube, mktex(a12, h), s, 1);
        }
    rec("cube_1_0_unnorm", tcube, mktex(a, how(1, 1, 0)), s, 2);
    rec("cube_1_wrap", tcube, mktex(a, how(0, 1, NORM)), s, 2);
    rec("cube_1_border", tcube, mktex(a, how(3, 1, NORM)), s, 2);
    rec("cube_gather", gcr, mktex(a, how(1, 0, NORM)), s, 4);
}
static CUmipmappedArray mip(int w, int h, int d, int levels, int ch, int mode, int flags = 0)
{ // mode 0: level number; 1: random
    CUDA_ARRAY3D_DESCRIPTOR a;
    memset(&a, 0, sizeof a);
    a.Width = w;
    a.Height = h;
    a.Depth = d;
    a.Format = (CUarray_format)0x20;
    a.NumChannels = ch;
    a.Flags = flags;
    CUmipmappedArray m = 0;
    CU(cuMipmappedArrayCreate(&m, &a, levels));
    for (int l = 0; l < levels; l++) {
        int W = w >> l ? w >> l : 1, H = h ? (h >> l ? h >> l : 1) : 0, D = flags ? d : d ? (d >> l ? d >> l : 1) : 0;
        CUarray x;
        CU(cuMipmappedArrayGetLevel(&x, m, l));
        std::vector<float> v;
        int n = W * (H ? H : 1) * (D ? D : 1) * ch;
        for (int i = 0; i < n; i++)
            v.push_back(mode ? fbits((uint32_t)(rnd() & 0x807fffff) | 127u << 23) : l);
        if (mode)
            fprintf(idx, "texels mip%d_%d_%d_%d %d %d\n", w, h, d, l, fill(v.data(), n * 4), n * 4);
        upload(x, 4 * ch, W, H, D, v.data());
    }
    return m;
}
static void mips()
{
    CUmipmappedArray m = mip(64, 64, 0, 7, 1, 0), r = mip(64, 32, 0, 7, 1, 1);
    Cs c;
    for (int k = -2 * 1024; k < 8 * 1024; k++)
        c.push_back(f4(0.3f, 0.7f, 0, k / 1024.0f));
    for (int k = 0; k < NSPECIAL; k++)
        c.push_back(f4(0.3f, 0.7f, 0, fbits(SPECIAL[k])));
    Set s = set("lod", 4, c);
    for (int f = 0; f < 2; f++)
        for (int filt = 0; filt < 2; filt++) {
            How h = how(1, filt, NORM);
            h.mip = f;
            rec(S("lod_%d_%d", f, filt), l2, mktex(resm(m), h), s);
            if (filt) {
                float p[][3] = {{0.3f, 0, 100},         {-0.7f, 0, 100},        {0, 1.3f, 100},
                                {0, 0, 2.6f},           {1.123f, 1.77f, 3.21f}, {0, 3, 2},
                                {100, 0, 100},          {-100, 0, 100},         {0, -1, 100},
                                {0.001953125f, 0, 100}, {0.005f, 0.005f, 100},  {0, 0.25f, 1.5f}};
                int n = 0;
                for (auto &q : p) {
                    How g = h;
                    g.bias = q[0];
                    g.lo = q[1];
                    g.hi = q[2];
                    rec(S("lod_%d_%d_b%d", f, filt, n++), l2, mktex(resm(m), g), s);
                }
            }
        }
    Cs q;
    for (int k = 0; k < 16384; k++)
        q.push_back(f4(frnd() * 2 - 0.5f, frnd() * 2 - 0.5f, 0, frnd() * 7 - 0.5f));
    Set sq = set("lodr", 4, q);
    for (int f = 0; f < 2; f++)
        for (int filt = 0; filt < 2; filt++) {
            How h = how(0, filt, NORM);
            h.mip = f;
            rec(S("mipr_%d_%d", f, filt), l2, mktex(resm(r), h), sq);
            rec(S("mipb_%d_%d", f, filt), b2, mktex(resm(r), h), sq);
            How g = h;
            g.flags |= 0x20;
            rec(S("mipd_%d_%d", f, filt), l2, mktex(resm(r), g), sq);
            How u = h;
            u.flags = 0;
            u.addr = 1;
            rec(S("mipun_%d_%d", f, filt), l2, mktex(resm(r), u), sq);
        }
    {
        How h = how(0, 1, NORM);
        h.mip = 1;
        h.lo = 2.3f;
        rec("mip_plain_lo", t2f, mktex(resm(r), h), sq);
        h.lo = 0;
        h.bias = 1.7f;
        rec("mip_plain_bias", t2f, mktex(resm(r), h), sq);
    }
    CUmipmappedArray m3 = mip(32, 32, 32, 6, 1, 0), m1 = mip(64, 0, 0, 7, 1, 0),
                     mc = mip(32, 32, 6, 6, 1, 0, CUDA_ARRAY3D_CUBEMAP);
    Cs g, d, e, cc;
    for (int k = 0; k < 24576; k++) {
        g.push_back(f4(frnd(), frnd(), frnd()));
        float t[8];
        int kind = k % 4;
        float sc = exp2f(frnd() * 8 - 8);
        for (int j = 0; j < 8; j++)
            t[j] = (rnd() & 1 ? -1 : 1) * sc * (kind == 3 ? frnd() : exp2f(frnd() * 4 - 4));
        if (kind == 0)
            t[1] = t[2] = t[3] = t[5] = t[6] = 0;
        if (kind == 1)
            t[2] = t[3] = t[4] = t[5] = t[6] = 0, t[7] = 0;
        d.push_back(f4(t[0], t[1], t[2], t[3]));
        e.push_back(f4(t[4], t[5], t[6], t[7]));
        cc.push_back(f4(frnd() * 2 - 1, frnd() * 2 - 1, frnd() * 2 - 1));
    }
    Set sg = set("grad", 3, g, &d, &e), scu = set("gradc", 3, cc, &d, &e);
    How h = how(1, 1, NORM);
    h.mip = 1;
    for (int an : {0, 1, 2, 4, 16}) {
        h.aniso = an;
        rec(S("grad2_%d", an), g2, mktex(resm(m), h), sg);
    }
    h.aniso = 0;
    rec("grad1", g1, mktex(resm(m1), h), sg);
    rec("grad3", g3, mktex(resm(m3), h), sg);
    rec("gradc", gcube, mktex(resm(mc), h), scu);
    {
        How b = h;
        b.bias = 0.7f;
        rec("grad2_bias", g2, mktex(resm(m), b), sg);
        b.bias = 0;
        b.filt = 0;
        rec("grad2_point", g2, mktex(resm(m), b), sg);
        b.filt = 1;
        b.mip = 0;
        rec("grad2_mippoint", g2, mktex(resm(m), b), sg);
        CUmipmappedArray rr = mip(64, 16, 0, 7, 1, 0);
        rec("grad2_64x16", g2, mktex(resm(rr), h), sg);
    }
    for (int an : {1, 2, 16}) {
        h.aniso = an;
        rec(S("grad2r_%d", an), g2, mktex(resm(r), h), sg);
    }
}
static void gathers()
{
    std::vector<float> v;
    for (int i = 0; i < 256; i++)
        for (int c = 0; c < 4; c++)
            v.push_back(i + c * 1000);
    CUarray a = mk(0x20, 4, 16, 16, 0, CUDA_ARRAY3D_TEXTURE_GATHER, v.data());
    Cs c, n;
    for (int k = 0; k < 8192; k++) {
        float x = (k % 3 ? frnd() * 20 - 2 : (int)(rnd() % 40) / 2.0f - 1 + (int)(rnd() % 9 - 4) / 1024.0f),
              y = frnd() * 20 - 2;
        c.push_back(f4(x, y, 0, 0));
        n.push_back(f4(x / 16, y / 16));
    }
    Set s = set("gather", 4, c), sn = set("gathern", 4, n);
    for (int filt = 0; filt < 2; filt++)
        for (int addr = 0; addr < 4; addr++) {
            rec(S("gather_%d_%d_0", addr, filt), gr, mktex(a, how(addr, filt, 0)), s, 4);
            rec(S("gather_%d_%d_1", addr, filt), gr, mktex(a, how(addr, filt, NORM)), sn, 4);
        }
    rec("gather_g", gg, mktex(a, how(1, 0, 0)), s, 1);
    rec("gather_b", gb, mktex(a, how(1, 0, 0)), s, 1);
    rec("gather_a", ga, mktex(a, how(1, 0, 0)), s, 1);
    rec("gather_off", goff, mktex(a, how(1, 0, 0)), s, 4);
    rec("tex_off", toff, mktex(a, how(1, 1, 0)), s, 1);
    rec("tex_res", tres, mktex(a, how(1, 1, 0)), s, 4);
    rec("gather_off_n", goff, mktex(a, how(0, 0, NORM)), sn, 4);
    rec("tex_off_n", toff, mktex(a, how(2, 1, NORM)), sn, 1);
}
