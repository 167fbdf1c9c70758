//! Single instructions on edge values. The expected results come from the
//! ISA manual's text or from the host's own arithmetic, never from this crate.

use crate::common;

use common::device::Device;

/// Runs `code` once per row: `a`, `b`, `c` are registers of the given types with
/// the row's bits, `d` is the result, `p` and `q` are predicates; 32 rows at most.
fn run(result: &str, types: [&str; 3], code: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    let bits = |t: &str| t.trim_start_matches(|c: char| c.is_alphabetic()).parse::<u32>().unwrap();
    let read = |name: &str, ty: &str, at: u32| {
        format!(".reg .{ty} {name}; ld.global.b{} {name}, [%rd1+{at}];\n", bits(ty))
    };
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n
         .entry k(.param .u64 in, .param .u64 out) {{
           .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred p, q; .reg .{result} d;
           ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
           mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 24, %rd1;
           mad.wide.u32 %rd2, %r1, 8, %rd2;
           {}{}{}
           {{ {code} }}
           st.global.b{} [%rd2], d; ret; }}",
        read("a", types[0], 0),
        read("b", types[1], 8),
        read("c", types[2], 16),
        bits(result),
    );
    let device = Device::new(&text);
    let flat: Vec<u64> = rows.iter().flatten().copied().collect();
    let input = device.upload(&flat, |v| v.to_le_bytes());
    let out = device.alloc(8 * rows.len() as u64);
    device.launch("k", 1, rows.len() as u32, &[input, out]).unwrap();
    device.u64s(out, rows.len())
}

fn run32(code: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    run("b32", ["b32", "b32", "b32"], code, rows)
}

fn run64(code: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    run("b64", ["b64", "b64", "b64"], code, rows)
}

fn one32(code: &str, a: u32, b: u32, c: u32) -> u32 {
    run32(code, &[[a.into(), b.into(), c.into()]])[0] as u32
}

fn f(v: f32) -> u64 {
    v.to_bits().into()
}

const EDGE: [u32; 10] =
    [0, 1, 2, 31, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff, 0x1234_5678];

/// Compares `code` with `host` on every pair of edge values.
fn pairs(code: &str, host: impl Fn(u32, u32) -> u32) {
    let all: Vec<[u64; 3]> =
        EDGE.iter().flat_map(|a| EDGE.iter().map(|b| [u64::from(*a), u64::from(*b), 77])).collect();
    for rows in all.chunks(32) {
        for (row, got) in rows.iter().zip(run32(code, rows)) {
            let expected = host(row[0] as u32, row[1] as u32);
            assert_eq!(got as u32, expected, "{code} {:#x} {:#x}", row[0], row[1]);
        }
    }
}

#[test]
fn integer_arithmetic() {
    pairs("add.s32 d, a, b;", u32::wrapping_add);
    pairs("sub.u32 d, a, b;", u32::wrapping_sub);
    pairs("add.sat.s32 d, a, b;", |a, b| (a as i32).saturating_add(b as i32) as u32);
    pairs("sub.sat.s32 d, a, b;", |a, b| (a as i32).saturating_sub(b as i32) as u32);
    pairs("mul.lo.u32 d, a, b;", u32::wrapping_mul);
    pairs("mul.hi.u32 d, a, b;", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    pairs("mul.hi.s32 d, a, b;", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    pairs("mad.lo.s32 d, a, b, c;", |a, b| a.wrapping_mul(b).wrapping_add(77));
    pairs("min.s32 d, a, b;", |a, b| (a as i32).min(b as i32) as u32);
    pairs("max.u32 d, a, b;", u32::max);
    pairs("sad.u32 d, a, b, c;", |a, b| a.abs_diff(b).wrapping_add(77));
    pairs("max.u32 b, b, 1; div.s32 d, a, b;", |a, b| {
        (a as i32).wrapping_div(b.max(1) as i32) as u32
    });
    pairs("max.u32 b, b, 1; rem.s32 d, a, b;", |a, b| {
        (a as i32).wrapping_rem(b.max(1) as i32) as u32
    });
    pairs("mul24.lo.u32 d, a, b;", |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff));
    pairs("abs.s32 d, a;", |a, _| (a as i32).wrapping_abs() as u32);
    pairs("neg.s32 d, a;", |a, _| a.wrapping_neg());
    let big = [u64::MAX, 0x1234_5678_9abc_def0, 5];
    let wide = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    assert_eq!(run64("mul.hi.u64 d, a, b;", &[big])[0], wide(big[0], big[1]));
    assert_eq!(run64("mul.hi.s64 d, a, b;", &[big])[0], u64::MAX);
    let row = [0xffff_ffff, 0xffff_fffe, u64::MAX];
    let got = run("b64", ["b32", "b32", "b64"], "mad.wide.u32 d, a, b, c;", &[row]);
    assert_eq!(got[0], (0xffff_ffffu64 * 0xffff_fffe).wrapping_add(u64::MAX));
    let got = run("b64", ["b32", "b32", "b64"], "mul.wide.s32 d, a, b;", &[row]);
    assert_eq!(got[0], 2);
}

#[test]
fn carries_chain_to_any_length() {
    let code = ".reg .b32 x<4>; .reg .b32 y<4>; mov.b64 {x0, x1}, a; mov.b64 {y0, y1}, b;
        add.cc.u32 x2, x0, y0; addc.u32 x3, x1, y1; mov.b64 d, {x2, x3};";
    let rows = [[u64::MAX, 1, 0], [0xffff_ffff, 1, 0], [123 << 40, 456 << 30, 0]];
    for (r, got) in rows.iter().zip(run64(code, &rows)) {
        assert_eq!(got, r[0].wrapping_add(r[1]));
    }
    let code = code.replace("add.cc", "sub.cc").replace("addc", "subc");
    for (r, got) in rows.iter().zip(run64(&code, &rows)) {
        assert_eq!(got, r[0].wrapping_sub(r[1]));
    }
    // The product of two 64-bit numbers from 32-bit pieces, its upper half.
    let code = ".reg .b32 l<4>; .reg .b32 h<4>; .reg .b32 m<4>; mov.b64 {l0, l1}, a;
        mov.b64 {h0, h1}, b; mul.lo.u32 m0, l0, h0; mul.hi.u32 m1, l0, h0;
        mad.lo.cc.u32 m1, l1, h0, m1; madc.hi.u32 m2, l1, h0, 0;
        mad.lo.cc.u32 m1, l0, h1, m1; madc.hi.cc.u32 m2, l0, h1, m2; addc.u32 m3, 0, 0;
        mad.lo.cc.u32 m2, l1, h1, m2; madc.hi.u32 m3, l1, h1, m3; mov.b64 d, {m2, m3};";
    let rows = [[u64::MAX, u64::MAX, 0], [0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210, 0]];
    for (r, got) in rows.iter().zip(run64(code, &rows)) {
        assert_eq!(got, ((u128::from(r[0]) * u128::from(r[1])) >> 64) as u64);
    }
}

#[test]
fn the_flag_of_a_difference_is_its_carry() {
    // a - b is a + !b + 1: the flag is set if there is no borrow.
    pairs("sub.cc.u32 a, a, b; addc.u32 d, 0, 0;", |a, b| u32::from(a >= b));
    pairs("add.cc.u32 a, a, b; subc.u32 d, 0, 0;", |a, b| {
        u32::from(a.checked_add(b).is_none()).wrapping_sub(1)
    });
    pairs("sub.cc.s32 a, a, b; madc.lo.u32 d, b, 3, 5;", |a, b| {
        b.wrapping_mul(3).wrapping_add(5).wrapping_add(u32::from(a >= b))
    });
    pairs("mad.lo.cc.u32 a, a, 1, b; subc.cc.u32 d, b, 7; addc.u32 d, d, 0;", |a, b| {
        let clear = u32::from(a.checked_add(b).is_some());
        let sum = b.wrapping_sub(7).wrapping_sub(clear);
        sum.wrapping_add(u32::from(u64::from(b) >= 7 + u64::from(clear)))
    });
    // 64-bit instructions use the same flag, and instructions without `.cc` leave it unchanged.
    let code = "sub.cc.u64 a, a, b; add.u64 a, a, -1; sub.s64 a, a, a; addc.u32 %r2, 0, 0;
        cvt.u64.u32 d, %r2;";
    let rows = [[5, 5, 0], [4, 5, 0], [1 << 32, 1, 0], [0, u64::MAX, 0], [u64::MAX, 0, 0]];
    for (row, got) in rows.iter().zip(run64(code, &rows)) {
        assert_eq!(got, u64::from(row[0] >= row[1]), "{row:x?}");
    }
}

#[test]
fn a_lane_that_skips_keeps_its_flag() {
    let rows: Vec<[u64; 3]> = (0..32).map(|n| [n, 0, 0]).collect();
    for skip in ["@p sub.cc.u32 b, 0, 1;", "@!p bra L; sub.cc.u32 b, 0, 1; L:"] {
        let code = format!(
            "add.cc.u32 b, a, 0xfffffff0; and.b32 c, a, 1; setp.eq.u32 p, c, 0; {skip}
             addc.u32 d, 0, 0;"
        );
        for (row, got) in rows.iter().zip(run32(&code, &rows)) {
            assert_eq!(got, u64::from(row[0] >= 16 && row[0] % 2 == 1), "{skip} {row:?}");
        }
    }
}

#[test]
fn bits() {
    pairs("popc.b32 d, a;", |a, _| a.count_ones());
    pairs("clz.b32 d, a;", |a, _| a.leading_zeros());
    pairs("brev.b32 d, a;", |a, _| a.reverse_bits());
    pairs("shl.b32 d, a, b;", |a, b| a.checked_shl(b).unwrap_or(0));
    pairs("shr.u32 d, a, b;", |a, b| a.checked_shr(b).unwrap_or(0));
    pairs("shr.s32 d, a, b;", |a, b| ((a as i32) >> b.min(31)) as u32);
    pairs("not.b32 d, a;", |a, _| !a);
    pairs("cnot.b32 d, a;", |a, _| u32::from(a == 0));
    pairs("lop3.b32 d, a, b, c, 0x96;", |a, b| a ^ b ^ 77);
    pairs("lop3.b32 d, a, b, c, 0xE8;", |a, b| a & b | a & 77 | b & 77);
    pairs("shf.l.wrap.b32 d, a, b, 8;", |a, b| b << 8 | a >> 24);
    pairs("shf.r.clamp.b32 d, a, b, 40;", |_, b| b);
    pairs("bfind.u32 d, a;", |a, _| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() });
    assert_eq!(one32("bfind.s32 d, a;", 0xffff_fff0, 0, 0), 3);
    assert_eq!(one32("bfind.shiftamt.u32 d, a;", 0x10, 0, 0), 27);
    assert_eq!(one32("bfe.u32 d, a, 4, 8;", 0x1234_5678, 0, 0), 0x67);
    assert_eq!(one32("bfe.s32 d, a, 4, 4;", 0x80, 0, 0), 0xffff_fff8);
    assert_eq!(one32("bfe.s32 d, a, 28, 16;", 0x8000_0000, 0, 0), 0xffff_fff8);
    assert_eq!(one32("bfe.u32 d, a, 40, 4;", u32::MAX, 0, 0), 0);
    assert_eq!(one32("bfi.b32 d, a, b, 8, 4;", 0x5, 0xffff_ffff, 0), 0xffff_f5ff);
    assert_eq!(one32("bfi.b32 d, a, b, 8, 0;", 0x5, 0x77, 0), 0x77);
    assert_eq!(one32("prmt.b32 d, a, b, 0x7531;", 0x3322_1100, 0x7766_5544, 0), 0x7755_3311);
    assert_eq!(one32("prmt.b32 d, a, b, 0x0008;", 0x0000_0080, 0, 0), 0x8080_80ff);
    assert_eq!(one32("prmt.b32.f4e d, a, b, 1;", 0x3322_1100, 0x7766_5544, 0), 0x4433_2211);
    assert_eq!(one32("prmt.b32.rc16 d, a, b, 1;", 0x3322_1100, 0, 0), 0x3322_3322);
    assert_eq!(one32("bmsk.clamp.b32 d, a, b;", 4, 8, 0), 0xff0);
    assert_eq!(one32("bmsk.clamp.b32 d, a, b;", 4, 99, 0), 0xffff_fff0);
    assert_eq!(one32("szext.wrap.s32 d, a, b;", 0xff, 8, 0), 0xffff_ffff);
    assert_eq!(one32("szext.clamp.u32 d, a, b;", 0xfff, 4, 0), 0xf);
    assert_eq!(one32("fns.b32 d, a, 0, 3;", 0b1011_0100, 0, 0), 5);
    assert_eq!(one32("fns.b32 d, a, 7, -2;", 0b1011_0100, 0, 0), 5);
    assert_eq!(one32("dp4a.s32.s32 d, a, b, c;", 0xff02_0304, 0x0101_0101, 10), 18);
    assert_eq!(one32("dp4a.u32.u32 d, a, b, c;", 0xff02_0304, 0x0101_0101, 10), 274);
    assert_eq!(one32("dp2a.hi.s32.s32 d, a, b, c;", 0x0003_ffff, 0x0201_0000, 1), 6);
}

#[test]
fn single_precision_rounds_and_flushes() {
    let third =
        |mode: &str| one32(&format!("div.{mode}.f32 d, a, b;"), f(1.0) as u32, f(3.0) as u32, 0);
    assert_eq!(
        [third("rn"), third("rz"), third("rm"), third("rp")],
        [0x3eaa_aaab, 0x3eaa_aaaa, 0x3eaa_aaaa, 0x3eaa_aaab]
    );
    let sum = |m: &str, a: f32, b: f32| {
        one32(&format!("add.{m}.f32 d, a, b;"), a.to_bits(), b.to_bits(), 0)
    };
    let tiny = f32::from_bits(1);
    assert_eq!(sum("rn", 1.0, tiny), 0x3f80_0000);
    assert_eq!(sum("rp", 1.0, tiny), 0x3f80_0001);
    assert_eq!(sum("rm", 1.0, -tiny), 0x3f7f_ffff);
    assert_eq!(sum("rz", -1.0, tiny), 0xbf7f_ffff);
    assert_eq!(sum("rm", 1.0, -1.0), 0x8000_0000);
    assert_eq!(sum("rz", f32::MAX, f32::MAX), f32::MAX.to_bits());
    assert_eq!(sum("rp", f32::MAX, 1.0), f32::INFINITY.to_bits());
    assert_eq!(sum("rn.ftz", tiny, tiny), 0);
    assert_eq!(sum("rn", tiny, tiny), 2);
    assert_eq!(sum("rn", f32::INFINITY, f32::NEG_INFINITY), 0x7fff_ffff);
    assert_eq!(sum("rn.sat", 0.75, 0.5), 0x3f80_0000);
    assert_eq!(sum("rn.sat", f32::NAN, 0.5), 0);
    // One rounding: (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24.
    let x = 1.0 + 2f32.powi(-12);
    let row = [f(x), f(x), f(-(1.0 + 2f32.powi(-11)))];
    assert_eq!(run32("fma.rn.f32 d, a, b, c;", &[row])[0], f(2f32.powi(-24)));
    assert_eq!(run32("mad.rz.f32 d, a, b, c;", &[row])[0], f(2f32.powi(-24)));
    let root = |m: &str| one32(&format!("sqrt.{m}.f32 d, a;"), 2f32.to_bits(), 0, 0);
    assert_eq!([root("rm"), root("rn"), root("rp")], [0x3fb5_04f3, 0x3fb5_04f3, 0x3fb5_04f4]);
    assert_eq!(one32("sqrt.rn.f32 d, a;", (-1f32).to_bits(), 0, 0), 0x7fff_ffff);
    assert_eq!(one32("rcp.rn.ftz.f32 d, a;", 1, 0, 0), f32::INFINITY.to_bits());
    assert_eq!(one32("min.f32 d, a, b;", 0x7fc0_0000, f(1.0) as u32, 0), f(1.0) as u32);
    assert_eq!(one32("min.NaN.f32 d, a, b;", 0x7fc0_0000, f(1.0) as u32, 0), 0x7fff_ffff);
    assert_eq!(one32("min.f32 d, a, b;", 0, 0x8000_0000, 0), 0x8000_0000);
    assert_eq!(one32("copysign.f32 d, a, b;", 0x8000_0000, f(2.0) as u32, 0), f(-2.0) as u32);
    let bound = |code: &str, x: f32, exact: f64, ulp: f64| {
        let got = f64::from(f32::from_bits(one32(code, x.to_bits(), 0, 0)));
        assert!((got - exact).abs() <= ulp * exact.abs(), "{code} {x}: {got} {exact}");
    };
    for x in [0.1f32, 1.0, 2.5, 30.0] {
        let e = f64::from(x);
        bound("ex2.approx.f32 d, a;", x, e.exp2(), 2f64.powi(-22));
        bound(
            "lg2.approx.f32 d, a;",
            x * 8.0 + 1.0,
            f64::from(x * 8.0 + 1.0).log2(),
            2f64.powi(-22),
        );
        bound("rsqrt.approx.f32 d, a;", x, 1.0 / e.sqrt(), 2f64.powi(-22));
        // The error bound of sin is absolute, not relative (PTX ISA, "sin"): 2^-20.5 from -pi to pi.
        let sine = f64::from(x / 40.0).sin();
        bound("sin.approx.f32 d, a;", x / 40.0, sine, 2f64.powf(-20.5) / sine);
        bound("tanh.approx.f32 d, a;", x, e.tanh(), 2f64.powi(-11));
    }
}

#[test]
fn comparisons() {
    let set = |cmp: &str, ty: &str, a: u64, b: u64| {
        let code = format!("setp.{cmp}.{ty} p, a, b; selp.b32 d, 1, 0, p;");
        run32(&code, &[[a, b, 0]])[0] != 0
    };
    let nan = f(f32::NAN);
    for (cmp, less, equal, greater, unordered) in [
        ("eq", false, true, false, false),
        ("ne", true, false, true, false),
        ("lt", true, false, false, false),
        ("ge", false, true, true, false),
        ("equ", false, true, false, true),
        ("neu", true, false, true, true),
        ("leu", true, true, false, true),
        ("gtu", false, false, true, true),
        ("num", true, true, true, false),
        ("nan", false, false, false, true),
    ] {
        assert_eq!(set(cmp, "f32", f(-1.0), f(2.0)), less, "{cmp}");
        assert_eq!(set(cmp, "f32", f(0.0), f(-0.0)), equal, "{cmp}");
        assert_eq!(set(cmp, "f32", f(3.0), f(2.0)), greater, "{cmp}");
        assert_eq!(set(cmp, "f32", nan, f(2.0)), unordered, "{cmp}");
    }
    assert!(set("lt", "s32", 0xffff_ffff, 0) && !set("lt", "u32", 0xffff_ffff, 0));
    assert!(set("lo", "u32", 1, 2) && set("hs", "u32", 0xffff_ffff, 2));
    assert!(set("eq.ftz", "f32", 1, 0) && !set("eq", "f32", 1, 0));
    let code = "setp.lt.s32 q, a, 0; setp.gt.and.s32 p|q, b, 5, !q; selp.b32 d, 1, 0, p;
        @q add.s32 d, d, 2;";
    assert_eq!(run32(code, &[[1, 9, 0], [0xffff_ffff, 9, 0], [1, 2, 0]]), [1, 0, 2]);
    assert_eq!(one32("set.lt.u32.f32 d, a, b;", f(1.0) as u32, f(2.0) as u32, 0), u32::MAX);
    assert_eq!(one32("set.lt.f32.s32 d, a, b;", 1, 2, 0), f(1.0) as u32);
    assert_eq!(one32("slct.b32.s32 d, a, b, c;", 1, 2, 0x8000_0000), 2);
}

#[test]
fn conversions() {
    let to = |code: &str, a: f32| one32(code, a.to_bits(), 0, 0);
    for (x, rni, rzi, rmi, rpi) in
        [(2.5f32, 2, 2, 2, 3), (-2.5, -2, -2, -3, -2), (3.5, 4, 3, 3, 4), (-0.5, 0, 0, -1, 0)]
    {
        for (mode, expected) in [("rni", rni), ("rzi", rzi), ("rmi", rmi), ("rpi", rpi)] {
            assert_eq!(to(&format!("cvt.{mode}.s32.f32 d, a;"), x) as i32, expected, "{mode} {x}");
            let whole = to(&format!("cvt.{mode}.f32.f32 d, a;"), x);
            assert_eq!(f32::from_bits(whole), expected as f32, "{mode} {x}");
        }
    }
    assert_eq!(to("cvt.rzi.s32.f32 d, a;", 3e9), 0x7fff_ffff);
    assert_eq!(to("cvt.rzi.u32.f32 d, a;", -1.0), 0);
    assert_eq!(to("cvt.rzi.s32.f32 d, a;", f32::NAN), 0);
    let nan = f64::NAN.to_bits();
    assert_eq!(run64("cvt.rzi.s64.f64 d, a;", &[[nan, 0, 0]])[0], 1 << 63);
    assert_eq!(to("cvt.rzi.s8.f32 d, a;", -200.0), 0xffff_ff80);
    assert_eq!(one32("cvt.s32.s8 d, a;", 0x1ff, 0, 0), 0xffff_ffff);
    assert_eq!(one32("cvt.u32.u8 d, a;", 0x1ff, 0, 0), 0xff);
    assert_eq!(one32("cvt.sat.u8.s32 d, a;", 0xffff_ffff, 0, 0), 0);
    assert_eq!(one32("cvt.sat.s8.s32 d, a;", 500, 0, 0), 127);
    for (mode, expected) in [("rn", 16777216f32), ("rz", 16777216.0), ("rp", 16777218.0)] {
        let code = format!("cvt.{mode}.f32.u32 d, a;");
        assert_eq!(one32(&code, 16_777_217, 0, 0), expected.to_bits());
    }
    let half =
        |code: &str, a: u64| run("b16", ["b32", "b32", "b32"], code, &[[a, 0, 0]])[0] & 0xffff;
    assert_eq!(half("cvt.rn.f16.f32 d, a;", f(1.0)), 0x3c00);
    assert_eq!(half("cvt.rn.f16.f32 d, a;", f(65520.0)), 0x7c00);
    assert_eq!(half("cvt.rz.f16.f32 d, a;", f(65520.0)), 0x7bff);
    assert_eq!(half("cvt.rn.f16.f32 d, a;", f(2f32.powi(-25) * 1.01)), 1);
    assert_eq!(half("cvt.rn.f16.f32 d, a;", f(f32::NAN)), 0x7fff);
    assert_eq!(half("cvt.rn.bf16.f32 d, a;", 0x3f80_8000), 0x3f80);
    assert_eq!(half("cvt.rn.bf16.f32 d, a;", 0x3f81_8000), 0x3f82);
    assert_eq!(half("cvt.rn.relu.bf16.f32 d, a;", f(-3.0)), 0);
    assert_eq!(to("cvt.rna.tf32.f32 d, a;", f32::from_bits(0x3f80_1000)), 0x3f80_2000);
    assert_eq!(one32("cvt.rn.f16x2.f32 d, a, b;", f(1.0) as u32, f(2.0) as u32, 0), 0x3c00_4000);
    let fp8 = "cvt.rn.satfinite.e4m3x2.f32 d, a, b;";
    let fp8 = run(
        "b16",
        ["b32", "b32", "b32"],
        fp8,
        &[[f(1.0), f(1000.0), 0], [f(-0.001953125), f(0.0), 0]],
    );
    assert_eq!([fp8[0] & 0xffff, fp8[1] & 0xffff], [0x387e, 0x8100]);
    let back = run("b32", ["b16", "b32", "b32"], "cvt.rn.f16x2.e4m3x2 d, a;", &[[0x387e, 0, 0]]);
    assert_eq!(back[0], 0x3c00_5f00);
    assert_eq!(one32("cvt.pack.sat.u8.s32.b32 d, a, b, c;", 300, 0xffff_ffff, 0x1234), 0x1234_ff00);
}

#[test]
fn half_precision() {
    let all = |code: &str, a: u32, b: u32, c: u32| one32(code, a, b, c);
    assert_eq!(all("add.f16x2 d, a, b;", 0x3c00_4000, 0x3c00_3c00, 0), 0x4000_4200);
    assert_eq!(all("fma.rn.f16x2 d, a, b, c;", 0x4000_3c00, 0x4200_4200, 0x3c00_bc00), 0x4700_4000);
    assert_eq!(all("fma.rn.relu.bf16x2 d, a, b, c;", 0xbf80_3f80, 0x4000_4000, 0x0), 0x0000_4000);
    assert_eq!(all("mul.bf16x2 d, a, b;", 0x4040_3f80, 0x4000_0000, 0), 0x40c0_0000);
    assert_eq!(all("neg.f16x2 d, a;", 0x3c00_bc00, 0, 0), 0xbc00_3c00);
    assert_eq!(all("max.f16x2 d, a, b;", 0x3c00_7e00, 0x4000_3c00, 0), 0x4000_3c00);
    // 65504 + 16 is a tie that goes to the even neighbour: infinity.
    assert_eq!(all("add.rn.f16x2 d, a, b;", 0x7bff_7bff, 0x4c00_4b00, 0), 0x7c00_7bff);
}

#[test]
fn errors_name_the_place() {
    let text = ".version 8.3\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a) {
        .reg .b64 x; .reg .b32 y;
        ld.param.u64 x, [a];
        ld.global.u32 y, [x+2];
        ret; }";
    let d = Device::new(text);
    let at = d.alloc(64);
    assert_eq!(
        d.launch("k", 1, 1, &[at]).unwrap_err().to_string(),
        format!(
            "misaligned read of 4 bytes at {:#x}, expected a multiple of 4; kernel k, block (0,0,0), \
             thread (0,0,0), PTX 7:9",
            at + 2
        )
    );
    let fault = d.launch("k", 1, 1, &[6]).unwrap_err().to_string();
    assert!(
        fault.starts_with(
            "invalid global read of 4 bytes at 0x8, expected an address inside an allocation; kernel k, "
        ),
        "{fault}"
    );
}
