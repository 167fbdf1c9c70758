//! Lanes whose addresses are near each other: known when the code is made or found at run time, for all lanes or some.

use super::again::with_both;
use super::guards::{HEAD, kernel};
use cushim_testkit::device::Device;

/// Every second word of shared memory: full warps, some lanes, guarded, descending, and with a range that ends past the memory.
const PAIRS: &str = "ld.global.u32 a, [p]; shl.b32 s, t, 3; add.u32 s, s, m; st.shared.u32 [s], a; mul.lo.u32 a, a, 3; st.shared.u32 [s+4], a; bar.sync 0;
    and.b32 b, t, 3; shl.b32 r1, t, 1; sub.u32 r1, r1, b; shl.b32 r1, r1, 2; add.u32 r1, r1, m; ld.shared.u32 r2, [r1]; ld.shared.u32 r3, [r1+16];
    setp.gt.u32 c, r2, r3; @!c bra M; st.shared.u32 [r1], r3; st.shared.u32 [r1+16], r2; M: bar.sync 0;
    @c st.shared.u32 [s+4], t; bar.sync 0; ld.shared.u32 r4, [s]; ld.shared.u32 r5, [s+4]; mad.lo.u32 a, r4, 5, r5; bar.sync 0;
    shl.b32 b, t, 3; sub.u32 b, m, b; st.shared.u32 [b+1016], a; bar.sync 0; ld.shared.u32 r6, [s]; bar.sync 0;
    add.u32 r7, s, 4; st.shared.u32 [r7], r6; bar.sync 0; ld.shared.u32 r5, [r7]; add.u32 a, a, r5; setp.lt.u32 d, a, r6; @d bra K;
    st.shared.u32 [r7], a; ld.shared.u32 r4, [s]; add.u32 a, a, r4; K: bar.sync 0; ld.shared.u32 r5, [r7]; xor.b32 a, a, r5; bar.sync 0;
    and.b32 b, t, 63; mad.lo.u32 s, b, 16, m; setp.lt.u32 c, t, 64; cvt.rn.f64.u32 e, a; @c st.shared.f64 [s], e; bar.sync 0;
    ld.shared.f64 f, [s]; setp.gt.f64 d, f, e; @d st.shared.f64 [s], e; bar.sync 0; ld.shared.f64 e, [s]; cvt.rzi.u32.f64 r1, e; xor.b32 a, a, r1; st.global.u32 [q], a;";

/// Eight lanes at a time are contiguous, at places that are loaded; some of them, and others that are not; inactive lanes anywhere.
const PIECES: &str = "shr.u32 a, t, 3; mul.wide.u32 q, a, 4; add.u64 q, x, q; ld.global.u32 n, [q]; and.b32 n, n, 127; and.b32 b, t, 7; add.u32 n, n, b;
    ld.global.u32 r1, [p]; shl.b32 s, n, 2; add.u32 s, s, m; setp.eq.u32 c, b, 3; and.b32 r7, a, 1; setp.eq.u32 d, r7, 0;
    mul.wide.u32 q, n, 4; add.u64 q, x, q; ld.global.u32 r2, [q]; mul.lo.u32 r3, t, 4; add.u32 r3, r3, m; st.shared.u32 [r3], r1; bar.sync 0;
    ld.shared.u32 r4, [s]; bar.sync 0; setp.lt.u32 d, t, 48; @!d bra A; @!c st.shared.u32 [s], r2; A: bar.sync 0; ld.shared.u32 r5, [r3]; bar.sync 0;
    setp.eq.u32 d, r7, 0; @d bra B; add.u32 s, s, 0x10000000; add.u64 q, q, 0x1000000000; B: @!d bra C; st.shared.u32 [s], r5; ld.global.u32 r6, [q+4]; ld.shared.u32 b, [s];
    add.u32 r5, r5, r6; xor.b32 r5, r5, b; C: bar.sync 0; mad.lo.u32 r4, r4, 3, r2; add.u32 r5, r5, r4; mul.wide.u32 q, t, 4; add.u64 q, y, q; st.global.u32 [q], r5;
    shl.b32 n, n, 2; cvt.u64.u32 p, n; add.u64 p, y, p; setp.lt.u32 d, t, 32; @!d bra E; @c st.global.u32 [p+2048], r4; @!c st.global.u32 [p+4096], r5; st.global.u32 [p+6144], r5; E:";

/// Words next to each other at places that are loaded, with others' values between.
const WORDS: &str = "ld.global.u32 n, [p]; and.b32 n, n, 63; mul.wide.u32 p, n, 4; add.u64 p, x, p; and.b32 a, t, 3; setp.eq.u32 c, a, 1; mov.u32 b, 5; mov.u32 r5, 1;
    ld.global.u32 r1, [p+8]; mul.lo.u32 r1, r1, 3; ld.global.u32 r2, [p]; ld.global.u32 r3, [p+4]; sub.u32 r1, r1, r2; ld.global.u32 r4, [p+12]; xor.b32 r3, r3, r4;
    ld.global.u32 r6, [p+20]; ld.global.u32 r7, [p+24]; ld.global.u32 s, [p+40]; add.u32 r1, r1, s; @c add.u64 p, p, 0x1000000000; @c bra M;
    ld.global.u32 b, [p+16]; ld.global.u32 r5, [p+20]; add.u32 b, b, r5; ld.global.f32 v, [p]; ld.global.f32 w, [p+4]; add.f32 v, v, w; mov.b32 r5, v;
    mul.wide.u32 p, n, 16; add.u64 p, y, p; st.global.u32 [p+4096], b; ld.global.u32 a, [p+4096]; st.global.u32 [p+4100], t; ld.global.u32 s, [p+4100]; ld.global.u32 n, [p+4104]; add.u32 a, a, s; add.u32 a, a, n;
    M: add.u32 r1, r1, r3; mad.lo.u32 r1, r6, 7, r1; xor.b32 r1, r1, r7; add.u32 r1, r1, b; mad.lo.u32 r1, r5, 3, r1; xor.b32 r1, r1, a; st.global.u32 [q], r1;
    shl.b32 s, t, 2; add.u32 s, s, m; st.shared.u32 [s], r1; bar.sync 0; and.b32 n, r1, 31; shl.b32 n, n, 2; add.u32 n, n, m; ld.shared.u32 r2, [n]; ld.shared.u32 r3, [n+4]; mad.lo.u32 r2, r2, 3, r3; st.global.u32 [q+1024], r2;";

/// Rows of vectors.
const ROWS: &str = "mul.wide.u32 p, t, 16; add.u64 q, y, p; add.u64 p, x, p; ld.global.v4.u32 {r1, r2, r3, r4}, [p]; add.u32 r1, r1, r4; st.global.v4.u32 [q], {r2, r1, r4, r3};
    ld.global.v2.f64 {e, f}, [p]; add.rn.f64 f, f, e; st.global.v2.f64 [q+4096], {f, e}; mul.wide.u32 p, t, 8; add.u64 q, y, p; add.u64 p, x, p; ld.global.v2.u32 {r5, r6}, [p];
    xor.b32 r5, r5, t; st.global.v2.u32 [q+8192], {5, r5}; mad.lo.u32 s, t, 8, m; st.shared.v2.u32 [s], {r5, r6}; ld.shared.v2.u32 {r1, r2}, [s]; sub.u32 r1, r1, r2; st.global.v2.u32 [q+10240], {r1, r6};
    and.b32 a, t, 7; mul.wide.u32 p, a, 16; add.u64 p, x, p; ld.global.v4.u32 {r1, r2, r3, r4}, [p]; add.u32 r1, r1, r2; add.u32 r3, r3, r4; st.global.v2.u32 [q+12288], {r1, r3};";

/// Blocks of several rows: every thread writes who it is to its place.
const STRIPS: &str = "mad.lo.u32 a, %ctaid.x, %ntid.x, t; mov.u32 r1, %ctaid.y; mov.u32 r2, %tid.y; mad.lo.u32 b, r1, %ntid.y, r2; mul.lo.u32 n, %nctaid.x, %ntid.x; mad.lo.u32 n, b, n, a;
    and.b32 r3, n, 255; mul.wide.u32 p, r3, 4; add.u64 p, x, p; ld.global.u32 r4, [p]; setp.gt.u32 c, r4, 0x60000000; @c bra L; mad.lo.u32 r4, %ctaid.x, 1000, r4; L:
    mad.lo.u32 r4, r2, 77, r4; mul.wide.u32 q, n, 4; add.u64 q, y, q; st.global.u32 [q], r4; atom.global.add.u32 r5, [x+1024], 1;";

fn device() -> (Device, u64, u64) {
    let all = [
        ("pairs", PAIRS),
        ("pieces", PIECES),
        ("words", WORDS),
        ("rows", ROWS),
        ("strips", STRIPS),
    ];
    let text: String = all.iter().map(|(name, body)| kernel(name, body)).collect();
    let d = Device::new(&(HEAD.to_owned() + &text));
    let words: Vec<u32> = (0..2048u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(64 << 10));
    (d, from, to)
}

fn same(test: &str, name: &str, blocks: &[u32]) {
    if !with_both(test) {
        return;
    }
    let (d, from, to) = device();
    for block in blocks {
        let kernel = d.kernel(d.find(name)).unwrap();
        kernel.improve([*block, 1, 1]).unwrap();
        assert_eq!(kernel.by_llvm([*block, 1, 1]), Some(Ok(())), "{name}");
        d.launch(name, 1, *block, &[from, to]).unwrap();
    }
}

#[test]
fn every_second_word_is_the_same() {
    same("lanes::every_second_word_is_the_same", "pairs", &[128, 64, 32, 100, 77, 3]);
}

#[test]
fn pieces_of_rows_are_the_same() {
    same("lanes::pieces_of_rows_are_the_same", "pieces", &[256, 128, 96, 64, 32, 50, 9]);
}

#[test]
fn neighbouring_words_are_the_same() {
    same("lanes::neighbouring_words_are_the_same", "words", &[256, 96, 32, 45, 5]);
}

#[test]
fn rows_of_vectors_are_the_same() {
    same("lanes::rows_of_vectors_are_the_same", "rows", &[128, 64, 32, 70]);
}

#[test]
fn strips_of_blocks_are_the_same() {
    if !with_both("lanes::strips_of_blocks_are_the_same") {
        return;
    }
    let (d, from, to) = device();
    let kernel = d.kernel(d.find("strips")).unwrap();
    for (grid, block) in [
        ([5, 3, 1], [32, 4, 1]),
        ([40, 1, 1], [32, 2, 2]),
        ([33, 2, 1], [64, 1, 1]),
        ([17, 2, 1], [8, 8, 1]),
        ([16, 1, 1], [40, 3, 1]),
    ] {
        kernel.improve(block).unwrap();
        assert_eq!(kernel.by_llvm(block), Some(Ok(())), "{block:?}");
        d.launch_with("strips", grid, block, 0, false, &[from, to]).unwrap();
    }
}

#[test]
fn words_past_the_memory_are_found() {
    if !with_both("lanes::words_past_the_memory_are_found") {
        return;
    }
    let (d, from, _) = device();
    let far = from + (1 << 30);
    assert!(d.launch("words", 1, 64, &[far, from]).is_err());
    assert!(d.launch("rows", 1, 64, &[far, from]).is_err());
    assert!(d.launch("pairs", 1, 160, &[from, from]).is_err());
}
