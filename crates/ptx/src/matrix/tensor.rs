//! Sums of products as tensor cores add them.
//!
//! Owns the arithmetic of one step, as an H200 (and, according to publications, other devices of compute capability
//! 9.0) does it: products are exact; they and the summand are shifted to the exponent of the largest, and bits more
//! than [`KEPT`] below its leading bit are truncated; the rest is added exactly, and the sum is rounded once. Must
//! not know which elements are multiplied.
//!
//! Sources: Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores (2021); Khattak, Mikaitis:
//! Accurate Models of NVIDIA Tensor Cores (2025); an H200's results for random matrices, in
//! `tests/matrix_recorded.rs`.

use crate::soft::{self, Finite, Format, Round};

/// Bits that are kept below the leading bit of the largest term.
const KEPT: i32 = 25;
/// The same where four warps multiply numbers of 8 bits; a single keeps as many of its fraction.
const KEPT_SHORT: i32 = 13;

/// The least exponent that terms are shifted to: smaller terms are truncated all the same.
const LEAST: i32 = -133;
/// The exponent of a single's leading bit, at most.
const LARGEST: i32 = 127;

/// The exponent of zero: less than any sum of two.
const NONE: i32 = -(1 << 20);
/// The exponent of infinities and NaNs: larger than that of any sum.
const BEYOND: i32 = 1 << 22;

/// A factor: `mantissa * 2^(exponent - fraction)`, where the fraction is the format's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Factor {
    /// With its sign; 1 or -1 for an infinity, 0 for a NaN.
    mantissa: i32,
    /// The exponent of a normal number's leading bit; [`NONE`] for zero, [`BEYOND`] for infinities and NaNs.
    exponent: i32,
}

impl Factor {
    /// A number of a format with at most 24 bits.
    pub(super) fn of(bits: u64, f: Format) -> Factor {
        let signed = |v: i32| if bits & f.sign() != 0 { -v } else { v };
        if f.is_nan(bits) {
            return Factor { mantissa: 0, exponent: BEYOND };
        }
        if f.is_infinite(bits) {
            return Factor { mantissa: signed(1), exponent: BEYOND };
        }
        match soft::unpack(bits, f) {
            None => Factor { mantissa: 0, exponent: NONE },
            Some(v) => Factor {
                mantissa: signed(v.mantissa as i32),
                exponent: v.exponent + f.fraction as i32,
            },
        }
    }
}

impl Factor {
    /// An `e4m3` where four warps multiply, as [`Factor::of`] has halves. Unlike in a conversion to half, its
    /// subnormal numbers are not normalised: their exponent is that of the least normal number, to which the other
    /// terms are shifted.
    pub(super) fn of_e4m3(bits: u64) -> Factor {
        let (exponent, fraction) = ((bits >> 3 & 15) as i32, (bits & 7) as i32);
        let mantissa = match exponent {
            15 if fraction == 7 => return Factor { mantissa: 0, exponent: BEYOND },
            0 if fraction == 0 => return Factor { mantissa: 0, exponent: NONE },
            0 => fraction,
            _ => fraction + 8,
        } << (Format::F16.fraction - 3);
        let mantissa = if bits >> 7 & 1 != 0 { -mantissa } else { mantissa };
        Factor { mantissa, exponent: exponent.max(1) - 7 }
    }
}

/// `c` plus the products, of factors with so many bits of fraction; `c` and the sum are of one format.
pub(super) fn step(a: &[Factor], b: &[Factor], fraction: u32, c: u64, to: Format) -> u64 {
    sum(a, b, fraction, c, to, KEPT)
}

/// The same as `wgmma` does it for numbers of 8 bits.
pub(super) fn short_step(a: &[Factor], b: &[Factor], fraction: u32, c: u64, to: Format) -> u64 {
    let all = sum(a, b, fraction, c, to, KEPT_SHORT);
    let finite = !to.is_nan(all) && !to.is_infinite(all);
    if to == Format::F32 && finite { all & !0 << (to.fraction as i32 - KEPT_SHORT) } else { all }
}

fn sum(a: &[Factor], b: &[Factor], fraction: u32, c: u64, to: Format, kept: i32) -> u64 {
    let summand = Factor::of(c, to);
    let larger = |top: i32, (a, b): (&Factor, &Factor)| top.max(a.exponent + b.exponent);
    let top = a.iter().zip(b).fold(summand.exponent, larger);
    if top <= NONE / 2 {
        // Nothing but zeros.
        return 0;
    }
    if top >= BEYOND / 2 {
        return beyond(a, b, summand, to);
    }
    let top = top.max(LEAST);
    let up = kept - to.fraction as i32;
    let mut sum = shifted(summand.mantissa.into(), up, top - summand.exponent);
    let up = kept - 2 * fraction as i32;
    for (a, b) in a.iter().zip(b) {
        let product = i64::from(a.mantissa) * i64::from(b.mantissa);
        sum += shifted(product, up, top - a.exponent - b.exponent);
    }
    if sum == 0 {
        return 0;
    }
    let v = Finite { negative: sum < 0, mantissa: sum.unsigned_abs().into(), exponent: top - kept };
    let (round, sign) = (if to == Format::F32 { Round::Zero } else { Round::Nearest }, to.sign());
    let leading = 63 - sum.unsigned_abs().leading_zeros() as i32 + v.exponent;
    if to == Format::F32 && leading > LARGEST {
        // Too large is infinite, though the rest is rounded toward zero.
        return if v.negative { sign } else { 0 } | to.infinity();
    }
    let rounded = soft::pack(v, false, to, round);
    // Zero has no sign.
    if rounded == sign { 0 } else { rounded }
}

/// A mantissa moved `up`, then `down`, toward zero.
fn shifted(mantissa: i64, up: i32, down: i32) -> i64 {
    let (up, down) = (up.max(0), down + (-up).max(0));
    let moved = (mantissa.unsigned_abs() << up >> down.min(63)) as i64;
    if mantissa < 0 { -moved } else { moved }
}

/// The sum where a term is not finite.
fn beyond(a: &[Factor], b: &[Factor], c: Factor, to: Format) -> u64 {
    let product = |(a, b): (&Factor, &Factor)| match a.exponent.max(b.exponent) {
        BEYOND => Some((a.mantissa * b.mantissa).signum()),
        _ => None,
    };
    let own = (c.exponent == BEYOND).then_some(c.mantissa);
    let mut signs = a.iter().zip(b).filter_map(product).chain(own);
    let first = signs.next().unwrap_or(0);
    if first == 0 || signs.any(|sign| sign != first) {
        return to.sign() - 1;
    }
    let sign = if first < 0 { to.sign() } else { 0 };
    sign | to.infinity()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors of an `e5m2` and of an `e4m3`.
    fn both(a: u64, b: u64) -> (Factor, Factor) {
        (Factor::of(a << 8, Format::F16), Factor::of_e4m3(b))
    }

    #[test]
    fn subnormal_e4m3_shift_terms_as_the_least_normal_ones() {
        // 1 times 2^-7, which is subnormal, plus 2^-20, the last bit that is kept below a leading 2^-7, and is not
        // below 2^-6.
        let (one, least) = both(0x3c, 0x04);
        let (small, other) = both(0x04, 0x08);
        assert_eq!((least.mantissa, least.exponent), (512, -6));
        let sum = |of: Factor| {
            f32::from_bits(short_step(&[one, small], &[of, other], 10, 0, Format::F32) as u32)
        };
        let normalised = Factor { mantissa: 1024, exponent: -7 };
        assert_eq!(sum(normalised), 2f32.powi(-7) + 2f32.powi(-20));
        assert_eq!(sum(least), 2f32.powi(-7));
    }

    #[test]
    fn normal_e4m3_are_halves() {
        for bits in (0..256u64).filter(|bits| bits >> 3 & 15 != 0) {
            let half = crate::alu::widen(crate::types::Scalar::E4m3x2, bits as u8);
            assert_eq!(Factor::of_e4m3(bits), Factor::of(half, Format::F16), "{bits:#x}");
        }
    }
}
