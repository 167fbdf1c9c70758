//! Loops whose lanes run one after the other: lanes that leave after different numbers of rounds, some that are not in the
//! loop, and what only vectors' code can do.

use super::again::with_both;
use super::guards::{HEAD, kernel};
use cushim_testkit::device::Device;

/// Rows of up to seven words at places that are loaded; every third lane has none, and keeps values of its own.
const ROWS: &str = ".reg .u64 o; ld.global.u32 n, [p]; and.b32 a, n, 7; shr.u32 n, n, 4; and.b32 n, n, 127; mul.wide.u32 p, n, 4; add.u64 p, x, p;
    mov.u32 b, t; mov.f32 v, 0f3f800000; mov.u32 r1, 3; mul.lo.u32 r2, t, 11; rem.u32 r3, t, 3; setp.eq.u32 c, r3, 0; @c bra M; setp.eq.u32 c, a, 0; @c bra M;
    L: ld.global.u32 r1, [p]; and.b32 r4, r1, 255; mul.wide.u32 o, r4, 4; add.u64 o, x, o; ld.global.u32 r5, [o]; cvt.rn.f32.u32 w, r5; fma.rn.f32 v, v, w, 0fbf000000;
    xor.b32 b, b, r5; add.u32 r2, r2, r1; add.u64 p, p, 4; sub.u32 a, a, 1; setp.ne.u32 d, a, 0; @d bra L;
    M: mov.b32 r6, v; mad.lo.u32 b, b, 3, r6; mad.lo.u32 b, r1, 5, b; xor.b32 b, b, r2; add.u32 b, b, a; st.global.u32 [q], b;";

/// A list in shared memory, by bytes and pairs of words; lanes of odd numbers end behind it.
const LISTS: &str = "ld.global.u32 a, [p]; shl.b32 s, t, 3; add.u32 s, s, m; mad.lo.u32 b, t, 37, 11; and.b32 b, b, 127; and.b32 r1, a, 0xffffff00; or.b32 r1, r1, b; st.shared.v2.u32 [s], {r1, a}; bar.sync 0;
    mov.u32 n, 0; mov.u32 r7, 0; mov.u32 r6, t;
    L: shl.b32 s, r6, 3; add.u32 s, s, m; ld.shared.v2.u32 {r2, r3}, [s]; ld.shared.s8 r4, [s+1]; and.b32 r6, r2, 127; add.u32 r7, r7, r3; add.u32 n, n, r4; setp.gt.u32 c, r6, 40; @c bra L;
    mad.lo.u32 r7, r7, 3, n; st.global.u32 [q], r7; and.b32 b, t, 1; setp.eq.u32 d, b, 1; @!d bra E; mov.u32 r6, t;
    K: shl.b32 s, r6, 3; add.u32 s, s, m; ld.shared.u32 r2, [s]; and.b32 r6, r2, 127; setp.gt.u32 c, r6, 40; @!c bra F; bra K; E: st.global.u32 [q+1024], r6; F:";

/// Sums of doubles; some are NaNs, whose payloads stay.
const DOUBLES: &str = "ld.global.u32 n, [p]; and.b32 a, n, 15; add.u32 a, a, 1; shr.u32 n, n, 5; and.b32 n, n, 63; mul.wide.u32 p, n, 8; add.u64 p, x, p; mov.f64 e, 0d3ff0000000000000;
    L: ld.global.f64 f, [p]; fma.rn.f64 e, e, 0d3fe0000000000000, f; add.u64 p, p, 8; sub.u32 a, a, 1; setp.gt.s32 c, a, 0; @c bra L;
    mul.wide.u32 p, t, 8; add.u64 q, y, p; st.global.f64 [q], e;";

/// A predicate that a round sets and a later one reads outlives the loop; another is from before it.
const PREDICATES: &str = "ld.global.u32 n, [p]; and.b32 a, n, 7; add.u32 a, a, 1; mov.u32 b, 0; setp.lt.u32 d, n, a;
    L: ld.global.u32 r1, [p]; selp.u32 r2, 3, 5, d; mad.lo.u32 b, b, r2, r1; setp.gt.u32 d, r1, b; add.u64 p, p, 4; sub.u32 a, a, 1; setp.ne.u32 c, a, 0; @c bra L;
    @d add.u32 b, b, 7; st.global.u32 [q], b; and.b32 a, n, 7; add.u32 a, a, 1; setp.gt.u32 d, n, b; ld.param.u64 p, [from];
    K: ld.global.u32 r1, [p]; selp.u32 r2, 3, 5, d; mad.lo.u32 b, b, r2, r1; and.b32 r1, r1, 63; mad.wide.u32 p, r1, 4, x; sub.u32 a, a, 1; setp.ne.u32 c, a, 0; @c bra K;
    st.global.u32 [q+1024], b;";

/// As many rounds as a lane's number times `%ctaid.x`, or a table's word.
const LONG: &str = ".reg .u64 o; ld.global.u32 a, [p]; mul.lo.u32 n, a, %ctaid.x; add.u32 n, n, 1; mov.u32 b, 0; mov.u64 p, x;
    L: ld.global.u32 r1, [p]; mad.lo.u32 b, b, 3, r1; and.b32 r2, b, 31; mul.wide.u32 o, r2, 4; add.u64 p, x, o; sub.u32 n, n, 1; setp.ne.u32 c, n, 0; @c bra L;
    mad.lo.u32 a, %ctaid.x, %ntid.x, t; mul.wide.u32 q, a, 4; add.u64 q, y, q; st.global.u32 [q], b;";

fn device() -> Device {
    let all = [
        ("rows", ROWS),
        ("lists", LISTS),
        ("doubles", DOUBLES),
        ("predicates", PREDICATES),
        ("long", LONG),
    ];
    let text: String = all.iter().map(|(name, body)| kernel(name, body)).collect();
    Device::new(&(HEAD.to_owned() + &text))
}

fn words(n: u32) -> Vec<u32> {
    (0..n).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect()
}

fn same(d: &Device, name: &str, grid: u32, blocks: &[u32], args: &[u64]) {
    for block in blocks {
        let kernel = d.kernel(d.find(name)).unwrap();
        kernel.improve([*block, 1, 1]).unwrap();
        assert_eq!(kernel.by_llvm([*block, 1, 1]), Some(Ok(())), "{name}");
        d.launch(name, grid, *block, args).unwrap();
    }
}

#[test]
fn rows_of_different_lengths_are_the_same() {
    if !with_both("serial::rows_of_different_lengths_are_the_same") {
        return;
    }
    let d = device();
    let (from, to) = (d.upload(&words(1024), |w| w.to_le_bytes()), d.alloc(16 << 10));
    same(&d, "rows", 2, &[256, 96, 32, 45, 5], &[from, to]);
    same(&d, "lists", 1, &[128, 64, 32, 77, 3], &[from, to]);
    same(&d, "predicates", 1, &[256, 70, 32], &[from, to]);
}

#[test]
fn doubles_that_are_no_numbers_keep_their_payloads() {
    if !with_both("serial::doubles_that_are_no_numbers_keep_their_payloads") {
        return;
    }
    let d = device();
    let mut all = words(1024);
    all[301] = 0x7ff0_1234;
    all[277] = 0xfff8_0777;
    let (from, to) = (d.upload(&all, |w| w.to_le_bytes()), d.alloc(16 << 10));
    same(&d, "doubles", 1, &[256, 32, 20], &[from, to]);
}

#[test]
fn vectors_take_over_after_many_rounds() {
    if !with_both("serial::vectors_take_over_after_many_rounds") {
        return;
    }
    let d = device();
    let rounds: Vec<u32> = (0..64u32).map(|n| (n * 7) % 50).collect();
    let (from, to) = (d.upload(&rounds, |w| w.to_le_bytes()), d.alloc(16 << 10));
    same(&d, "long", 4, &[64, 40], &[from, to]);
}

#[test]
fn an_address_out_of_range_is_found() {
    if !with_both("serial::an_address_out_of_range_is_found") {
        return;
    }
    let d = device();
    let mut all = words(1024);
    let (from, to) = (d.upload(&all, |w| w.to_le_bytes()), d.alloc(16 << 10));
    let far = from + (1 << 30);
    assert!(d.launch("rows", 1, 64, &[far, to]).is_err());
    // A lane's row ends past the memory.
    all.truncate(64);
    let short = d.upload(&all, |w| w.to_le_bytes());
    let _ = d.launch("rows", 1, 64, &[short, to]);
    assert!(d.launch("rows", 1, 64, &[u64::MAX - (1 << 12), to]).is_err());
}
