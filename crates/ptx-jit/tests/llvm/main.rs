//! Kernels by LLVM, if it is installed: the same bits as the interpreter, and which kernels LLVM compiles.
#![allow(clippy::unwrap_used)]

mod again;
mod broken;
mod guards;
mod lanes;
mod process;
mod random;
mod serial;

use again::{again, with_llvm};
use cushim_ptx::exec::{Cause, Host, KernelLaunch};
use cushim_testkit::device::Device;
use std::sync::atomic::{AtomicU64, Ordering};

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.shared .align 16 .b8 tile[1024];
.entry sums(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .u32 n; .reg .u32 s; .reg .u32 o; .reg .f32 v; .reg .f32 w; .reg .pred c; .reg .pred d; .reg .u32 m;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x;
  mad.lo.u32 n, %ctaid.x, 128, i; mul.wide.u32 %rd, n, 4;
  add.u64 p, p, %rd; ld.global.f32 v, [p];
  shl.b32 s, i, 2; mov.u32 o, tile; add.u32 s, s, o; st.shared.f32 [s], v; bar.sync 0;
  mov.u32 m, 64;
LOOP:
  setp.ge.u32 c, i, m; @c bra SKIP;
  mad.lo.u32 o, m, 4, s; ld.shared.f32 w, [o]; ld.shared.f32 v, [s]; add.rn.f32 v, v, w; st.shared.f32 [s], v;
SKIP:
  bar.sync 0; shr.u32 m, m, 1; setp.ne.u32 d, m, 0; @d bra LOOP;
  setp.ne.u32 c, i, 0; @c bra END;
  mul.wide.u32 %rd, %ctaid.x, 4; add.u64 q, q, %rd; ld.shared.f32 v, [tile]; st.global.f32 [q], v;
END: ret; }
.entry parted(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .u32 n; .reg .u32 v; .reg .u32 s; .reg .pred c;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x; and.b32 n, i, 7; mov.u32 s, 0;
LOOP:
  mad.lo.u32 v, i, 37, n; and.b32 v, v, 127; mul.wide.u32 %rd, v, 4; add.u64 %rd, %rd, p; ld.global.u32 v, [%rd];
  and.b32 v, v, 0xffff; setp.gt.u32 c, v, 0x7000; @c bra OTHER;
  add.u32 s, s, v; bra NEXT;
OTHER:
  xor.b32 s, s, v; div.u32 s, s, 3;
NEXT:
  add.u32 n, n, 1; setp.lt.u32 c, n, 9; @c bra LOOP;
  mul.wide.u32 %rd, i, 4; add.u64 q, q, %rd; st.global.u32 [q], s; atom.global.add.u32 v, [p], 1; ret; }
.entry halves(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .b16 h; .reg .b16 g; .reg .f32 v; .reg .f32 w; .reg .pred c;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x; mul.wide.u32 %rd, i, 4; add.u64 p, p, %rd; add.u64 q, q, %rd;
  ld.global.f32 v, [p]; cvt.rn.f16.f32 h, v; mul.f16 g, h, h; cvt.f32.f16 w, g; setp.lt.f32 c, v, w; ex2.approx.f32 w, w;
  @c sqrt.rn.f32 w, v; fma.rn.f32 v, v, w, w; max.f32 v, v, w; st.global.f32 [q], v; ret; }
.entry spins(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u32 v; .reg .pred c;
  ld.param.u64 p, [from];
LOOP: atom.global.cas.b32 v, [p], 0, 1; setp.eq.u32 c, v, 7; @c bra LOOP; ret; }
.entry endless(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u32 v; .reg .u32 i; .reg .pred c;
  ld.param.u64 p, [to]; mov.u32 i, %tid.x; mov.u32 v, 0;
LOOP: add.u32 v, v, i; setp.ne.u32 c, i, 7; @c bra LOOP; st.global.u32 [p], v; ret; }
.entry turns(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .u32 t; .reg .u32 m; .reg .u32 s; .reg .f32 v; .reg .f32 w; .reg .pred c; .reg .b32 b;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; and.b32 i, t, 31; mov.f32 w, 0f00000000;
  shr.u32 m, t, 5; mul.lo.u32 m, m, 96; sub.u32 m, 512, m;
LOOP:
  mul.wide.u32 %rd, i, 4; add.u64 %rd, %rd, p; ld.global.f32 v, [%rd]; add.rn.f32 w, w, v;
  add.u32 i, i, 32; setp.lt.u32 c, i, m; @c bra LOOP;
  mov.b32 b, w; shfl.sync.down.b32 b, b, 5, 31, -1; shfl.sync.up.b32 b|c, b, 3, 0, -1; @c add.u32 b, b, 7;
  and.b32 m, t, 15; shfl.sync.bfly.b32 b, b, m, 31, -1; shfl.sync.idx.b32 b, b, m, 0x181f, -1;
  shl.b32 s, t, 2; mov.u32 m, tile; add.u32 s, s, m; st.shared.u32 [s], b; bar.sync 0;
  xor.b32 m, s, 128; ld.shared.u32 b, [m]; mul.wide.u32 %rd, t, 4; add.u64 q, q, %rd; st.global.u32 [q], b; ret; }
.entry apart(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u32 t; .reg .u32 a; .reg .u32 b; .reg .pred c; .reg .pred d;
  ld.param.u64 p, [to]; mov.u32 t, %tid.x; and.b32 a, t, 7; mul.wide.u32 %rd, t, 4; add.u64 p, p, %rd;
  and.b32 b, a, 1; setp.eq.u32 c, b, 1; @c bra L;
  mad.lo.u32 a, a, 3, 7; mov.b32 b, a; setp.gt.u32 d, b, 15; @d bra M; add.u32 b, b, 5; M: shl.b32 a, b, 1;
  L: xor.b32 a, a, t; st.global.u32 [p], a; ret; }
.entry ends(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u32 t; .reg .u32 a; .reg .u32 b; .reg .u32 e; .reg .pred c; .reg .pred d;
  ld.param.u64 p, [to]; mov.u32 t, %tid.x; mul.wide.u32 %rd, t, 4; add.u64 p, p, %rd; mov.u32 a, %ctaid.x; mad.lo.u32 b, a, 4, t;
  setp.gt.u32 d, a, 7; and.b32 t, t, 3; setp.eq.u32 c, t, 1; @c bra L;
  @d add.u32 b, b, 1; mad.lo.u32 e, b, 3, a; st.global.u32 [p], e; mov.u32 a, 5; setp.lt.u32 d, a, 6; add.u32 b, b, a;
  st.global.u32 [p+1024], b; @d bra M; ret;
  M: st.global.u32 [p+512], t; ret;
  L: @d add.u32 b, b, 9; mad.lo.u32 e, b, 8, a; st.global.u32 [p], e; mov.u32 a, 90; setp.lt.u32 d, a, 100; add.u32 b, b, a;
  @d st.global.u32 [p+1024], b; ret; }
.entry fused(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .b16 h; .reg .b16 g; .reg .b16 k; .reg .b16 r;
  ld.param.u64 q, [to]; mov.u32 i, %tid.x; mul.wide.u32 %rd, i, 8; add.u64 q, q, %rd; mov.b16 h, 0x2e00; mov.b16 g, 0x7bfe; mov.b16 k, 0x1c3;
  fma.rn.f16 r, h, g, k; st.global.b16 [q], r; st.global.b16 [q+2], h; ld.global.b16 h, [q+2]; fma.rn.f16 r, h, g, k; st.global.b16 [q+4], r; ret; }
.entry atoms(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .u32 v; .reg .u32 s; .reg .u32 o; .reg .u32 m; .reg .s32 n; .reg .u64 l;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x; mul.wide.u32 %rd, i, 4; add.u64 p, p, %rd; add.u64 q, q, %rd;
  mov.u32 m, tile; shl.b32 s, i, 3; add.u32 s, s, m; mov.u64 l, 0; st.shared.u64 [s], l; bar.sync 0;
  ld.global.u32 v, [p]; and.b32 s, v, 124; add.u32 s, s, m;
  atom.shared.add.u32 o, [s], v; atom.shared.max.s32 n, [s+4], v; add.u32 o, o, n; atom.shared.xor.b32 n, [s], o;
  atom.shared.exch.b32 n, [s+128], v; add.u32 o, o, n; atom.shared.min.u32 v, [s+4], o; red.shared.and.b32 [s+256], v;
  shl.b32 s, v, 3; and.b32 s, s, 56; add.u32 s, s, m; cvt.u64.u32 l, o; atom.shared.add.u64 l, [s+512], l; cvt.u32.u64 v, l; xor.b32 o, o, v;
  st.global.u32 [q], o; atom.global.add.u32 v, [q], 3; red.global.max.u32 [q], o; ret; }
.entry pointers(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u64 x; .reg .u64 r; .reg .u32 t; .reg .u32 b; .reg .pred d; .reg .u32 n; .reg .u32 s; .reg .u32 v; .reg .u32 w; .reg .pred c;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.lo.u32 v, %ctaid.x, 64, t; mul.wide.u32 r, v, 4; add.u64 q, q, r;
  mov.u64 x, tile; cvta.shared.u64 x, x; shl.b32 v, t, 2; mov.u32 w, tile; add.u32 v, v, w; mad.lo.u32 s, t, 7, 3; st.shared.u32 [v], s; bar.sync 0;
  and.b32 b, %ctaid.x, 1; setp.eq.u32 d, b, 1; selp.b64 p, x, p, d; ld.u32 n, [p]; ld.v2.u32 {w, v}, [p+8]; and.b32 n, n, 7; add.u32 s, w, v;
  mul.wide.u32 %rd, t, 4; add.u64 %rd, %rd, p; ld.u32 w, [%rd]; xor.b32 s, s, w; and.b32 w, s, 31; mul.wide.u32 %rd, w, 4; add.u64 %rd, %rd, p; ld.u32 w, [%rd]; add.u32 s, s, w;
LOOP: add.u32 v, n, t; shfl.sync.down.b32 v, v, 3, 31, -1; mad.lo.u32 s, s, 5, v; sub.u32 n, n, 1; setp.gt.s32 c, n, 0; @c bra LOOP;
  st.u32 [q], s; bar.sync 0; mul.wide.u32 r, t, 4; add.u64 r, r, p; st.u32 [r], s; ret; }
.entry own(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 x; .reg .u32 t; .reg .u32 s; .local .align 8 .b8 l[16];
  ld.param.u64 p, [to]; mov.u32 t, %tid.x; mul.wide.u32 x, t, 4; add.u64 p, p, x;
  mov.u64 x, l; cvta.local.u64 x, x; mad.lo.u32 s, t, 7, 3; st.u32 [x+4], s; ld.u32 s, [x+4]; st.u32 [p], s; ret; }
.entry doubles(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .f64 a; .reg .f64 b; .reg .f64 c; .reg .f64 d; .reg .pred e; .reg .f32 f; .reg .u32 w;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x; mul.wide.u32 %rd, i, 8; add.u64 p, p, %rd; add.u64 q, q, %rd;
  ld.global.f64 a, [p]; ld.global.f64 b, [p+8]; ld.global.f64 c, [p+512];
  add.rn.f64 d, a, b; mul.rn.f64 c, c, d; setp.lt.f64 e, c, d; @e sub.rn.f64 d, d, a; fma.rn.f64 d, d, b, c; div.rn.f64 a, a, d; sqrt.rn.f64 b, b;
  add.rn.f64 a, a, b; rcp.rn.f64 c, c; add.rn.f64 d, d, c; ld.global.f32 f, [p]; cvt.f64.f32 c, f; add.rn.f64 d, d, c; ld.global.u32 w, [p]; cvt.rn.f64.s32 c, w; fma.rn.f64 d, d, c, b;
  cvt.rzi.s32.f64 w, b; cvt.rn.f64.u32 c, w; sub.rn.f64 d, d, c; st.global.f64 [q], a; st.global.f64 [q+2048], d; ret; }
.entry units(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u32 i; .reg .f32 x; .reg .f32 y; .reg .f32 v; .reg .b32 s; .reg .b32 b;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 i, %tid.x; mul.wide.u32 %rd, i, 4; add.u64 p, p, %rd; add.u64 q, q, %rd;
  ld.global.f32 x, [p]; ld.global.f32 y, [p+1024]; mov.u32 s, 0;
  FUNCTIONS ret; }";

/// A kernel that stores the result of each approximate function, with and without `.ftz`.
fn functions() -> String {
    let one = ["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "tanh"].map(|f| (f, "x"));
    let two = [("div", "x, y")];
    let mut text = String::new();
    let mut at = 0;
    for (name, operands) in one.into_iter().chain(two) {
        for form in [".approx.f32", ".approx.ftz.f32", ".full.f32", ".full.ftz.f32"] {
            if (name != "div" && form.contains("full")) || (name == "tanh" && form.contains("ftz"))
            {
                continue;
            }
            text += &format!("{name}{form} v, {operands}; st.global.f32 [q+{at}], v; ");
            at += 1024;
        }
    }
    text
}

/// A host that ends a launch once it has been asked twice.
#[derive(Default)]
struct Ends(AtomicU64);

impl Host for Ends {
    fn print(&self, _: &[u8]) {}
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn nanoseconds(&self) -> u64 {
        0
    }
    fn interrupted(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 1
    }
}

fn device() -> (Device, [u64; 2]) {
    let text = TEXT.replace("%rd", "a64").replace("FUNCTIONS", &functions());
    let text = text.replace(".reg .u64 p;", ".reg .u64 p; .reg .u64 a64;");
    let d = Device::new(&text);
    let words: Vec<u32> = (0..512u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(4096));
    (d, [from, to])
}

#[test]
fn kernels_are_taken_and_do_the_same() {
    if !with_llvm("kernels_are_taken_and_do_the_same") {
        return;
    }
    let (d, args) = device();
    for (name, grid, block) in [
        ("sums", 3, 128),
        ("parted", 1, 128),
        ("parted", 2, 75),
        // Waiting lanes keep a register that active lanes write, and that is not live after their region.
        ("apart", 1, 64),
        ("apart", 1, 75),
        // The same for uniform and affine registers, before a kernel ends.
        ("ends", 2, 64),
        ("ends", 2, 75),
        ("halves", 1, 96),
        ("turns", 1, 128),
        ("turns", 2, 160),
        ("atoms", 1, 64),
        ("atoms", 1, 75),
        ("pointers", 2, 64),
        ("pointers", 2, 43),
    ] {
        let kernel = d.kernel(d.find(name)).unwrap();
        kernel.improve([block, 1, 1]).unwrap();
        assert_eq!(kernel.by_llvm([block, 1, 1]), Some(Ok(())), "{name}");
        d.launch(name, grid, block, &args).unwrap();
    }
}

/// Numbers of all kinds, and many random ones.
fn numbers() -> Vec<u32> {
    let marks = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f80_0000,
        0x7e80_0000,
        0x7e80_0001,
        0x7f80_0000,
        0x7fc0_1234,
        0x42fc_0000,
    ];
    let random = (0..).map(|n: u32| n.wrapping_mul(0x9e37_79b9) ^ n << 13);
    // Of medium size, where functions return neither infinity nor zero.
    let middle = (0..).map(|n: u32| 0x3c00_0000 + n.wrapping_mul(0x9e37_79b9) % 0x800_0000);
    let signed = marks.into_iter().flat_map(|m: u32| [m, m | 1 << 31, m.wrapping_sub(1)]);
    signed.chain(random.take(482)).chain(middle.take(512)).collect()
}

/// Operands for which functions have a short way if all lanes of a warp have such: 256 of them, of each kind 32. Where
/// a kind is depends on the seed, so that quotients are of two kinds.
fn usual(seed: u32) -> Vec<u32> {
    let random = |n: u32| (n + 256 * seed).wrapping_mul(0x9e37_79b9) ^ n << 13;
    let middle = |n: u32| 0x3c00_0000 + random(n) % 0x600_0000;
    let whole = |n: u32| (n as f32 - 16.0) * if n & 1 == 0 { 1.0 } else { 0.25 };
    let one_of = |all: &[u32], n: u32| all[n as usize % all.len()];
    let all = (0..256).map(|n| match (n / 32 + 3 * seed) % 8 {
        0 => middle(n),
        1 => middle(n) | 1 << 31,
        2 => whole(n % 32).to_bits(),
        // The first and last of roots and logarithms, of `rcp` and of `ex2`; even powers and odd ones.
        3 => one_of(
            &[0x80_0000, 0x80_0001, 0xff_ffff, 0x7f7f_ffff, 0x3f80_0000, 0x4000_0000, 0x4080_0000],
            n,
        ),
        4 => {
            one_of(&[0x80_0000, 0x8080_0000, 0x7e7f_ffff, 0xfe7f_ffff, 0x3f80_0000, 0xbfff_ffff], n)
        }
        5 => one_of(
            &[0, 1 << 31, 1, 0x807f_ffff, 0x42fb_ffff, 0xc2fb_ffff, 0x3400_0001, 0xb3ff_ffff],
            n,
        ),
        // One lane alone is not usual.
        6 if n % 32 == 7 + seed % 8 => one_of(
            &[0xff80_0000, 0x7fc0_0000, 0x42fc_0000, 1, 0xc2fc_0001, 0x7e80_0000, 0xc2ff_0000],
            seed,
        ),
        6 => middle(n),
        _ => 0x80_0000 + random(n) % 0x7f00_0000,
    });
    all.collect()
}

#[test]
fn approximate_functions_and_doubles_have_the_same_bits() {
    if !with_llvm("approximate_functions_and_doubles_have_the_same_bits") {
        return;
    }
    let (d, _) = device();
    let mut words = numbers();
    assert_eq!(words.len(), 1024);
    (0..33).for_each(|seed| words.extend(usual(seed)));
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(32 * 1024));
    let kernels = [(0, "units"), (2048, "units"), (0, "doubles"), (1500 & !7, "doubles")];
    for (part, name) in kernels.into_iter().chain((0..32).map(|seed| (4096 + 1024 * seed, "units")))
    {
        let kernel = d.kernel(d.find(name)).unwrap();
        assert_eq!(kernel.by_llvm([256, 1, 1]), Some(Ok(())), "{name}");
        d.launch(name, 1, 256, &[from + part, to]).unwrap();
    }
}

#[test]
fn what_waits_for_others_is_not_taken() {
    if !with_llvm("what_waits_for_others_is_not_taken") {
        return;
    }
    let (d, args) = device();
    let kernel = d.kernel(d.find("spins")).unwrap();
    let why = kernel.by_llvm([32, 1, 1]);
    assert_eq!(why, Some(Err("lanes that wait for others".into())));
    d.launch("spins", 1, 32, &args).unwrap();
}

#[test]
fn generic_addresses_that_may_be_local_are_not_taken() {
    if !with_llvm("generic_addresses_that_may_be_local_are_not_taken") {
        return;
    }
    let (d, args) = device();
    let kernel = d.kernel(d.find("own")).unwrap();
    let why = kernel.by_llvm([64, 1, 1]);
    assert_eq!(why, Some(Err("a generic access that may be one to local memory".into())));
    d.launch("own", 1, 64, &args).unwrap();
    assert_eq!(d.u32s(args[1], 64), (0..64).map(|t| 7 * t + 3).collect::<Vec<u32>>());
}

#[test]
fn places_that_are_not_there_are_the_same_faults() {
    if !with_llvm("places_that_are_not_there_are_the_same_faults") {
        return;
    }
    let (d, [from, _]) = device();
    let kernel = d.kernel(d.find("halves")).unwrap();
    assert_eq!(kernel.by_llvm([64, 1, 1]), Some(Ok(())));
    assert!(d.launch("halves", 1, 64, &[from, 4]).is_err());
    assert!(d.launch("halves", 1, 64, &[from + 2, from]).is_err());
}

fn launch<'a>(
    d: &'a Device,
    kernel: u32,
    grid: u32,
    threads: u32,
    params: &'a [u8],
) -> KernelLaunch<'a> {
    KernelLaunch {
        module: &d.module,
        kernel,
        globals: &[],
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        params,
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: 0,
        local_limit: 1 << 16,
    }
}

#[test]
fn what_runs_for_long_is_compiled_meanwhile() {
    if !again("what_runs_for_long_is_compiled_meanwhile", "0") {
        return;
    }
    let (d, args) = device();
    let number = d.find("sums");
    let kernel = d.kernel(number).unwrap();
    let params = d.module.functions[number as usize].packed(&args);
    let many = launch(&d, number, 1024, 128, &params);
    let mut rounds = 0;
    while kernel.by_llvm([128, 1, 1]).is_none() {
        kernel.run(&many, &d.arena, &d, 1).unwrap();
        rounds += 1;
        assert!(rounds < 1_000_000, "nobody compiles it");
    }
    assert!(rounds > 1, "it was compiled before it had run");
    assert_eq!(kernel.by_llvm([128, 1, 1]), Some(Ok(())));
    // While LLVM's code is measured against Cranelift's, and after the choice.
    for _ in 0..50 {
        kernel.run(&many, &d.arena, &d, 1).unwrap();
    }
    d.launch("sums", 3, 128, &args).unwrap();
}

#[test]
fn launches_of_one_block_count_too() {
    if !again("launches_of_one_block_count_too", "0") {
        return;
    }
    let (d, args) = device();
    let number = d.find("parted");
    let kernel = d.kernel(number).unwrap();
    let params = d.module.functions[number as usize].packed(&args);
    let one = launch(&d, number, 1, 1024, &params);
    let mut rounds = 0;
    while kernel.by_llvm([1024, 1, 1]).is_none() {
        kernel.run(&one, &d.arena, &d, 1).unwrap();
        rounds += 1;
        assert!(rounds < 10_000_000, "nobody compiles it");
    }
    assert_eq!(kernel.by_llvm([1024, 1, 1]), Some(Ok(())));
}

#[test]
fn an_endless_loop_is_ended() {
    if !with_llvm("an_endless_loop_is_ended") {
        return;
    }
    let (d, args) = device();
    let number = d.find("endless");
    let kernel = d.kernel(number).unwrap();
    // Full warps, and a partial one.
    for threads in [64, 5] {
        assert_eq!(kernel.by_llvm([threads, 1, 1]), Some(Ok(())));
        let params = d.module.functions[number as usize].packed(&args);
        let launch = launch(&d, number, 1, threads, &params);
        let done = kernel.run(&launch, &d.arena, &Ends::default(), 1);
        assert!(done.as_ref().is_err_and(|f| *f.cause == Cause::Interrupted), "{done:?}");
    }
}

/// An object file: code that refers to byte 4 of constants, which are aligned to 16.
fn object() -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..4].copy_from_slice(b"\x7fELF");
    let mut put = |bytes: &[u8]| {
        file.extend(bytes);
        (file.len() - bytes.len()) as u64
    };
    let code = put(&[0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xc3]);
    let constants = put(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let symbol = [&[0; 6][..], &[2, 0], &4u64.to_le_bytes(), &[0; 8]].concat();
    let symbols = put(&[&[0; 24][..], &symbol].concat());
    let reference = [3, 1 << 32 | 2, -4i64 as u64];
    let references = put(&reference.map(u64::to_le_bytes).concat());
    let section = |kind: u32, flags: u64, at: u64, size: u64, link: u32, info: u32, align: u64| {
        let words = [flags, 0, at, size].map(u64::to_le_bytes).concat();
        let head = [0, kind].map(u32::to_le_bytes).concat();
        let to = [link, info].map(u32::to_le_bytes).concat();
        [head, words, to, [align, 0].map(u64::to_le_bytes).concat()].concat()
    };
    let table = put(&[
        section(0, 0, 0, 0, 0, 0, 0),
        section(1, 6, code, 8, 0, 0, 16),
        section(1, 2, constants, 8, 0, 0, 16),
        section(2, 0, symbols, 48, 0, 0, 8),
        section(4, 0, references, 24, 3, 1, 8),
    ]
    .concat());
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[58..62].copy_from_slice(&[64, 0, 5, 0]);
    file
}

#[test]
fn object_files_become_bytes_that_run_anywhere() {
    let file = object();
    let code = cushim_ptx_jit::flat(&file).unwrap();
    // From the instruction's end, at 7, it is 13 bytes to 20.
    assert_eq!(code[..8], [0x48, 0x8d, 0x05, 13, 0, 0, 0, 0xc3]);
    assert_eq!((code.len(), &code[16..]), (24, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
    // Nothing reads the last field of the last section.
    for end in 0..file.len() - 8 {
        assert!(cushim_ptx_jit::flat(&file[..end]).is_err(), "{end}");
    }
    // Each number of the file set to its maximum: sums of them overflow.
    for at in 0..file.len() - 7 {
        for fill in [0xff, 0x7f] {
            let mut broken = file.clone();
            broken[at..at + 8].fill(fill);
            cushim_testkit::jit::object(&broken);
        }
    }
    // And with random bytes.
    let mut state = 1u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..20_000 {
        let mut broken = file.clone();
        for _ in 0..1 + random() % 4 {
            let at = (random() % file.len() as u64) as usize;
            broken[at] = random() as u8;
        }
        cushim_testkit::jit::object(&broken);
    }
    // A reference to an undefined symbol, and a relocation of another kind.
    let symbol = 64 + 16 + 24;
    let mut other = file.clone();
    other[symbol + 6] = 0;
    assert_eq!(cushim_ptx_jit::flat(&other), Err("a call of what is not in the object file"));
    other[symbol + 6] = 2;
    other[symbol + 24 + 8] = 1;
    assert_eq!(cushim_ptx_jit::flat(&other), Err("a reference that is not relative to its place"));
}
