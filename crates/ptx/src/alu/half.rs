//! Sums and products of halves and bfloat16, rounded to nearest, computed with the host's doubles.
//!
//! Owns that method, which is many times faster than [`crate::soft`] and gives the same bits. A product of two such
//! numbers is exact as a double; a sum with a third one may not be, so it is rounded to odd (S. Boldo, G. Melquiond,
//! "Emulation of FMA and correctly rounded sums", 2008). Rounding that to the narrow format gives the same as a
//! single rounding. Must not know instructions' modifiers.

use crate::sem::FloatOp;
use crate::soft::Format;

/// Bits of a double's fraction.
const FRACTION: u32 = 52;
const BIAS: i32 = 1023;
const SIGN: u64 = 1 << 63;

/// The result's bits in the format, [`Format::F16`] or [`Format::BF16`]; `None` for other operations. A NaN may be any.
pub fn nearest(op: FloatOp, f: Format, a: [u64; 3]) -> Option<u64> {
    // Twice, so that the compiler knows the format.
    if f == Format::F16 { of(op, Format::F16, a) } else { of(op, Format::BF16, a) }
}

#[inline(always)]
fn of(op: FloatOp, f: Format, a: [u64; 3]) -> Option<u64> {
    let [x, y, z] = a.map(|bits| wide(bits, f));
    Some(narrow(
        match op {
            FloatOp::Add => to_odd(x, y),
            FloatOp::Sub => to_odd(x, -y),
            FloatOp::Mul => x * y,
            FloatOp::Fma => to_odd(x * y, z),
            _ => return None,
        },
        f,
    ))
}

/// The same number as a double.
#[inline(always)]
fn wide(bits: u64, f: Format) -> f64 {
    let magnitude = bits & (f.sign() - 1);
    let sign = (bits & f.sign()) << (63 - f.fraction - f.exponent);
    let bias = (1 << (f.exponent - 1)) - 1;
    if magnitude >= f.infinity() {
        let rest = (magnitude - f.infinity()) << (FRACTION - f.fraction);
        return f64::from_bits(sign | 0x7ff << FRACTION | rest);
    }
    // The bits become a double whose exponent is then corrected: this is right for subnormals, too.
    let value = f64::from_bits(magnitude << (FRACTION - f.fraction)) * power(BIAS - bias);
    f64::from_bits(value.to_bits() | sign)
}

/// 2 to a power that doubles have as a normal number.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((BIAS + exponent) as u64) << FRACTION)
}

/// The sum; where it is not exact, the one of its two neighbours whose last bit is 1.
#[inline(always)]
fn to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    let bits = sum.to_bits();
    // The error of an infinite sum or a NaN counts as zero.
    if error == 0.0 || error.is_nan() || bits & 1 != 0 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// A double in the format, to nearest, ties to even.
#[inline(always)]
fn narrow(value: f64, f: Format) -> u64 {
    let bits = value.to_bits();
    let sign = if bits & SIGN != 0 { f.sign() } else { 0 };
    let magnitude = bits & !SIGN;
    if value.is_nan() {
        return f.nan();
    }
    if value.is_infinite() {
        return sign | f.infinity();
    }
    let bias = (1 << (f.exponent - 1)) - 1;
    let exponent = (magnitude >> FRACTION) as i32 - BIAS;
    let below = (1 - bias - exponent).max(0);
    // With 54 bits cut off nothing is left, as with more. Doubles below the normal ones are not reached but 0.
    let cut = (FRACTION - f.fraction + below as u32).min(54);
    let mantissa = magnitude & ((1 << FRACTION) - 1) | u64::from(magnitude != 0) << FRACTION;
    let (kept, rest, half) = (mantissa >> cut, mantissa & ((1 << cut) - 1), 1 << (cut - 1));
    let kept = kept + u64::from(rest > half || rest == half && kept & 1 != 0);
    // The lowest bit before the fraction, and what rounding up carries, add to the exponent.
    let base = if below > 0 { 0 } else { ((exponent + bias - 1) as u64) << f.fraction };
    sign | (base + kept).min(f.infinity())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft::{self, Round};

    const FORMATS: [Format; 2] = [Format::F16, Format::BF16];

    /// The result by integer arithmetic.
    fn exact(op: FloatOp, f: Format, [x, y, z]: [u64; 3]) -> u64 {
        let one = ((1 << (f.exponent - 1)) - 1) << f.fraction;
        match op {
            FloatOp::Add => soft::fma(x, one, y, f, Round::Nearest),
            FloatOp::Sub => soft::fma(x, one, y ^ f.sign(), f, Round::Nearest),
            FloatOp::Mul => soft::fma(x, y, (x ^ y) & f.sign(), f, Round::Nearest),
            _ => soft::fma(x, y, z, f, Round::Nearest),
        }
    }

    #[test]
    fn every_number_is_the_same_as_a_double_and_back() {
        for f in FORMATS {
            for bits in 0..=0xffff {
                let back = narrow(wide(bits, f), f);
                assert_eq!(back, if f.is_nan(bits) { f.nan() } else { bits }, "{bits:x}");
            }
        }
    }

    #[test]
    fn results_are_those_of_exact_sums_rounded_once() {
        const OPS: [FloatOp; 4] = [FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Fma];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 20 & 0xffff
        };
        for f in FORMATS {
            // The ends of all ranges; halfway cases with tiny numbers among their products.
            let ends = [0, 1, 2, 3, f.largest(), f.infinity(), f.nan(), 1 << f.fraction];
            let ends = ends.into_iter().flat_map(|v| [v, v ^ 1, v | f.sign()]);
            let ends: Vec<u64> = ends.filter(|v| !f.is_nan(*v) || *v == f.nan()).collect();
            let mut all: Vec<[u64; 3]> = Vec::new();
            for x in &ends {
                for y in &ends {
                    all.extend(ends.iter().map(|z| [*x, *y, *z]));
                }
            }
            all.extend((0..60_000).map(|_| [next(), next(), next()]));
            // Sums whose terms differ much in size.
            all.extend((0..40_000).map(|_| [next(), next(), next() & f.sign() | next() & 7]));
            for a in all {
                for op in OPS {
                    let found = nearest(op, f, a);
                    assert_eq!(found, Some(exact(op, f, a)), "{op:?} {f:?} {a:x?}");
                }
            }
        }
    }
}
