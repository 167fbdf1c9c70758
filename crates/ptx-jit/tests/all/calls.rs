//! Calls of functions that are inlined, shared or recursive, by name and through pointers, with divergent
//! lanes. Interpreted and compiled, with the same results and the same faults.

use crate::common;

use common::Device;
use cushim_ptx::exec::Cause;

const TEXT: &str = concat!(
    ".version 8.8\n.target sm_100\n.address_size 64\n",
    include_str!("../fib.ptx"),
    "
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[9] = {108, 37, 100, 32, 37, 100, 10, 0, 0};
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; add.s32 a, a, a; st.param.b32 [r], a; ret; }
.func (.param .b32 r) odd(.param .b32 x);
.func (.param .b32 r) even(.param .b32 x) {
  .reg .b32 a; .reg .pred p; .local .b32 l; ld.param.b32 a, [x]; setp.eq.s32 p, a, 0;
  st.local.b32 [l], a;
  @p st.param.b32 [r], 1; @p ret;
  { .param .b32 i; .param .b32 o; sub.s32 a, a, 1; st.param.b32 [i], a; call (o), odd, (i); ld.param.b32 a, [o]; }
  .reg .b32 b; ld.local.b32 b, [l]; shl.b32 b, b, 8; add.s32 a, a, b;
  st.param.b32 [r], a; ret; }
.func (.param .b32 r) odd(.param .b32 x) {
  .reg .b32 a; .reg .pred p; ld.param.b32 a, [x]; setp.eq.s32 p, a, 0;
  @p st.param.b32 [r], 0; @p ret;
  { .param .b32 i; .param .b32 o; sub.s32 a, a, 1; st.param.b32 [i], a; call (o), even, (i); ld.param.b32 a, [o]; }
  st.param.b32 [r], a; ret; }
.func (.param .align 8 .b8 r[24]) mix(.param .align 8 .b8 x[24], .param .b32 n) {
  .reg .b32 a; .reg .b64 d; .reg .b16 h; .reg .b32 k; .local .align 8 .b8 l[24]; .reg .b64 at; .reg .b32 s;
  ld.param.b32 k, [n]; ld.param.v2.b32 {a, s}, [x]; ld.param.b64 d, [x+8]; ld.param.s8 h, [x+16];
  mov.b64 at, l; st.local.b64 [at], d; st.local.b32 [at+8], a; add.s32 a, a, s; cvt.s32.s16 s, h;
  add.s32 a, a, s; st.param.b32 [r], a; ld.local.b64 d, [l]; add.s64 d, d, 1; st.param.b64 [r+8], d;
  st.param.b32 [r+4], k; st.param.b8 [r+16], h; ret; }
.func (.reg .b32 r) regs(.reg .b32 x, .reg .b64 y) { .reg .b32 t; cvt.u32.u64 t, y; sub.s32 r, x, t; ret; }
.func waits(.param .b32 x) { bar.sync 0; ret; }
.func (.param .b32 r) cross(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; shfl.sync.bfly.b32 a, a, 1, 0x1f, -1; st.param.b32 [r], a; ret; }
.func (.param .b32 r) say(.param .b32 x) {
  .reg .b32 a; .reg .b64 p; .reg .b64 f; .local .align 8 .b8 l[8]; ld.param.b32 a, [x];
  mov.b64 p, l; st.local.b32 [p], a; add.s32 a, a, 1; st.local.b32 [p+4], a; cvta.local.u64 p, p;
  mov.b64 f, format; cvta.global.u64 f, f;
  { .param .b64 i; .param .b64 j; .param .b32 o; st.param.b64 [i], f; st.param.b64 [j], p;
    call (o), vprintf, (i, j); ld.param.b32 a, [o]; }
  st.param.b32 [r], a; ret; }
.func (.param .b32 r) deep(.param .b32 x) {
  .reg .b32 a; .reg .b32 b; .reg .pred p; .local .align 16 .b8 l[4096]; .reg .b64 at;
  ld.param.b32 a, [x]; setp.eq.s32 p, a, 0; @p bra LEAF; mov.u64 at, l; st.local.b32 [at+4092], a;
  { .param .b32 i; .param .b32 o; sub.s32 b, a, 1; st.param.b32 [i], b; call (o), deep, (i); ld.param.b32 b, [o]; }
  ld.local.b32 a, [at+4092]; add.s32 a, a, b;
LEAF: st.param.b32 [r], a; ret; }
.global .align 8 .u64 table[4] = {twice, fib, cross, say};

.entry direct(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b32 w; .reg .b64 d; .reg .b32 k; .reg .pred p; .reg .b16 h;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; call (u), twice, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o], v; setp.gt.u32 p, t, 9;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], v; @p call (u), twice, (i); @p ld.param.b32 v, [u]; }
  @p st.global.b32 [o+4], v;
  { .param .align 8 .b8 i[24]; .param .b32 n; .param .align 8 .b8 u[24]; st.param.v2.b32 [i], {t, v}; mul.wide.u32 d, t, t;
    st.param.b64 [i+8], d; cvt.u16.u32 h, t; neg.s16 h, h; st.param.b8 [i+16], h; st.param.b32 [n], 77;
    call (u), mix, (i, n); ld.param.v2.b32 {v, k}, [u]; ld.param.b64 d, [u+8]; ld.param.u8 h, [u+16]; }
  st.global.v2.b32 [o+8], {v, k}; st.global.b64 [o+16], d; st.global.b16 [o+24], h;
  @p call (v), regs, (t, d); st.global.b32 [o+28], v;
  { .param .b32 i; st.param.b32 [i], 1; call waits, (i); }
  ret; }
.entry selfish(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b64 d; .reg .b32 w; .reg .pred p;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d; and.b32 w, t, 7;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], w; call (u), fib, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o], v; setp.ne.u32 p, w, 3; @p bra ELSE;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], 9; call (u), fib, (i); ld.param.b32 v, [u]; }
  bra JOIN;
ELSE:
  { .param .b32 i; .param .b32 u; st.param.b32 [i], w; call (u), even, (i); ld.param.b32 v, [u]; }
JOIN: st.global.b32 [o+4], v;
  { .param .b32 i; .param .b32 u; shl.b32 w, w, 1; st.param.b32 [i], w; call (u), deep, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o+8], v;
  ret; }
.entry pointers(.param .u64 out, .param .u64 off) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b64 d; .reg .b32 w; .reg .b64 f; .reg .b64 x;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d; and.b32 w, t, 1;
  ld.param.u64 x, [off];
  mov.u64 f, table; mul.wide.u32 d, w, 8; add.s64 f, f, d; ld.global.u64 f, [f]; add.s64 f, f, x;
  { .param .b32 i; .param .b32 u; and.b32 w, t, 7; st.param.b32 [i], w;
P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (u), f, (i), P; ld.param.b32 v, [u]; }
  st.global.b32 [o], v;
  ld.global.u64 f, [table+16];
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; Q: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (u), f, (i), Q; ld.param.b32 v, [u]; }
  st.global.b32 [o+4], v; ret; }
.global .b32 ticked;
.func tick() { st.global.b32 [ticked], 5; ret; }
.global .align 8 .u64 starts[1] = {tick};
.entry begins(.param .u64 out) {
  .reg .b64 o; .reg .b64 f; .reg .b32 v;
  ld.param.u64 o, [out]; st.global.b32 [ticked], 1; ld.global.u64 f, [starts];
  { .param .b32 i; st.param.b32 [i], 7; S: .callprototype ()_ (.param .b32 _); call f, (i), S; }
  ld.global.b32 v, [ticked]; st.global.b32 [o], v; ret; }
.entry speaks(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b64 f; .reg .pred p; .reg .b64 d;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d; setp.gt.u32 p, t, 2; @p ret;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; call (u), say, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o], v;
  ld.global.u64 f, [table+24];
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; Q: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (u), f, (i), Q; ld.param.b32 v, [u]; }
  st.global.b32 [o+4], v; ret; }
.entry objects(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b32 v; .reg .b64 d; .reg .b64 m; .reg .pred p; .reg .pred q; .shared .b64 bar; .shared .b32 sh[128];
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d;
  setp.eq.u32 p, t, 0; mov.u32 v, %ntid.x; @p mbarrier.init.shared.b64 [bar], v; bar.sync 0;
  mov.u32 v, sh; mad.lo.u32 v, t, 4, v; st.shared.b32 [v], t;
  mbarrier.arrive.shared.b64 m, [bar]; mbarrier.pending_count.b64 v, m; st.global.b32 [o+12], v;
W: mbarrier.test_wait.shared.b64 q, [bar], m; @!q bra W;
  mov.u32 v, %ntid.x; sub.u32 v, v, t; sub.u32 v, v, 1; shl.b32 v, v, 2; mov.u32 t, sh; add.u32 v, v, t; ld.shared.b32 v, [v];
  st.global.b32 [o], v;
W2: mbarrier.try_wait.parity.shared.b64 q, [bar], 0; @!q bra W2; selp.u32 v, 1, 0, q; st.global.b32 [o+4], v;
  mov.u32 t, %tid.x; setp.lt.u32 p, t, 32; @p bar.sync 1, 32; @p st.global.b32 [o+8], t; ret; }
.entry eight(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b64 d; .reg .b32 v<8>;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 32; add.s64 o, o, d;
  ld.global.v8.b32 {v0, v1, v2, v3, v4, v5, v6, v7}, [o]; add.u32 v0, v0, t; add.u32 v7, v7, v0;
  st.global.v8.b32 [o], {v7, v1, v2, v3, v4, v5, v6, v0}; ret; }
.entry endless(.param .u64 out) {
  .reg .b32 t; mov.u32 t, %tid.x; add.s32 t, t, 1000;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; call (u), deep, (i); } ret; }
"
);

fn device() -> (Device, u64) {
    let d = Device::new(TEXT);
    let out = d.alloc(1 << 16);
    (d, out)
}

#[test]
fn functions_called_by_name() {
    let (d, out) = device();
    for block in [32, 70] {
        d.launch("direct", 2, block, &[out]).unwrap();
        let v = d.u32s(out, 8 * 20);
        assert_eq!((v[8 * 11], v[8 * 11 + 1], v[8 * 5 + 1]), (22, 44, 0));
        assert_eq!(v[8 * 11 + 3], 77);
    }
}

#[test]
fn functions_that_call_themselves_and_each_other() {
    let (d, out) = device();
    for block in [32, 40] {
        d.launch("selfish", 1, block, &[out]).unwrap();
        let v = d.u32s(out, 8 * 32);
        assert_eq!((v[8 * 7], v[8 * 3 + 1], v[8 * 7 + 2]), (13, 34, 105));
    }
}

#[test]
fn pointers_to_functions() {
    let (d, out) = device();
    d.launch("pointers", 1, 64, &[out, 0]).unwrap();
    let v = d.u32s(out, 8 * 32);
    assert_eq!((v[8 * 6], v[8 * 7], v[8 * 4 + 1]), (12, 13, 5));
    for off in [8, 4096, u64::MAX << 5] {
        let fault = d.launch("pointers", 1, 64, &[out, off]).unwrap_err();
        assert!(matches!(*fault.cause, Cause::FunctionPointer { .. }), "{fault}");
    }
}

/// Start code calls constructors like this: with main's arguments, which few constructors take.
#[test]
fn a_function_without_parameters_may_be_given_some() {
    let (d, out) = device();
    d.launch("begins", 1, 1, &[out]).unwrap();
    assert_eq!(d.u32s(out, 1), [5]);
}

#[test]
fn printf_in_functions() {
    let (d, out) = device();
    d.launch("speaks", 1, 32, &[out]).unwrap();
}

#[test]
fn a_stack_that_is_full_is_the_interpreters_fault() {
    let (d, out) = device();
    let fault = d.launch("endless", 1, 32, &[out]).unwrap_err();
    assert!(matches!(*fault.cause, Cause::Stack { .. }), "{fault}");
}

#[test]
fn barrier_objects_and_barriers_under_a_guard() {
    let (d, out) = device();
    for block in [32, 96] {
        d.launch("objects", 2, block, &[out]).unwrap();
        let v = d.u32s(out, 8 * 32);
        assert_eq!((v[8 * 5], v[8 * 5 + 1], v[8 * 5 + 2]), (block - 6, 1, 5));
    }
}

#[test]
fn vectors_of_eight() {
    let (d, _) = device();
    let values: Vec<u32> = (0..8 * 64).collect();
    let at = d.upload(&values, |v| v.to_le_bytes());
    d.launch("eight", 1, 64, &[at]).unwrap();
    assert_eq!(d.u32s(at, 16)[8..], [8 + 1 + 15, 9, 10, 11, 12, 13, 14, 9]);
}

#[test]
fn the_host_replies_to_calls_of_functions_that_it_has() {
    let d = Device::new(
        ".version 8.0\n.target sm_80\n.address_size 64\n
.extern .func (.param .b64 r) host_sum(.param .b64 a, .param .b32 b, .param .b32 c);
.extern .func nobody_has_this();
.entry asks(.param .u64 out) {
  .reg .b64 o; .reg .b32 t; .reg .b64 d; .reg .pred p; ld.param.u64 o, [out]; mov.u32 t, %tid.x;
  mul.wide.u32 d, t, 8; add.s64 o, o, d; mov.b64 d, 0x100000000; setp.gt.u32 p, t, 3;
  { .param .b64 i; .param .b32 j; .param .b32 k; .param .b64 u;
    st.param.b64 [i], d; st.param.b32 [j], t; st.param.b32 [k], -1;
    @p call (u), host_sum, (i, j, k); @p ld.param.b64 d, [u]; }
  st.global.b64 [o], d; ret; }
.entry fails() { call nobody_has_this; ret; }",
    );
    let out = d.alloc(8 * 64);
    d.launch("asks", 1, 64, &[out]).unwrap();
    let v = d.u32s(out, 2 * 64);
    assert_eq!(v[..8], [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(v[8..12], [3, 2, 4, 2]);
    let fault = d.launch("fails", 1, 32, &[]).unwrap_err();
    assert!(
        matches!(&*fault.cause, Cause::Undefined { function } if function == "nobody_has_this")
    );
}

/// As on an H100; the output of other warps is undefined there.
#[test]
fn each_thread_of_a_warp_says_that_its_assertion_failed() {
    let d = Device::new(
        ".version 8.0\n.target sm_80\n.address_size 64\n
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 1 .b8 what[6] = {116, 32, 60, 32, 55, 0};
.entry k() {
  .reg .b32 t; .reg .b64 a; .reg .pred p; mov.u32 t, %tid.x; setp.lt.u32 p, t, 29; @p bra OUT;
  mov.u64 a, what;
  { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
    st.param.b64 [m], a; st.param.b64 [f], a; st.param.b32 [l], 7; st.param.b64 [n], a; st.param.b64 [s], 1;
    call __assertfail, (m, f, l, n, s); }
OUT: ret; }",
    );
    let fault = d.launch("k", 1, 32, &[]).unwrap_err();
    assert!(matches!(*fault.cause, Cause::Assert) && fault.thread == [29, 0, 0], "{fault}");
    let line = |t| {
        format!("t < 7:7: t < 7: block: [0,0,0], thread: [{t},0,0] Assertion `t < 7` failed.\n")
    };
    let expected: String = (29..32).map(line).collect();
    assert_eq!(String::from_utf8_lossy(&d.printed.lock().unwrap()), expected);
}
