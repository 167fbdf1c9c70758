//! The functions of singles for which the ISA gives an error bound, and arithmetic of singles in the directed
//! roundings, written without branches.
//!
//! Owns one definition for a lane, which compilers vectorise: one lane and many give the same bits. It uses double
//! precision and IEEE operations only, so every machine gives the same bits, too. The functions err by some 10^-11
//! of the result before the last rounding, which is far within every bound. It must not know instructions or
//! `.ftz`.

/// Added to a double, leaves its nearest whole number in the low bits.
pub const WHOLE: f64 = 6_755_399_441_055_744.0;

/// `x` where it is at most `most` in magnitude, else that; NaN stays.
#[inline(always)]
fn limit(x: f64, most: f64) -> f64 {
    let x = if x > most { most } else { x };
    if x < -most { -most } else { x }
}

/// The highest coefficient of the series for a power of two.
pub const POWER_FIRST: f64 = 1.325_080_551_750_225e-6;
/// The others, from the second on. It is (2^f - 1) / f, exact at the eight Chebyshev points of -0.5 to 0.5: off
/// by 5e-12 of it at most.
pub const POWER_SERIES: [f64; 7] = [
    1.530_370_071_136_569_3e-5,
    0.000_154_034_751_865_307_86,
    0.001_333_347_847_368_541_6,
    0.009_618_129_135_236_14,
    0.055_504_109_063_258_665,
    0.240_226_506_958_885_03,
    0.693_147_180_556_832_4,
];

/// 2 to a power of at most 1000 in magnitude.
///
/// Multiply-adds are fused, which every machine rounds alike: one without the instruction calls a function.
#[inline(always)]
fn power(x: f64) -> f64 {
    let k = x + WHOLE;
    let f = x - (k - WHOLE);
    let mut p = POWER_FIRST;
    for c in POWER_SERIES {
        p = f.mul_add(p, c);
    }
    // A whole power is exact, as nothing is added to the 1.
    p = f.mul_add(p, 1.0);
    p * f64::from_bits(k.to_bits().wrapping_add(1023) << 52)
}

/// `ex2`: 2 to the power of `x`.
#[inline(always)]
pub fn ex2(x: f32) -> f32 {
    power(limit(f64::from(x), 1000.0)) as f32
}

/// `lg2`: the logarithm of `x` to the base 2.
#[inline(always)]
pub fn lg2(x: f32) -> f32 {
    let x = f64::from(x);
    // A factor between the root of 1/2 and that of 2, and a power of 2.
    let bits = x.to_bits();
    let root = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let e = bits.wrapping_sub(root) & (0xfff << 52);
    let m = f64::from_bits(bits.wrapping_sub(e));
    // All that are not negative have exponents from -150 to 130, so that a bias keeps this positive.
    let e = e.wrapping_add(1023 << 52) >> 52;
    let e = f64::from_bits(WHOLE.to_bits() + e) - WHOLE - 1023.0;
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 13.0;
    for c in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        p = p * z + c;
    }
    let v = e + s * (p * (2.0 * std::f64::consts::LOG2_E));
    let v = if x == 0.0 { f64::NEG_INFINITY } else { v };
    let v = if x == f64::INFINITY { x } else { v };
    (if x >= 0.0 { v } else { f64::NAN }) as f32
}

/// `tanh`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let x = f64::from(x);
    let a = x.abs();
    let t = power(limit(a, 100.0) * (-2.0 * std::f64::consts::LOG2_E));
    let v = (1.0 - t) / (1.0 + t);
    // Here the difference above is of numbers too near to each other.
    let v = if a < 1.0 / 1024.0 { a - a * a * a * (1.0 / 3.0) } else { v };
    (if x.is_nan() { x } else { v.copysign(x) }) as f32
}

/// The largest magnitude for which [`sin`] and [`cos`] hold; beyond it more
/// digits of pi are wanted than they have.
pub const MOST_ANGLE: f32 = 1_000_000.0;

/// Sine (`quarter` 0) or cosine (1) of at most [`MOST_ANGLE`].
#[inline(always)]
fn wave(x: f64, quarter: u64) -> f64 {
    // Half of pi in parts, of which the first two have 33 bits: products with whole numbers of 20 are exact.
    const PARTS: [u64; 3] = [0x3ff9_21fb_5440_0000, 0x3dd0_b461_1a60_0000, 0x3ba3_198a_2e03_7073];
    let k = x * std::f64::consts::FRAC_2_PI + WHOLE;
    let n = k - WHOLE;
    let q = k.to_bits().wrapping_add(quarter);
    let r = x - n * f64::from_bits(PARTS[0]);
    let r = r - n * f64::from_bits(PARTS[1]);
    let r = r - n * f64::from_bits(PARTS[2]);
    let z = r * r;
    let mut s = -1.0 / 39_916_800.0;
    for c in [1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0] {
        s = s * z + c;
    }
    let mut c = 1.0 / 479_001_600.0;
    for d in [-1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0] {
        c = c * z + d;
    }
    let v = if q & 1 == 0 { r * s } else { c };
    f64::from_bits(v.to_bits() ^ (q & 2) << 62)
}

/// `sin` of at most [`MOST_ANGLE`].
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    wave(x.into(), 0) as f32
}

/// `cos` of at most [`MOST_ANGLE`].
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    wave(x.into(), 1) as f32
}

/// `a * b + c`, exactly as a sum of two doubles: rounded, and the rest.
#[inline(always)]
fn exact(a: f32, b: f32, c: f32) -> (f64, f64, bool) {
    // A product of singles is a double; their sum's rest is one, too (Knuth).
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let s = p + c;
    let t = s - p;
    (s, (p - (s - t)) + (c - t), p.is_sign_negative() | c.is_sign_negative())
}

/// `a * b + c` rounded to nearest, for processors that have no instruction for it.
#[inline(always)]
pub fn fma_nearest(a: f32, b: f32, c: f32) -> f32 {
    let (s, rest, _) = exact(a, b, c);
    // Rounded to odd, so that rounding once more gives what rounding once would have: of the two doubles
    // around the exact sum, the one whose last bit is set.
    // Not for an infinity, whose rest is no number.
    let inexact = rest.abs() > 0.0;
    let even = s.to_bits() & 1 == 0;
    let outward = (rest > 0.0) == (s > 0.0);
    let step = if outward { 1u64 } else { u64::MAX };
    let step = if inexact & even { step } else { 0 };
    f64::from_bits(s.to_bits().wrapping_add(step)) as f32
}

/// `a * b + c` rounded towards minus infinity.
#[inline(always)]
pub fn fma_down(a: f32, b: f32, c: f32) -> f32 {
    let (s, rest, negative) = exact(a, b, c);
    let r = s as f32;
    let d = f64::from(r);
    let above = d > s || (d == s && rest < 0.0);
    // The next lower number: of a zero, the negative one next to it.
    let bits = r.to_bits();
    let step = if (bits as i32) < 0 { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let step = if r == 0.0 { 0x8000_0001 } else { step };
    let bits = if above { step } else { bits };
    // A zero that is exact: of numbers that cancel each other, the negative one.
    let zero = if negative { 0x8000_0000 } else { 0 };
    f32::from_bits(if s == 0.0 { zero } else { bits })
}

/// `a * b + c` rounded towards plus infinity.
#[inline(always)]
pub fn fma_up(a: f32, b: f32, c: f32) -> f32 {
    -fma_down(-a, b, -c)
}

/// `a * b + c` rounded towards zero.
#[inline(always)]
pub fn fma_zero(a: f32, b: f32, c: f32) -> f32 {
    let (s, rest, _) = exact(a, b, c);
    let r = s as f32;
    let d = f64::from(r);
    let inward = if s < 0.0 { rest > 0.0 } else { rest < 0.0 };
    let beyond = d.abs() > s.abs() || (d == s && inward);
    // A number beyond the exact one is no zero.
    f32::from_bits(r.to_bits().wrapping_sub(beyond.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::soft::{self, Format, Round};

    /// Numbers of all sizes, and edges.
    fn numbers() -> Vec<f32> {
        let edges =
            [0, 1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x3f80_0000, 0x3f80_0001, 0x3f7f_ffff];
        let more = [0x7f7f_ffff, 0x7f80_0000, 0x4b40_0001, 0x33ff_ffff, 0x3fff_ffff, 0x0c00_0001];
        let mut all: Vec<u32> = edges.into_iter().chain(more).collect();
        let mut x = 12345u32;
        for _ in 0..60 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            all.push(x >> 1);
            all.push(0x3f00_0000 + (x >> 8));
        }
        all.iter().flat_map(|b| [f32::from_bits(*b), -f32::from_bits(*b)]).collect()
    }

    #[test]
    fn sums_of_products_are_rounded_once() {
        let all = numbers();
        type Form = fn(f32, f32, f32) -> f32;
        let forms: [(Form, Round); 4] = [
            (fma_down, Round::Down),
            (fma_up, Round::Up),
            (fma_zero, Round::Zero),
            (fma_nearest, Round::Nearest),
        ];
        for (n, a) in all.iter().enumerate() {
            for b in &all {
                for c in [all[(n * 7 + 3) % all.len()], 0.0, -0.0, -(a * b), a * b] {
                    let [x, y, z] = [a, b, &c].map(|v| u64::from(v.to_bits()));
                    for (f, round) in forms {
                        let (got, expected) =
                            (f(*a, *b, c), soft::fma(x, y, z, Format::F32, round));
                        let both = got.is_nan() && Format::F32.is_nan(expected);
                        let same = u64::from(got.to_bits()) == expected;
                        assert!(
                            both || same,
                            "{a:e} * {b:e} + {c:e} {round:?}: {got:e} is not {expected:x}"
                        );
                    }
                }
            }
        }
    }

    /// Within a thousandth of a unit in the last place of the result, beside half of one.
    fn near(name: &str, x: f32, got: f32, exact: f64) {
        let rounded = exact as f32;
        if rounded.is_nan() || rounded.is_infinite() || rounded == 0.0 || exact.abs() < 1e-38 {
            assert!(
                got.to_bits() == rounded.to_bits()
                    || got.is_nan() && rounded.is_nan()
                    || exact.abs() < 1e-38 && got.abs() < 2e-38,
                "{name}({x:e}) is {got:e}, not {rounded:e}"
            );
            return;
        }
        let unit =
            f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
        let off = (f64::from(got) - exact).abs() / unit;
        assert!(off < 0.501, "{name}({x:e}) is {got:e}, not {rounded:e}: {off} units off");
    }

    #[test]
    fn functions_are_the_rounded_exact_ones() {
        for x in numbers().into_iter().chain((-4000..4000).map(|k| k as f32 / 31.0)) {
            let e = f64::from(x);
            near("ex2", x, ex2(x), e.exp2());
            near("lg2", x, lg2(x), e.log2());
            near("tanh", x, tanh(x), e.tanh());
            if x.abs() <= MOST_ANGLE {
                near("sin", x, sin(x), e.sin());
                near("cos", x, cos(x), e.cos());
            }
        }
        assert!(ex2(f32::NAN).is_nan() && lg2(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }

    #[test]
    fn whole_powers_are_exact() {
        for k in -149..128 {
            assert_eq!(ex2(k as f32), 2f64.powi(k) as f32);
            assert_eq!(lg2(2f64.powi(k) as f32), k as f32);
        }
    }
}
