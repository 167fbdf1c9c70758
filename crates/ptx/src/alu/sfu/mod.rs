//! The approximate functions as the special function units of NVIDIA's GPUs compute them, bit for bit.
//!
//! Owns the unit's arithmetic: the leading bits of the operand select an interval's coefficients; the bits that
//! follow are the argument of a polynomial of second degree, with a square that lacks the lower columns of partial
//! products, and a sum that is truncated. Results are equal to those of an H200 for all 2^32 operands
//! (docs/limits.md). The code has no branches, so that loops over lanes become vectors. [`form`] has the operations
//! around the unit in an instruction. Must not know instructions or lanes.
//!
//! Facts: S. Oberman, M. Siu, "A high-performance area-efficient multifunction interpolator" (2005), for the structure;
//! the envytools project's description of the G80's unit, for widths, shifts and the square; recordings of an H200.

pub mod bytes;
pub mod form;
mod table;
mod tables;
pub mod usual;

pub use table::Row;
use table::{narrow_sum, square, sum};
use tables::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH, TANH_FIRST};

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
/// The NaN that devices give.
const NAN: u32 = 0x7fff_ffff;
/// The leading bit of a fraction of 23 bits.
const ONE: u32 = 1 << 23;

/// A function that is a polynomial in each interval of its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolated {
    /// 1 / x.
    Rcp,
    /// 1 / √x.
    Rsqrt,
    /// √x.
    Sqrt,
    /// A power of two.
    Ex2,
    /// The logarithm to the base of two.
    Lg2,
    /// Sine and cosine.
    Sin,
}

/// The coefficients of a function, for code that computes it elsewhere. Tables have 64 or 128 intervals.
#[derive(Debug, Clone, Copy)]
pub struct Coefficients {
    /// The value at the beginning of each interval.
    pub first: &'static [u32],
    /// The factors of the offset in it (the upper 20 bits) and of its square (12).
    pub factors: &'static [i32],
    /// Both, the value in the lower half.
    pub both: &'static [u64],
}

/// The coefficients of a function.
pub fn coefficients(of: Interpolated) -> Coefficients {
    macro_rules! all_of {
        ($($name:ident: $table:ident),* $(,)?) => {
            match of {$(
                Interpolated::$name => Coefficients {
                    first: &$table.first, factors: &$table.factors, both: &$table.both,
                },
            )*}
        };
    }
    all_of!(Rcp: RCP, Rsqrt: RSQRT, Sqrt: SQRT, Ex2: EX2, Lg2: LG2, Sin: SIN)
}

/// The inputs of the unit's polynomial: an interval, and an offset of 17 bits in it.
pub fn row(of: Interpolated, interval: u32, place: u32) -> Row {
    let table = coefficients(of);
    let at = interval as usize % table.first.len();
    Row { first: table.first[at], factors: table.factors[at], square: square(place) }
}

/// The number of an interval, and an offset of 17 bits in it.
#[inline(always)]
fn split(x: u32) -> (u32, u32) {
    (x >> 17, x & 0x1_ffff)
}

/// Converts a fixed-point number with `point` fraction bits, at least 0 and below 2^52, to a single, truncated; if
/// the exponent is out of range, its bits wrap modulo 2^32. Zero is positive.
#[inline(always)]
fn single(v: i64, point: u32) -> u32 {
    // Few processors convert vectors of 64-bit integers; the mantissa of 2^52 plus a number is that number.
    const BIG: f64 = (1u64 << 52) as f64;
    let bits = (f64::from_bits(BIG.to_bits() | v.cast_unsigned()) - BIG).to_bits() >> 29;
    if v == 0 { 0 } else { bits.wrapping_sub(u64::from(1023 - 127 + point) << 23) as u32 }
}

/// 1 / x of a fraction, from 2^23 to 2^24.
#[inline(always)]
fn rcp_fraction(x: u32, mut look: impl FnMut(u32, u32) -> Row) -> u32 {
    let place = x & 0xffff;
    narrow_sum(look(x >> 16, place << 1), place, [13, 0], 0x47e7, 15)
}

/// 1 / √x of 24 bits, whose highest is set for 2 to 4, from 2^23 to 2^24.
#[inline(always)]
fn rsqrt_fraction(x: u32, mut look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (interval, place) = split(x);
    let v = narrow_sum(look(interval, place), place, [14, 2], 0x7fff, 16);
    if x == 0 { 2 * ONE } else { v }
}

/// `MUFU.RCP`. Subnormal numbers are zeros.
#[inline(always)]
pub fn rcp(x: u32) -> u32 {
    rcp_by(x, |n, p| RCP.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn rcp_by(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (sign, e, fraction) = (x & SIGN, x >> 23 & 0xff, x & (ONE - 1));
    let bits = ((253 - e.cast_signed()) << 23) + (rcp_fraction(fraction, look) - ONE).cast_signed();
    let v = if bits < ONE.cast_signed() { 0 } else { bits.cast_unsigned() };
    let v = if e == 0 { INFINITY } else { v };
    let v = sign | if e == 255 { 0 } else { v };
    if e == 255 && fraction != 0 { NAN } else { v }
}

/// The exponent and fraction that a root is taken of: half the exponent, and 24 bits.
#[inline(always)]
fn halve(e: u32, bias: u32, fraction: u32) -> (i32, u32) {
    let e = e.cast_signed() - bias.cast_signed();
    (e >> 1, fraction | (e & 1).cast_unsigned() << 23)
}

/// The roots of all operands that are not positive numbers: zeros, infinities, and NaN.
#[inline(always)]
fn root(x: u32, v: u32, of_zero: u32, of_infinity: u32) -> u32 {
    let v = if x >= INFINITY { NAN } else { v };
    let v = if x == INFINITY { of_infinity } else { v };
    if x & INFINITY == 0 { x & SIGN | of_zero } else { v }
}

/// `MUFU.RSQ`.
#[inline(always)]
pub fn rsqrt(x: u32) -> u32 {
    rsqrt_by(x, |n, p| RSQRT.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn rsqrt_by(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (half, fraction) = halve(x >> 23 & 0xff, 127, x & (ONE - 1));
    let v = ((126 - half) << 23).cast_unsigned() + (rsqrt_fraction(fraction, look) - ONE);
    root(x, v, INFINITY, 0)
}

/// `MUFU.SQRT`.
#[inline(always)]
pub fn sqrt(x: u32) -> u32 {
    sqrt_by(x, |n, p| SQRT.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn sqrt_by(x: u32, mut look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (half, fraction) = halve(x >> 23 & 0xff, 127, x & (ONE - 1));
    let (interval, place) = split(fraction);
    let v = narrow_sum(look(interval, place), place, [15, 0], 0xffff, 17);
    let v = ((127 + half) << 23).cast_unsigned() + (v - ONE);
    root(x, v, 0, INFINITY)
}

/// `MUFU.EX2`: of a number with 23 fraction bits, the rest truncated.
#[inline(always)]
pub fn ex2(x: u32) -> u32 {
    ex2_by(x, |n, p| EX2.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn ex2_by(x: u32, mut look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (e, fraction) = (x >> 23 & 0xff, x & (ONE - 1));
    let m = fraction | ONE;
    let fixed = if e >= 127 { m << ((e - 127) & 7) } else { m >> (127 - e).min(31) };
    // For a negative number that is not an integer, all bits are inverted.
    let negative = 0u32.wrapping_sub(x >> 31);
    let whole = u32::from(fixed & (ONE - 1) == 0);
    let fixed = (fixed ^ negative).wrapping_add(negative & whole).cast_signed();
    let (interval, place) = split(fixed.cast_unsigned() & (ONE - 1));
    let v = narrow_sum(look(interval, place), place, [13, 0], 0x77e2, 15);
    let power = 127 + (fixed >> 23);
    let bits = (power.clamp(0, 255).cast_unsigned() << 23) + (v - ONE);
    let bits = if power < 0 || bits < ONE { 0 } else { bits.min(INFINITY) };
    let large = if x & SIGN != 0 { 0 } else { INFINITY };
    let bits = if e >= 135 { large } else { bits };
    if x & !SIGN > INFINITY { NAN } else { bits }
}

/// `MUFU.LG2`.
#[inline(always)]
pub fn lg2(x: u32) -> u32 {
    lg2_by(x, |n, p| LG2.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn lg2_by(x: u32, mut look: impl FnMut(u32, u32) -> Row) -> u32 {
    let (e, fraction) = (x >> 23 & 0xff, x & (ONE - 1));
    let (interval, place) = split(fraction);
    let v = sum(look(interval, place), place, [12, 1]);
    root(x, logarithm(e, fraction, v), SIGN | INFINITY, INFINITY)
}

/// The logarithm of a positive number by its exponent, its fraction and the polynomial.
#[inline(always)]
fn logarithm(e: u32, fraction: u32, v: i64) -> u32 {
    let v = (v + 0x3345) >> 2;
    let one = u32::from(e == 127 && fraction == 0);
    let v = (v & (i64::from(one) - 1)) + ((i64::from(e) - 127) << 36);
    let below = v >> 63;
    single(v ^ below, 36) | below as u32 & SIGN
}

/// `MUFU.SIN` (`quarter` 0) and `MUFU.COS` (1) of turns, with 25 fraction bits, the rest truncated.
#[inline(always)]
fn wave(x: u32, quarter: u32) -> u32 {
    let (e, m) = (x >> 23 & 0xff, x & (ONE - 1) | ONE);
    let fixed = if e >= 125 { m << (e - 125).min(31) } else { m >> (125 - e).min(31) };
    let q = (fixed >> 23 & 3) + quarter;
    // In the second and fourth quarter it goes back.
    let fraction = (fixed ^ 0u32.wrapping_sub(q & 1)) & (ONE - 1);
    let (interval, place) = split(fraction);
    let bits = single(sum(SIN.row(interval, place), place, [11, 0]), 37);
    let sign = if quarter == 0 { x & SIGN } else { 0 };
    let bits = bits | (sign ^ q << 30 & SIGN);
    if e == 255 { NAN } else { bits }
}

/// `MUFU.SIN`: of so many turns.
#[inline(always)]
pub fn sin(turns: u32) -> u32 {
    wave(turns, 0)
}

/// `MUFU.COS`: of so many turns.
#[inline(always)]
pub fn cos(turns: u32) -> u32 {
    wave(turns, 1)
}

/// The first power of two whose operands `tanh` computes, and the last; below it the operand is the result, above it 1.
const TANH_POWERS: (u32, u32) = (119, 129);
/// For each of them the logarithm of how many intervals there are, 4 bits.
const TANH_INTERVALS: u64 = 0x343_2221_1000;

/// The polynomial of a row.
#[inline(always)]
fn tanh_sum((first, b, c): (u32, i32, i32), place: u32) -> i64 {
    (i64::from(first) << 15)
        + i64::from(b) * i64::from(place)
        + i64::from(c) * i64::from(square(place))
}

/// `MUFU.TANH`. Subnormal numbers are their own.
#[inline(always)]
pub fn tanh(x: u32) -> u32 {
    let (a, e, fraction) = (x & !SIGN, x >> 23 & 0xff, x & (ONE - 1));
    let (least, most) = TANH_POWERS;
    let near = e.clamp(least, most);
    let intervals = (TANH_INTERVALS >> (4 * (near - least))) as u32 & 7;
    let interval = TANH_FIRST[(near - least) as usize % 16] + (fraction >> (23 - intervals));
    let (_, place) = split(fraction >> (6 - intervals));
    let v = tanh_sum(TANH[interval as usize % 64], place);
    let bits = single(v, 40 + 127).wrapping_add(near << 23);
    let bits = if e < least { a } else { bits };
    let bits = if e > most { 127 << 23 } else { bits };
    if a > INFINITY { NAN } else { bits | x & SIGN }
}

/// The upper halves of doubles: bits of their fraction.
const UPPER_ONE: u32 = 1 << 20;
const UPPER_INFINITY: u32 = 0x7ff0_0000;

/// `MUFU.RCP64H`: the upper half of a double's reciprocal, of the upper half alone.
#[inline(always)]
pub fn rcp_upper(x: u32) -> u32 {
    let (sign, e, fraction) = (x & SIGN, x >> 20 & 0x7ff, x & (UPPER_ONE - 1));
    let v = (rcp_fraction(fraction << 3, |n, p| RCP.row(n, p)) >> 3) - UPPER_ONE;
    let bits = ((2045 - e.cast_signed()) << 20) + v.cast_signed();
    let v = if bits < UPPER_ONE.cast_signed() { 0 } else { bits.cast_unsigned() };
    let v = if e == 0 { UPPER_INFINITY } else { v };
    let v = sign | if e == 2047 { 0 } else { v };
    if e == 2047 && fraction != 0 { NAN } else { v }
}

/// `MUFU.RSQ64H`, likewise.
#[inline(always)]
pub fn rsqrt_upper(x: u32) -> u32 {
    let (half, fraction) = halve(x >> 20 & 0x7ff, 1023, (x & (UPPER_ONE - 1)) << 3);
    let v = (rsqrt_fraction(fraction, |n, p| RSQRT.row(n, p)) >> 3) - UPPER_ONE;
    let v = ((1022 - half) << 20).cast_unsigned() + v;
    let v = if x >= UPPER_INFINITY { NAN } else { v };
    let v = if x == UPPER_INFINITY { 0 } else { v };
    if x & UPPER_INFINITY == 0 { x & SIGN | UPPER_INFINITY } else { v }
}

#[cfg(test)]
mod tests {
    use super::table::Table;
    use super::*;

    /// 32-bit arithmetic gives the same as 64-bit arithmetic, at all offsets of all intervals.
    #[test]
    fn no_place_has_another_fraction() {
        fn all<const N: usize>(
            table: &Table<N>,
            places: u32,
            shifts: [u32; 2],
            round: i32,
            right: u32,
        ) {
            for interval in 0..N as u32 {
                for place in 0..places {
                    let row = table.row(interval, place * ((1 << 17) / places));
                    let wide = (sum(row, place, shifts) + i64::from(round)) >> right;
                    assert_eq!(
                        i64::from(narrow_sum(row, place, shifts, round, right)),
                        wide,
                        "{interval} {place}"
                    );
                }
            }
        }
        all(&RCP, 1 << 16, [13, 0], 0x47e7, 15);
        all(&RSQRT, 1 << 17, [14, 2], 0x7fff, 16);
        all(&SQRT, 1 << 17, [15, 0], 0xffff, 17);
        all(&EX2, 1 << 17, [13, 0], 0x77e2, 15);
    }

    /// [`single`] takes no other numbers.
    #[test]
    fn sums_of_waves_and_tangents_are_not_negative() {
        let right = |v: i64| (0..1 << 52).contains(&v);
        for place in 0..1 << 17 {
            for interval in 0..64 {
                let v = sum(SIN.row(interval, place), place, [11, 0]);
                assert!(right(v), "sine, {interval} {place}: {v}");
            }
            for (n, row) in TANH.iter().enumerate() {
                let v = tanh_sum(*row, place);
                assert!(right(v), "tanh, {n} {place}: {v}");
            }
        }
    }
}
