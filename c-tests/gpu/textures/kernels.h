// One kernel for each form of instruction: it runs the instruction at every place and stores the result.
// A driver may refuse some forms, and with them the whole module: forms of groups other than GROUP are left empty.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#ifndef GROUP
#define GROUP 0
#endif
#define ARGS CUtexObject t, const float4 *c, const float4 *d, const float4 *e, uint4 *o, int n
#define K(group, name, body)                                                                                         \
    __global__ void name(ARGS)                                                                                       \
    {                                                                                                                \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                               \
        if (i >= n)                                                                                                  \
            return;                                                                                                  \
        float4 p = c[i];                                                                                             \
        float4 q = d ? d[i] : p, s = e ? e[i] : p;                                                                   \
        uint4 r = make_uint4(0, 0, 0, 0);                                                                            \
        if constexpr (group == GROUP)                                                                                \
            asm volatile(body                                                                                        \
                         : "+r"(r.x), "+r"(r.y), "+r"(r.z), "+r"(r.w)                                                \
                         : "l"(t), "f"(p.x), "f"(p.y), "f"(p.z), "f"(p.w), "f"(q.x), "f"(q.y), "f"(q.z), "f"(q.w),   \
                           "f"(s.x), "f"(s.y), "f"(s.z), "f"(s.w), "r"(__float_as_int(p.x)),                         \
                           "r"(__float_as_int(p.y)), "r"(__float_as_int(p.z)), "r"(__float_as_int(p.w)));            \
        o[i] = r;                                                                                                    \
    }
#define R "{%0,%1,%2,%3}"
K(0, t1f, "tex.1d.v4.f32.f32 " R ", [%4, {%5}];")
K(0, t1u, "tex.1d.v4.u32.f32 " R ", [%4, {%5}];")
K(0, t1s, "tex.1d.v4.s32.f32 " R ", [%4, {%5}];")
K(0, t1fi, "tex.1d.v4.f32.s32 " R ", [%4, {%17}];")
K(0, t1ui, "tex.1d.v4.u32.s32 " R ", [%4, {%17}];")
K(0, t2f, "tex.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(0, t2u, "tex.2d.v4.u32.f32 " R ", [%4, {%5,%6}];")
K(15, t2fi, "tex.2d.v4.f32.s32 " R ", [%4, {%17,%18}];")
K(0, t3f, "tex.3d.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}];")
K(15, t3fi, "tex.3d.v4.f32.s32 " R ", [%4, {%17,%18,%19,%19}];")
K(0, ta1, "tex.a1d.v4.f32.f32 " R ", [%4, {%20,%5}];")
K(0, ta2, "tex.a2d.v4.f32.f32 " R ", [%4, {%20,%5,%6,%6}];")
K(15, ta2i, "tex.a2d.v4.f32.s32 " R ", [%4, {%20,%17,%18,%18}];")
K(0, tcube, "tex.cube.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}];")
K(0, tacube, "tex.acube.v4.f32.f32 " R ", [%4, {%20,%5,%6,%7}];")
K(0, l1, "tex.level.1d.v4.f32.f32 " R ", [%4, {%5}], %8;")
K(0, l2, "tex.level.2d.v4.f32.f32 " R ", [%4, {%5,%6}], %8;")
K(14, b2, "tex.base.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(13, l2i, "tex.level.2d.v4.f32.s32 " R ", [%4, {%17,%18}], %20;")
K(0, l3, "tex.level.3d.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}], %8;")
K(0, lcube, "tex.level.cube.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}], %8;")
K(0, g1, "tex.grad.1d.v4.f32.f32 " R ", [%4, {%5}], {%9}, {%10};")
K(0, g2, "tex.grad.2d.v4.f32.f32 " R ", [%4, {%5,%6}], {%9,%10}, {%11,%12};")
K(6, g3, "tex.grad.3d.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}], {%9,%10,%11,%11}, {%13,%14,%15,%15};")
K(6, gcube, "tex.grad.cube.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}], {%9,%10,%11,%11}, {%13,%14,%15,%15};")
K(13, g2l, "tex.grad.a2d.v4.f32.f32 " R ", [%4, {%20,%5,%6,%6}], {%9,%10}, {%11,%12};")
K(0, gr, "tld4.r.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(0, gg, "tld4.g.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(0, gb, "tld4.b.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(0, ga, "tld4.a.2d.v4.f32.f32 " R ", [%4, {%5,%6}];")
K(11, gcr, "tld4.r.cube.v4.f32.f32 " R ", [%4, {%5,%6,%7,%7}];")
K(11, gai, "tld4.r.a2d.v4.f32.f32 " R ", [%4, {%20,%5,%6,%6}];")
K(10, goff, "{.reg .b32 a; mov.b32 a, 1; tld4.r.2d.v4.f32.f32 " R ", [%4, {%5,%6}], {1,-2};}")
K(10, toff, "tex.2d.v4.f32.f32 " R ", [%4, {%5,%6}], {1,-2};")
K(5, tres, "{.reg .pred p; tex.2d.v4.f32.f32 " R "|p, [%4, {%5,%6}]; selp.b32 %3, 1, 0, p;}")
K(8, q1, "txq.width.b32 %0, [%4]; txq.height.b32 %1, [%4]; txq.depth.b32 %2, [%4]; txq.array_size.b32 %3, [%4];")
K(1, q2,
  "txq.channel_data_type.b32 %0, [%4]; txq.channel_order.b32 %1, [%4]; txq.num_mipmap_levels.b32 %2, [%4]; "
  "txq.num_samples.b32 %3, [%4];")
K(7, ql, "txq.level.width.b32 %0, [%4], %17; txq.level.height.b32 %1, [%4], %17; txq.level.depth.b32 %2, [%4], %17;")
K(9, sq, "suq.width.b32 %0, [%4]; suq.height.b32 %1, [%4]; suq.depth.b32 %2, [%4]; suq.array_size.b32 %3, [%4];")
K(2, sq2, "suq.channel_data_type.b32 %0, [%4]; suq.channel_order.b32 %1, [%4]; suq.memory_layout.b32 %2, [%4];")
#define SU(name, cl)                                                                                                 \
    K(0, su1##name,                                                                                                  \
      "suld.b.1d.b32." cl " %0, [%4, {%17}]; suld.b.1d.b8." cl " %1, [%4, {%17}]; suld.b.1d.b16." cl                 \
      " %2, [%4, {%17}];")                                                                                           \
    K(0, su2##name, "suld.b.2d.v4.b32." cl " " R ", [%4, {%17,%18}];")                                               \
    K(0, su2w##name, "suld.b.2d.b32." cl " %0, [%4, {%17,%18}];")                                                    \
    K(0, su3##name, "suld.b.3d.b32." cl " %0, [%4, {%17,%18,%19,%19}];")                                             \
    K(0, sua2##name, "suld.b.a2d.b32." cl " %0, [%4, {%20,%17,%18,%18}];")                                           \
    K(0, sua1##name, "suld.b.a1d.b32." cl " %0, [%4, {%20,%17}];")                                                   \
    K(0, sw2##name, "sust.b.2d.b32." cl " [%4, {%17,%18}], %19;")                                                    \
    K(0, sw1b##name, "sust.b.1d.b8." cl " [%4, {%17}], %19;")                                                        \
    K(0, sw4##name, "sust.b.2d.v4.b32." cl " [%4, {%17,%18}], {%17,%18,%19,%20};")                                   \
    K(3, sp2##name, "sust.p.2d.v4.b32." cl " [%4, {%17,%18}], {%19,%20,%19,%20};")                                   \
    K(3, sp1##name, "sust.p.2d.b32." cl " [%4, {%17,%18}], {%19};")                                                  \
    K(12, sr2##name, "sured.b.add.2d.u32." cl " [%4, {%17,%18}], %19;")                                              \
    K(4, srp##name, "sured.p.add.2d.b32." cl " [%4, {%17,%18}], %19;")                                               \
    K(12, srm##name, "sured.b.min.2d.s32." cl " [%4, {%17,%18}], %19;")
SU(t, "trap") SU(c, "clamp") SU(z, "zero")
