//! The approximate functions for usual operands, which need nothing around the unit's polynomial.
//!
//! Owns which operands are usual, the bits that select the interval and the offset in it, and the computation of the
//! result from the polynomial: less than half of the work of [`super::form`], with the same bits, with `.ftz` and
//! without. A caller with many operands tests all of them, and uses [`super::form`] if one is not usual. Must not
//! know how coefficients are looked up.

use super::{INFINITY, ONE, Row, SIGN, narrow_sum, split, sum};

/// What an operand says before the polynomial.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// The number of the interval.
    pub interval: u32,
    /// The offset in it, of 17 bits, for its square.
    pub place: u32,
    /// What the result is made of, with the polynomial.
    pub rest: u32,
}

impl Before {
    #[inline(always)]
    fn new((interval, place): (u32, u32), rest: u32) -> Self {
        Before { interval, place, rest }
    }
}

/// Positive, neither subnormal nor infinite.
#[inline(always)]
pub fn is_normal(x: u32) -> bool {
    x.wrapping_sub(ONE) < INFINITY - ONE
}

/// `ex2.approx.f32`.
pub mod ex2 {
    use super::*;

    /// From -126 to 126, without both.
    #[inline(always)]
    pub fn is_usual(x: u32) -> bool {
        x & !SIGN < 0x42fc_0000
    }

    /// For a usual operand; `cut_off` may use that the number is below 2^30, and take fewer instructions than `as`.
    #[inline(always)]
    pub fn before(x: u32, cut_off: impl Fn(f32) -> i32) -> Before {
        // With 23 fraction bits.
        let fixed = cut_off(f32::from_bits(x) * 8_388_608.0);
        // For a negative number that is not an integer, all bits are inverted.
        let whole = i32::from(fixed & (ONE - 1).cast_signed() == 0);
        let fixed = (fixed + ((fixed >> 31) & (whole - 1))).cast_unsigned();
        Before::new(split(fixed & (ONE - 1)), fixed)
    }

    /// The result.
    #[inline(always)]
    pub fn after(row: Row, fixed: u32) -> u32 {
        let v = narrow_sum(row, fixed & 0x1_ffff, [13, 0], 0x77e2, 15);
        v.wrapping_add(fixed & !(ONE - 1)).wrapping_add((127 << 23) - ONE)
    }
}

/// `rcp.approx.f32`, and the divisors of `div.approx` and `div.full`.
pub mod rcp {
    use super::*;

    /// Neither subnormal nor infinite nor so large that the result is subnormal.
    #[inline(always)]
    pub fn is_usual(x: u32) -> bool {
        (x & !SIGN).wrapping_sub(ONE) < (253 << 23) - ONE
    }

    /// For a usual operand.
    #[inline(always)]
    pub fn before(x: u32) -> Before {
        let fraction = x & (ONE - 1);
        Before::new((fraction >> 16, (fraction & 0xffff) << 1), x)
    }

    /// The result.
    #[inline(always)]
    pub fn after(row: Row, x: u32) -> u32 {
        let v = narrow_sum(row, x & 0xffff, [13, 0], 0x47e7, 15);
        x & SIGN | ((253 << 23) - ONE).wrapping_sub(x & INFINITY).wrapping_add(v)
    }
}

/// The 24 bits whose root is taken: the highest one is set if the biased exponent is even, for a fraction from 2 to
/// 4.
#[inline(always)]
fn radicand(x: u32) -> u32 {
    (x ^ ONE) & (2 * ONE - 1)
}

/// Half the power of two, as an exponent without offset.
#[inline(always)]
fn half(x: u32) -> u32 {
    ((x.cast_signed() - (127 << 23)) >> 1).cast_unsigned() & !(ONE - 1)
}

/// `rsqrt.approx.f32`.
pub mod rsqrt {
    use super::*;

    pub use super::is_normal as is_usual;

    /// For a usual operand.
    #[inline(always)]
    pub fn before(x: u32) -> Before {
        Before::new(split(radicand(x)), x)
    }

    /// The result.
    #[inline(always)]
    pub fn after(row: Row, x: u32) -> u32 {
        let fraction = radicand(x);
        let v = narrow_sum(row, fraction & 0x1_ffff, [14, 2], 0x7fff, 16);
        let v = if fraction == 0 { 2 * ONE } else { v };
        ((126 << 23) - ONE).wrapping_sub(half(x)).wrapping_add(v)
    }
}

/// `sqrt.approx.f32`.
pub mod sqrt {
    use super::*;

    pub use super::is_normal as is_usual;
    pub use super::rsqrt::before;

    /// The result.
    #[inline(always)]
    pub fn after(row: Row, x: u32) -> u32 {
        let v = narrow_sum(row, radicand(x) & 0x1_ffff, [15, 0], 0xffff, 17);
        ((127 << 23) - ONE).wrapping_add(half(x)).wrapping_add(v)
    }
}

/// `lg2.approx.f32`.
pub mod lg2 {
    use super::*;

    pub use super::is_normal as is_usual;

    /// For a usual operand.
    #[inline(always)]
    pub fn before(x: u32) -> Before {
        Before::new(split(x & (ONE - 1)), x)
    }

    /// The result.
    #[inline(always)]
    pub fn after(row: Row, x: u32) -> u32 {
        super::super::logarithm(x >> 23, x & (ONE - 1), sum(row, x & 0x1_ffff, [12, 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::form;
    use super::super::{EX2, LG2, RCP, RSQRT, SQRT};
    use super::*;

    /// All signs and exponents, with the bounds of all intervals, offsets between them, and the bounds of usual
    /// operands.
    fn operands() -> impl Iterator<Item = u32> {
        (0..512u32).flat_map(|power| {
            let fractions = (0..1 << 9).flat_map(|n: u32| {
                let first = n << 14;
                [first, first + 1, first + n * 31, first + (1 << 14) - 1]
            });
            fractions.map(move |f| power << 23 | f)
        })
    }

    #[test]
    fn usual_operands_have_the_results_of_the_instruction() {
        macro_rules! check {
            ($($function:ident: $table:ident, $before:expr;)*) => {$(
                let mut usual = 0;
                for x in operands().filter(|x| $function::is_usual(*x)) {
                    usual += 1;
                    let before = $before(x);
                    let v = $function::after($table.row(before.interval, before.place), before.rest);
                    assert_eq!(v, form::$function::<true>(x), "{} {x:#x}", stringify!($function));
                    assert_eq!(v, form::$function::<false>(x), "{} {x:#x}", stringify!($function));
                }
                assert!(usual > 400_000, "{usual} of {}", stringify!($function));
            )*};
        }
        check! {
            ex2: EX2, |x| ex2::before(x, |v| v as i32);
            rcp: RCP, rcp::before;
            rsqrt: RSQRT, rsqrt::before;
            sqrt: SQRT, sqrt::before;
            lg2: LG2, lg2::before;
        }
    }
}
