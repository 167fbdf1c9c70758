//! Guarded accesses, scalar comparisons, and warps that reach barriers together or not.

use super::again::with_both;
use cushim_testkit::device::Device;

pub(super) const HEAD: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[1024];\n";

/// A kernel with registers and a prologue for all tests: `p` and `q` are its arguments plus four bytes per thread.
pub(super) fn kernel(name: &str, body: &str) -> String {
    format!(
        ".entry {name}(.param .u64 from, .param .u64 to) {{
        .reg .u64 p; .reg .u64 q; .reg .u64 x; .reg .u64 y; .reg .u32 t; .reg .u32 a; .reg .u32 b; .reg .u32 n; .reg .u32 s; .reg .u32 m;
        .reg .pred c; .reg .pred d; .reg .f64 e; .reg .f64 f; .reg .f32 v; .reg .f32 w; .reg .b32 r<8>; .reg .b16 h;
        ld.param.u64 x, [from]; ld.param.u64 y, [to]; mov.u32 t, %tid.x; mul.wide.u32 p, t, 4; add.u64 q, y, p; add.u64 p, x, p;
        mov.u32 m, tile; {body} ret; }}\n"
    )
}

/// A scan whose first lanes would read below shared memory; its counter has one value in all warps.
const SCAN: &str = "shl.b32 s, t, 2; add.u32 s, s, m; ld.global.u32 a, [p]; st.shared.u32 [s], a; bar.sync 0; mov.u32 n, 1; mov.u32 b, 0;
    L: mov.u32 a, 0; setp.ge.u32 c, t, n; shl.b32 r1, n, 2; sub.u32 r1, s, r1; @c ld.shared.u32 a, [r1]; bar.sync 0;
    ld.shared.u32 r2, [s]; add.u32 a, a, r2; st.shared.u32 [s], a; add.u32 b, b, n; bar.sync 0;
    shl.b32 n, n, 1; setp.lt.u32 d, n, %ntid.x; @d bra L;
    ld.shared.u32 a, [s]; xor.b32 a, a, b; st.global.u32 [q], a; setp.lt.u32 c, t, 3; @c st.global.u32 [q+1024], n;";

/// Even warps wait at one barrier, odd ones at another, with different counters.
const SITES: &str = "shl.b32 s, t, 2; add.u32 s, s, m; shr.u32 a, t, 5; and.b32 r1, a, 1; setp.eq.u32 c, r1, 0; mov.u32 n, 0; mov.u32 b, 7;
    L: st.shared.u32 [s], n; @c bra M;
    add.u32 b, b, 3; mad.lo.u32 r2, b, 5, n; bar.sync 0; xor.b32 r3, s, 128; ld.shared.u32 r4, [r3]; add.u32 r2, r2, r4; bra N;
    M: add.u32 b, b, 1; mul.lo.u32 r2, b, n; bar.sync 0; ld.shared.u32 r4, [s]; add.u32 r2, r2, r4;
    N: add.u32 n, n, r2; and.b32 n, n, 0xffff; bar.sync 0; add.u32 a, a, 1; setp.lt.u32 d, a, 6; xor.b32 r5, a, t; st.global.u32 [q], r5;
    mov.u32 r6, 9; bar.sync 0; setp.gt.u32 d, b, 15; @!d bra L;
    add.u32 n, n, r6; st.global.u32 [q+1024], n;";

/// Divergent lanes load and store vectors, single bytes, and at per-lane addresses.
const PARTS: &str = "and.b32 a, t, 3; mul.wide.u32 p, t, 16; add.u64 p, x, p; mov.u32 r1, 1; mov.u32 r2, 2; mov.u32 r3, 3; mov.u32 r4, 4;
    setp.eq.u32 c, a, 1; setp.gt.u32 d, t, 40; @c bra L; add.u32 b, t, 5; @d ld.global.v4.u32 {r1, r2, r3, r4}, [p];
    xor.b32 r1, r1, b; bra M; L: ld.global.v2.u32 {r2, r3}, [p+8]; mul.lo.u32 r4, r2, r3;
    M: mad.lo.u32 r5, r1, 3, r2; xor.b32 r3, r3, r4; mul.lo.u32 n, t, 37; and.b32 n, n, 127; mul.wide.u32 p, n, 4; add.u64 p, y, p;
    setp.ne.u32 d, a, 2; @d st.global.u32 [p], r5; cvt.u16.u32 h, r3; and.b32 s, t, 7; mul.wide.u32 x, s, 1; add.u64 x, y, x;
    @c st.global.u8 [x+1024], h; mul.wide.u32 q, t, 8; add.u64 q, y, q; @!c st.global.v2.u32 [q+2048], {r3, r5};";

/// Signs of double NaNs, and `min` and `max` of numbers of all kinds.
const SIGNS: &str = "mul.wide.u32 p, t, 8; add.u64 p, x, p; mul.wide.u32 q, t, 32; add.u64 q, y, q; ld.global.f64 e, [p]; neg.f64 f, e; st.global.f64 [q], f;
    abs.f64 f, f; st.global.f64 [q+8], f; ld.global.f64 e, [x]; neg.f64 e, e; add.rn.f64 f, f, e; st.global.f64 [q+16], f;
    ld.global.f32 v, [p]; ld.global.f32 w, [p+4]; max.f32 w, v, w; st.global.f32 [q+24], w; min.f32 w, w, v; min.NaN.f32 v, w, v; st.global.f32 [q+28], v;";

/// A tile that two-dimensional blocks write and read by rows, by columns and by one address for each row, of 4 and 8 bytes.
const TILE: &str = "mov.u32 a, %tid.y; mad.lo.u32 n, a, %ntid.x, t; mul.wide.u32 p, n, 4; add.u64 q, y, p; add.u64 p, x, p; ld.global.u32 b, [p];
    mad.lo.u32 s, a, 64, m; mad.lo.u32 r1, t, 4, s; st.shared.u32 [r1], b; bar.sync 0; ld.shared.u32 r2, [s+8];
    mad.lo.u32 s, t, 64, m; mad.lo.u32 r3, a, 4, s; ld.shared.u32 r4, [r3]; mad.lo.u32 r2, r2, 3, r4; bar.sync 0;
    mad.lo.u32 s, a, 8, m; st.shared.u32 [s], r2; bar.sync 0; ld.shared.u32 r5, [s]; add.u32 r2, r2, r5; bar.sync 0;
    mad.lo.u32 s, t, 64, m; mad.lo.u32 r1, a, 8, s; and.b32 r3, a, 7; mad.lo.u32 r1, r3, 8, s; cvt.rn.f64.u32 e, r2; st.shared.f64 [r1], e; bar.sync 0;
    mad.lo.u32 s, t, 8, m; ld.shared.f64 f, [s]; ld.shared.f64 e, [m+24]; add.rn.f64 f, f, e; cvt.rzi.u32.f64 r6, f; xor.b32 r2, r2, r6; st.global.u32 [q], r2;";

/// Every comparison of integers that grow by lane with a bound that `%ctaid.x` selects, as bits of one word.
fn compares() -> String {
    let mut body = "mul.wide.u32 p, %ctaid.x, 4; add.u64 p, x, p; ld.global.u32 n, [p]; ld.global.u32 b, [p+64]; mov.u32 a, 0;"
        .to_owned();
    for by in [0, 2] {
        body += &format!("shl.b32 s, t, {by}; add.u32 s, s, b;");
        for how in ["eq", "ne", "lt", "le", "gt", "ge"] {
            for ty in ["u32", "s32"] {
                for sides in ["s, n", "n, s"] {
                    body += &format!(
                        "setp.{how}.{ty} c, {sides}; selp.u32 r1, 1, 0, c; shf.l.wrap.b32 a, a, a, 1; xor.b32 a, a, r1; @c add.u32 a, a, 3;"
                    );
                }
            }
        }
    }
    body + "mad.lo.u32 r1, %ctaid.x, 64, t; mul.wide.u32 q, r1, 4; add.u64 q, y, q; st.global.u32 [q], a;"
}

fn texts() -> String {
    let all =
        [("scan", SCAN), ("sites", SITES), ("parts", PARTS), ("signs", SIGNS), ("tiles", TILE)];
    let all: String = all.iter().map(|(name, body)| kernel(name, body)).collect();
    HEAD.to_owned() + &all + &kernel("compares", &compares())
}

fn run(d: &Device, name: &str, grid: u32, block: u32, args: &[u64]) {
    let kernel = d.kernel(d.find(name)).unwrap();
    kernel.improve([block, 1, 1]).unwrap();
    assert_eq!(kernel.by_llvm([block, 1, 1]), Some(Ok(())), "{name}");
    d.launch(name, grid, block, args).unwrap();
}

#[test]
fn guards_and_barriers_are_the_same() {
    if !with_both("guards::guards_and_barriers_are_the_same") {
        return;
    }
    let d = Device::new(&texts());
    let words: Vec<u32> = (0..1024u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(16 << 10));
    for block in [256, 160, 96, 75, 32, 7] {
        run(&d, "scan", 2, block, &[from, to]);
        run(&d, "sites", 2, block, &[from, to]);
        run(&d, "parts", 1, block, &[from, to]);
    }
}

#[test]
fn tiles_of_known_steps_are_the_same() {
    if !with_both("guards::tiles_of_known_steps_are_the_same") {
        return;
    }
    let d = Device::new(&texts());
    let words: Vec<u32> = (0..512u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(4 << 10));
    let kernel = d.kernel(d.find("tiles")).unwrap();
    for block in [[16, 16, 1], [8, 16, 1], [4, 8, 1], [2, 16, 1], [16, 3, 1], [5, 9, 1]] {
        kernel.improve(block).unwrap();
        assert_eq!(kernel.by_llvm(block), Some(Ok(())), "{block:?}");
        d.launch_with("tiles", [1; 3], block, 0, false, &[from, to]).unwrap();
    }
    // Lanes beyond the shared memory's end.
    assert!(d.launch_with("tiles", [1; 3], [16, 20, 1], 0, false, &[from, to]).is_err());
}

#[test]
fn comparisons_find_the_same_lanes() {
    if !with_both("guards::comparisons_find_the_same_lanes") {
        return;
    }
    let d = Device::new(&texts());
    let starts = [0, 5, u32::MAX - 2, 0x7fff_fff0, 0xffff_fff0, 0x8000_0000, 0x7fff_ff80, 100];
    let bounds = [16, 21, 13, 0x8000_0003, 4, 0x8000_001f, 0x7fff_ffff, 228];
    let words: Vec<u32> = bounds.iter().cycle().take(16).chain(&starts).copied().collect();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(8 * 64 * 4));
    run(&d, "compares", 8, 64, &[from, to]);
    run(&d, "compares", 8, 50, &[from, to]);
}

#[test]
fn signs_of_numbers_and_others_are_the_same() {
    if !with_both("guards::signs_of_numbers_and_others_are_the_same") {
        return;
    }
    let d = Device::new(&texts());
    let words = super::numbers();
    let (from, to) = (d.upload(&words, |w| w.to_le_bytes()), d.alloc(32 * 256));
    // Doubles of any two of these words, some of them NaNs: all lanes add the first one of a launch.
    for part in [0, 8, 64, 1024] {
        run(&d, "signs", 1, 256, &[from + part, to]);
    }
    let zeros: Vec<u64> = vec![0x8000_0000, 0x7ff4_0000_0000_1234, 1 << 63, 0xfff8_0000_0000_0007];
    let all: Vec<u64> = zeros.iter().cycle().take(64).copied().collect();
    let from = d.upload(&all, |w| w.to_le_bytes());
    run(&d, "signs", 1, 64, &[from, to]);
}
