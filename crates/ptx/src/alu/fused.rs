//! Fused arithmetic of singles in the directed roundings, without branches.
//!
//! Owns one definition for a lane, which compilers vectorise: one lane and many give the same bits. It uses double
//! precision and IEEE operations only, so every machine gives the same bits, too. Must not know instructions or
//! `.ftz`.

/// `a * b + c`, exactly as a sum of two doubles: rounded, and the rest.
#[inline(always)]
fn exact(a: f32, b: f32, c: f32) -> (f64, f64, bool) {
    // A product of singles is a double; their sum's rest is one, too (Knuth).
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let s = p + c;
    let t = s - p;
    (s, (p - (s - t)) + (c - t), p.is_sign_negative() | c.is_sign_negative())
}

/// `a * b + c` rounded to nearest, for processors without a fused instruction.
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
    // An exact zero: numbers that cancel each other give -0 when rounding down.
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

    /// Numbers of all sizes, and edge values.
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
}
