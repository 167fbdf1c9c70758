//! Arguments of calls: predicates, bytes that caller and callee split differently, and pointers to functions that
//! lie far apart. Interpreted and compiled, with the same results.

use crate::common;

use common::Device;
use std::fmt::Write;

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.func (.reg .pred r, .reg .b32 n) either(.reg .pred a, .reg .b32 x, .reg .pred b) {
  .reg .pred c; setp.gt.s32 c, x, 20; and.pred c, c, b; or.pred r, a, c; selp.b32 n, 3, 5, b; ret; }
.func (.reg .pred r) odd(.reg .b32 x, .reg .pred was) {
  .reg .pred p; .reg .pred z; .reg .b32 y; setp.eq.s32 z, x, 0; mov.pred r, was; @z ret;
  sub.s32 y, x, 1; not.pred p, was; call (r), odd, (y, p); xor.pred r, r, was; xor.pred r, r, was; ret; }
.func (.param .b32 r) number(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; add.s32 a, a, 2; st.param.b32 [r], a; ret; }
.func (.param .b64 r) halves(.param .b64 x) {
  .reg .b32 a; .reg .b32 b; .reg .b16 h; .reg .b16 k;
  ld.param.v2.b32 {a, b}, [x]; add.s32 a, a, 1; xor.b32 b, b, a;
  st.param.b32 [r+4], a; cvt.u16.u32 h, b; shr.u32 b, b, 16; cvt.u16.u32 k, b;
  st.param.b16 [r], k; st.param.b16 [r+2], h; ret; }
.func (.param .align 8 .b8 r[24]) pieces(.param .align 8 .b8 x[24], .param .align 4 .b8 y[12]) {
  .reg .b64 d; .reg .b64 e; .reg .b32 a; .reg .b32 b; .reg .b32 c; .reg .b16 h; .reg .b16 k;
  ld.param.b64 d, [x]; ld.param.b32 a, [x+8]; ld.param.u8 h, [x+13]; ld.param.u16 k, [x+14]; ld.param.b64 e, [x+16];
  ld.param.u16 h, [y+6]; ld.param.b32 b, [y+8]; ld.param.s8 k, [y+1];
  add.s64 d, d, e; cvt.s32.s16 c, k; add.s32 b, b, c; cvt.u32.u16 c, h; add.s32 a, a, c;
  st.param.b64 [r], d; st.param.b32 [r+8], a; st.param.b32 [r+12], b; st.param.b8 [r+16], k; st.param.b8 [r+17], h;
  st.param.b16 [r+18], h; st.param.b32 [r+20], a; ret; }
.func (.param .align 8 .b8 r[16]) again(.param .align 8 .b8 x[16]) {
  .reg .b64 d; .reg .b32 a; .reg .b32 b; .reg .b32 n; .reg .pred p;
  ld.param.b64 d, [x]; ld.param.b32 n, [x+8]; setp.eq.s32 p, n, 0; st.param.b64 [r], d; st.param.b64 [r+8], 7; @p ret;
  { .param .align 8 .b8 i[16]; .param .align 8 .b8 o[16]; sub.s32 n, n, 1; mov.b64 {a, b}, d; add.s32 a, a, n;
    st.param.b32 [i], b; st.param.b32 [i+4], a; st.param.b32 [i+8], n; st.param.b16 [i+12], 3;
    call (o), again, (i); ld.param.v2.b32 {a, b}, [o]; ld.param.b32 n, [o+12]; }
  add.s32 b, b, n; mov.b64 d, {a, b}; st.param.b64 [r], d; ret; }
.func (.param .b32 r) aside(.param .b64 x) {
  .reg .b64 at; .reg .b32 a; .reg .b32 b; .local .align 8 .b8 l[8];
  ld.param.b32 a, [x]; ld.param.b32 b, [x+4]; ld.param.u16 b, [x+2]; mad.lo.s32 a, a, 3, b; st.param.b32 [r], a; ret; }

.entry predicates(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b64 d; .reg .b32 v; .reg .b32 w; .reg .pred p; .reg .pred q; .reg .pred s;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d;
  and.b32 v, t, 1; setp.ne.s32 p, v, 0; and.b32 v, t, 2; setp.ne.s32 q, v, 0;
  call (s, w), either, (p, t, q); selp.b32 v, 1, 0, s; st.global.v2.b32 [o], {v, w};
  call (q, _), either, (s, t, 1); selp.b32 v, 1, 0, q; st.global.b32 [o+8], v;
  @p call (p, w), either, (0, t, p); selp.b32 v, 1, 0, p; st.global.v2.b32 [o+16], {v, w};
  and.b32 v, t, 7; call (s), odd, (v, 0); selp.b32 v, 1, 0, s; st.global.b32 [o+24], v;
  and.b32 v, t, 3; call (s), odd, (v, q); selp.b32 v, 1, 0, s; st.global.b32 [o+28], v;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; call (v), number, (i); }
  call (v), number, (p); st.global.b32 [o+12], v; ret; }
.entry uneven(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b64 d; .reg .b64 e; .reg .b32 v; .reg .b32 w; .reg .b16 h; .reg .b16 k<4>;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 64; add.s64 o, o, d; mul.wide.u32 d, t, 0x12345677; not.b64 d, d;
  { .param .b64 i; .param .b64 u; st.param.b64 [i], d; call (u), halves, (i); ld.param.b64 e, [u]; } st.global.b64 [o], e;
  call (e), halves, (d); st.global.b64 [o+8], e;
  call (e), halves, (0x8123456789abcdef); st.global.b64 [o+16], e;
  { .param .b64 i; .param .b64 u; cvt.u16.u32 h, t; st.param.v4.b16 [i], {h, h, h, h}; call (u), halves, (i);
    ld.param.v4.b16 {k0, k1, k2, k3}, [u]; } st.global.v4.b16 [o+24], {k3, k0, k1, k2};
  { .param .align 8 .b8 i[24]; .param .align 4 .b8 j[12]; .param .align 8 .b8 u[24]; st.param.v2.b32 [i], {t, t};
    st.param.b64 [i+8], d; st.param.v4.b16 [i+16], {k0, h, k1, k2}; st.param.b32 [j], t; st.param.b32 [j+4], -5; st.param.b16 [j+8], k2;
    st.param.b8 [j+10], h; st.param.b8 [j+11], 200;
    call (u), pieces, (i, j); ld.param.v2.b32 {v, w}, [u]; ld.param.b64 d, [u+8]; ld.param.b64 e, [u+16]; }
  st.global.v2.b32 [o+32], {v, w}; st.global.b64 [o+40], d; st.global.b64 [o+48], e;
  { .param .align 8 .b8 i[16]; .param .align 8 .b8 u[16]; st.param.b64 [i], d; and.b32 w, t, 7; st.param.b64 [i+8], 0; st.param.b32 [i+8], w;
    call (u), again, (i); ld.param.b64 e, [u]; ld.param.b64 d, [u+8]; }
  st.global.b64 [o+8], e; { .param .b64 i; .param .b32 u; st.param.b64 [i], e; call (u), aside, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o+56], v; call (v), aside, (-2); st.global.b32 [o+60], v; ret; }
";

#[test]
fn predicates_are_handed_over() {
    let d = Device::new(TEXT);
    let out = d.alloc(1 << 14);
    for block in [32, 70] {
        d.launch("predicates", 2, block, &[out]).unwrap();
        let v = d.u32s(out, 8 * 32);
        let of = |t: usize, n: usize| v[8 * t + n];
        // `either` holds for odd numbers, and for those above 20 with bit 1 set.
        assert_eq!((of(5, 0), of(4, 0), of(22, 0), of(18, 0)), (1, 0, 1, 0));
        assert_eq!((of(2, 1), of(1, 1), of(7, 6), of(6, 6)), (3, 5, 1, 0));
        assert_eq!((of(21, 3), of(20, 3)), (3, 2));
    }
}

#[test]
fn bytes_are_cut_differently() {
    let d = Device::new(TEXT);
    let out = d.alloc(1 << 14);
    for block in [32, 70] {
        d.launch("uneven", 2, block, &[out]).unwrap();
        let v = d.u32s(out, 16 * 32);
        let (low, high) = (0x89ab_cdefu32.wrapping_add(1), 0x8123_4567u32);
        assert_eq!((v[16 * 3 + 5], v[16 * 3 + 4]), (low, (low ^ high).rotate_left(16)));
        assert_eq!(v[16 * 3 + 15], (-2i32 * 3 + 0xffff) as u32);
    }
}

/// 1,400 functions, of which 0 and 7 of each hundred are in the table; only these can be called through a pointer.
fn far_apart() -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for n in 0..1400 {
        let _ = writeln!(
            text,
            ".func (.param .b32 r) f{n}(.param .b32 x) {{ .reg .b32 a; ld.param.b32 a, [x]; add.s32 a, a, {n}; \
             st.param.b32 [r], a; ret; }}"
        );
    }
    let named: Vec<String> =
        (0..14).flat_map(|h| [format!("f{}", 100 * h), format!("f{}", 100 * h + 7)]).collect();
    let _ =
        writeln!(text, ".global .align 8 .u64 table[{}] = {{{}}};", named.len(), named.join(", "));
    text + ".entry far(.param .u64 out, .param .u64 off) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b64 d; .reg .b32 w; .reg .b64 f; .reg .b64 x;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d; ld.param.u64 x, [off];
  mul.lo.u32 w, t, 5; rem.u32 w, w, 28; mov.u64 f, table; mul.wide.u32 d, w, 8; add.s64 f, f, d; ld.global.u64 f, [f];
  add.s64 f, f, x;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (u), f, (i), P; ld.param.b32 v, [u]; }
  st.global.b32 [o], v; ret; }\n"
}

#[test]
fn functions_that_pointers_mean_lie_far_apart() {
    let d = Device::new(&far_apart());
    let out = d.alloc(4 * 64);
    d.launch("far", 1, 64, &[out, 0]).unwrap();
    let expected = |t: u32| t + t * 5 % 28 / 2 * 100 + t * 5 % 28 % 2 * 7;
    assert_eq!(d.u32s(out, 64), (0..64).map(expected).collect::<Vec<u32>>());
    // Addresses that are no function's: between two, after the last and before the first.
    for off in [8, 16 * 2000, u64::MAX << 5] {
        let fault = d.launch("far", 1, 64, &[out, off]).unwrap_err();
        let pointer = matches!(*fault.cause, cushim_ptx::exec::Cause::FunctionPointer { .. });
        assert!(pointer, "{fault}");
    }
}
