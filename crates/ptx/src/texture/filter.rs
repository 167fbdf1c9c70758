//! Weighted means of texels.
//!
//! Owns the weights, their rounding, and the sums, all fitted to an H200's results: weights are multiples of 1/256;
//! fractions are summed as integers of 16 bits; floating-point numbers are aligned to the greatest exponent among
//! those with a nonzero weight, with four bits more than a number has, and lower bits are truncated; the sum is
//! exact, and rounded to nearest, ties away from zero. Two planes are summed separately. Must not know: where texels
//! come from.

use super::axis::Axis;
use super::scale::{EIGHTHS, Scale};

/// Parts of a whole weight.
const WHOLE: u32 = 256;
/// Bits that aligned texels have below those of a number.
const GUARD: u32 = 4;
/// Bits of a single, and of a half, with the first.
const SINGLE: u32 = 24;
const HALF: u32 = 11;
/// Bits that sums of planes have below that when they are added.
const PLANES: u32 = 2;
/// What NaNs become, and of halves.
const NAN: u32 = 0x7fff_ffff;
const HALF_NAN: u32 = 0x7fff_e000;

/// A part of a weight, rounded to nearest, ties up.
const fn part(weight: u32, fraction: u32) -> u32 {
    (weight * fraction + WHOLE / 2) / WHOLE
}

/// The weights of a footprint's corners: by axis the first or the second texel, the first axis in the lowest bit.
pub(super) fn weights(axes: &[Axis]) -> [u32; 8] {
    let z = axes.get(2).map_or(0, |axis| axis.fraction);
    let [a, b, c, d] = plane(axes, WHOLE - z);
    let [e, f, g, h] = plane(axes, z);
    [a, b, c, d, e, f, g, h]
}

/// The weights of two levels' planes, of which the second has so many parts.
pub(super) fn between(first: &[Axis], second: &[Axis], parts: u32) -> [u32; 8] {
    let [a, b, c, d] = plane(first, WHOLE - parts);
    let [e, f, g, h] = plane(second, parts);
    [a, b, c, d, e, f, g, h]
}

/// The weights of a plane's corners, which have this weight together.
fn plane(axes: &[Axis], weight: u32) -> [u32; 4] {
    let fraction = |n: usize| axes.get(n).map_or(0, |axis| axis.fraction);
    let (x, y) = (fraction(0), fraction(1));
    let second = part(x, weight);
    let first = weight - second;
    // Ties go to the corner diagonally opposite to the other's.
    let upper = part(first, WHOLE - y);
    let lower = part(second, y);
    [upper, second - lower, first - upper, lower]
}

/// A sum in units of 2^(exponent - 127 - 8 - digits - [`GUARD`] + 1).
#[derive(Clone, Copy)]
struct Sum {
    exponent: u32,
    units: i64,
}

const fn exponent(bits: u32) -> u32 {
    bits >> 23 & 0xff
}

/// The weighted sum of numbers of so many digits, none of which is infinite; subnormal ones are 0. Subnormal halves
/// count as having the least exponent of a half.
fn sum(terms: impl Iterator<Item = (u32, u32)> + Clone, digits: u32) -> Sum {
    let least = if digits == HALF { 113 } else { 1 };
    let there = terms.filter(|(_, bits)| exponent(*bits) > 0);
    let most = there.clone().map(|(_, bits)| exponent(bits).max(least)).max().unwrap_or(0);
    let units = there.map(|(weight, bits)| {
        let mantissa = u64::from(bits & 0x7f_ffff | 0x80_0000) << GUARD;
        let drop = most - exponent(bits) + (SINGLE - digits);
        let aligned = mantissa.checked_shr(drop).unwrap_or(0);
        let term = (aligned * u64::from(weight)) as i64;
        if bits >> 31 != 0 { -term } else { term }
    });
    Sum { exponent: most, units: units.sum() }
}

/// The number of so many digits nearest to `units` times 2^`scale`; a signed 0 if that is subnormal.
fn rounded(units: i64, scale: i32, digits: u32) -> f32 {
    let magnitude = units.unsigned_abs();
    if magnitude == 0 {
        return 0.0;
    }
    let length = 64 - magnitude.leading_zeros();
    let mut drop = length.saturating_sub(digits);
    if digits == HALF {
        // A half has no bit below 2^-24.
        drop = drop.max(u32::try_from(-24 - scale).unwrap_or(0)).min(63);
    }
    let half = if drop > 0 { 1 << (drop - 1) } else { 0 };
    let kept = (magnitude + half) >> drop;
    let value = kept as f64 * 2f64.powi(scale + drop as i32);
    let value = if value < f64::from(f32::MIN_POSITIVE) { 0.0 } else { value as f32 };
    if units < 0 { -value } else { value }
}

/// The mean of one channel's values, as many as weights, as bits of `f32`.
pub(super) fn mean(scale: Scale, weights: &[u32; 8], values: &[u32; 8]) -> u32 {
    match scale {
        Scale::Single => number(SINGLE, weights, values).to_bits(),
        Scale::Half => number(HALF, weights, values).to_bits(),
        Scale::Fraction(most) => {
            let terms =
                weights.iter().zip(values).map(|(w, v)| i64::from(*w) * i64::from(*v as i32));
            let unit = i64::from(WHOLE) * EIGHTHS;
            let units = (terms.sum::<i64>() + unit / 2).div_euclid(unit);
            ((units as f64 / f64::from(most)) as f32).to_bits()
        }
    }
}

fn number(digits: u32, weights: &[u32; 8], values: &[u32; 8]) -> f32 {
    let terms = weights.iter().zip(values).map(|(w, v)| (*w, *v));
    let weighed = terms.clone().filter(|(w, _)| *w > 0);
    if weighed.clone().any(|(_, bits)| exponent(bits) == 0xff) {
        return special(weighed, if digits == HALF { HALF_NAN } else { NAN });
    }
    // If all terms are negative zeros, so is the result.
    if weighed.clone().all(|(_, bits)| exponent(bits) == 0 && bits >> 31 != 0) {
        return -0.0;
    }
    let plane = |from: usize| sum(terms.clone().skip(from).take(4).filter(|(w, _)| *w > 0), digits);
    let (first, second) = (plane(0), plane(4));
    let most = first.exponent.max(second.exponent);
    let aligned = |sum: Sum| (sum.units << PLANES) >> (most - sum.exponent).min(62);
    let scale = most as i32 - 126 - (digits + GUARD + 8 + PLANES) as i32;
    rounded(aligned(first) + aligned(second), scale, digits)
}

/// A mean that includes infinities or NaNs.
fn special(terms: impl Iterator<Item = (u32, u32)>, nan: u32) -> f32 {
    let (mut up, mut down, mut none) = (false, false, false);
    for (_, bits) in terms {
        let infinite = bits & 0x7fff_ffff == 0x7f80_0000;
        none |= exponent(bits) == 0xff && !infinite;
        up |= infinite && bits >> 31 == 0;
        down |= infinite && bits >> 31 != 0;
    }
    f32::from_bits(match (up, down, none) {
        (true, false, false) => 0x7f80_0000,
        (false, true, false) => 0xff80_0000,
        _ => nan,
    })
}

/// Between two levels.
pub(super) fn blend(fraction: u32, a: u32, b: u32) -> u32 {
    let weights = [WHOLE - fraction, fraction, 0, 0, 0, 0, 0, 0];
    mean(Scale::Single, &weights, &[a, b, 0, 0, 0, 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(scale: Scale, fraction: u32, a: u32, b: u32) -> u32 {
        let weights = weights(&[Axis { at: [Some(0), Some(1)], fraction }]);
        mean(scale, &weights, &[a, b, 0, 0, 0, 0, 0, 0])
    }

    #[test]
    fn weights_are_whole_parts_that_sum_up() {
        let axis = |fraction| Axis { at: [Some(0); 2], fraction };
        assert_eq!(weights(&[axis(1), axis(1)])[..4], [254, 1, 1, 0]);
        for k in 0..256 {
            let all = weights(&[axis(k), axis(255 - k), axis(k * 7 % 256)]);
            assert_eq!(all.iter().sum::<u32>(), 256, "{all:?}");
        }
    }

    #[test]
    fn means_are_rounded_as_the_gpu_rounds() {
        let f = |v: f32| v.to_bits();
        assert_eq!(two(Scale::Single, 64, f(1.0), f(2.0)), f(1.25));
        // Recorded on a GPU: ties round away from zero; a much smaller number loses its last bits.
        assert_eq!(two(Scale::Single, 64, 0xbfc91b5a, 0xbfdc798d), 0xbfcdf2e7);
        assert_eq!(two(Scale::Fraction(65535), 128, 0, 257 * 8), f((129.0f64 / 65535.0) as f32));
        assert_eq!(two(Scale::Half, 128, f(2048.0), f(2050.0)), f(2050.0));
        assert_eq!(two(Scale::Single, 128, f32::INFINITY.to_bits(), f(1.0)), 0x7f80_0000);
        assert_eq!(two(Scale::Single, 128, f32::NAN.to_bits(), f(1.0)), NAN);
    }
}
