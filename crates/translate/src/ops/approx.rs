//! The functions with an error bound, in double precision: their error is about 10^-11 of the result before the last
//! rounding, far within every bound, and the bits are the same on every machine. They differ from the functions of
//! NVIDIA's GPUs, which the interpreter and compiled code use (`cushim_ptx::alu::sfu`).
//!
//! Owns the series and the steps in LLVM IR.

use crate::llvm::{Body, Type, Value};
use cushim_ptx::sem::FloatOp;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, LOG2_E, PI};

/// Added to a double, leaves its nearest whole number in the low bits.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// The coefficients of the series for a power of two, the highest first. It is (2^f - 1) / f, exact at the eight Chebyshev
/// points of -0.5 to 0.5: off by 5e-12 of it at most. A whole power is exact, as nothing is added to the 1.
const POWER_SERIES: [f64; 8] = [
    1.325_080_551_750_225e-6,
    1.530_370_071_136_569_3e-5,
    0.000_154_034_751_865_307_86,
    0.001_333_347_847_368_541_6,
    0.009_618_129_135_236_14,
    0.055_504_109_063_258_665,
    0.240_226_506_958_885_03,
    0.693_147_180_556_832_4,
];

/// The largest magnitude for which sine and cosine are accurate; larger ones would need more digits of pi.
const MOST_ANGLE: f64 = 1_000_000.0;

fn c(v: f64) -> Value {
    Value::double(v)
}

/// The function of a double that was converted from another format.
pub(super) fn function(b: &mut Body, op: FloatOp, x: Value) -> Value {
    match op {
        FloatOp::Ex2 => {
            let x = limit(b, x, 1000.0);
            power(b, x)
        }
        FloatOp::Lg2 => lg2(b, x),
        FloatOp::Tanh => tanh(b, x),
        FloatOp::Cos => wave(b, x, 1),
        _ => wave(b, x, 0),
    }
}

/// `x` where it is at most `most` in magnitude, else that; NaN stays.
fn limit(b: &mut Body, x: Value, most: f64) -> Value {
    let over = b.fcmp("ogt", x, c(most));
    let x = b.select(over, c(most), x);
    let under = b.fcmp("olt", x, c(-most));
    b.select(under, c(-most), x)
}

fn power(b: &mut Body, x: Value) -> Value {
    let k = b.op("fadd", x, c(WHOLE));
    let whole = b.op("fsub", k, c(WHOLE));
    let f = b.op("fsub", x, whole);
    let mut p = c(POWER_SERIES[0]);
    for term in POWER_SERIES.into_iter().skip(1).chain([1.0]) {
        p = b.same("llvm.fma", &[f, p, c(term)]);
    }
    let bits = b.bits_of(k);
    let bits = b.with("add", bits, 1023);
    let bits = b.with("shl", bits, 52);
    let scale = b.bits_as(bits, Type::Double);
    b.op("fmul", p, scale)
}

fn lg2(b: &mut Body, x: Value) -> Value {
    let bits = b.bits_of(x);
    let e = b.with("sub", bits, FRAC_1_SQRT_2.to_bits().into());
    let e = b.with("and", e, 0xfff << 52);
    let m = b.op("sub", bits, e);
    let m = b.bits_as(m, Type::Double);
    let e = b.with("add", e, 1023 << 52);
    let e = b.with("lshr", e, 52);
    let e = b.with("add", e, WHOLE.to_bits().into());
    let e = b.bits_as(e, Type::Double);
    let e = b.op("fsub", e, c(WHOLE));
    let e = b.op("fsub", e, c(1023.0));
    let (above, below) = (b.op("fsub", m, c(1.0)), b.op("fadd", m, c(1.0)));
    let s = b.op("fdiv", above, below);
    let z = b.op("fmul", s, s);
    let mut p = c(1.0 / 13.0);
    for term in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        p = series(b, p, z, term);
    }
    let p = b.op("fmul", p, c(2.0 * LOG2_E));
    let p = b.op("fmul", s, p);
    let v = b.op("fadd", e, p);
    let zero = b.fcmp("oeq", x, c(0.0));
    let v = b.select(zero, c(f64::NEG_INFINITY), v);
    let infinite = b.fcmp("oeq", x, c(f64::INFINITY));
    let v = b.select(infinite, x, v);
    let sound = b.fcmp("oge", x, c(0.0));
    b.select(sound, v, c(f64::NAN))
}

/// `p * z + term`, both rounded.
fn series(b: &mut Body, p: Value, z: Value, term: f64) -> Value {
    let p = b.op("fmul", p, z);
    b.op("fadd", p, c(term))
}

fn tanh(b: &mut Body, x: Value) -> Value {
    let a = b.same("llvm.fabs", &[x]);
    let t = limit(b, a, 100.0);
    let t = b.op("fmul", t, c(-2.0 * LOG2_E));
    let t = power(b, t);
    let (above, below) = (b.op("fsub", c(1.0), t), b.op("fadd", c(1.0), t));
    let v = b.op("fdiv", above, below);
    let cube = b.op("fmul", a, a);
    let cube = b.op("fmul", cube, a);
    let cube = b.op("fmul", cube, c(1.0 / 3.0));
    let near = b.op("fsub", a, cube);
    let small = b.fcmp("olt", a, c(1.0 / 1024.0));
    let v = b.select(small, near, v);
    let v = b.same("llvm.copysign", &[v, x]);
    let nan = b.fcmp("uno", x, x);
    b.select(nan, x, v)
}

/// Sine (`quarter` 0) or cosine (1). For angles beyond [`MOST_ANGLE`] no bound is stated: there it is that of a number near
/// them, as far as a double has digits.
fn wave(b: &mut Body, x: Value, quarter: u128) -> Value {
    const PARTS: [u64; 3] = [0x3ff9_21fb_5440_0000, 0x3dd0_b461_1a60_0000, 0x3ba3_198a_2e03_7073];
    let a = b.same("llvm.fabs", &[x]);
    let turns = b.op("fmul", x, c(0.5 / PI));
    let whole = b.same("llvm.floor", &[turns]);
    let part = b.op("fsub", turns, whole);
    let part = b.op("fmul", part, c(2.0 * PI));
    let near = b.fcmp("ole", a, c(MOST_ANGLE));
    let x = b.select(near, x, part);
    let k = b.op("fmul", x, c(FRAC_2_PI));
    let k = b.op("fadd", k, c(WHOLE));
    let n = b.op("fsub", k, c(WHOLE));
    let q = b.bits_of(k);
    let q = b.with("add", q, quarter);
    let mut r = x;
    for part in PARTS {
        let p = b.op("fmul", n, c(f64::from_bits(part)));
        r = b.op("fsub", r, p);
    }
    let z = b.op("fmul", r, r);
    let mut s = c(-1.0 / 39_916_800.0);
    for term in [1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0] {
        s = series(b, s, z, term);
    }
    let mut d = c(1.0 / 479_001_600.0);
    for term in [-1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0] {
        d = series(b, d, z, term);
    }
    let s = b.op("fmul", r, s);
    let odd = b.fit(q, 1);
    let v = b.select(odd, d, s);
    let sign = b.with("and", q, 2);
    let sign = b.with("shl", sign, 62);
    let v = b.bits_of(v);
    let v = b.op("xor", v, sign);
    b.bits_as(v, Type::Double)
}
