//! Floating-point numbers of 16 bits: `__half` and `__nv_bfloat16`.
//!
//! Owns: what their bits mean, and which numbers round to them. Must not know: how values are written.

/// A format of 16 bits with a sign, `15 - mantissa` bits of exponent and `mantissa` bits of fraction, as IEEE 754
/// has it: subnormal numbers, infinities and NaNs included.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    mantissa: u32,
}

/// `__half`: IEEE 754's binary16.
pub const F16: Narrow = Narrow { mantissa: 10 };
/// `__nv_bfloat16`: the upper half of a `float`.
pub const BF16: Narrow = Narrow { mantissa: 7 };

const SIGN: u16 = 0x8000;

impl Narrow {
    /// The number that `bits` mean.
    pub fn value(self, bits: u16) -> f64 {
        let magnitude = bits & !SIGN;
        let infinity = !SIGN >> self.mantissa << self.mantissa;
        let size = match magnitude.cmp(&infinity) {
            std::cmp::Ordering::Less => self.finite(magnitude),
            std::cmp::Ordering::Equal => f64::INFINITY,
            std::cmp::Ordering::Greater => f64::NAN,
        };
        if bits & SIGN == 0 { size } else { -size }
    }

    /// Whether `number` rounds to the finite number of `bits`, ties to the even one.
    pub fn rounds_to(self, number: f64, bits: u16) -> bool {
        let magnitude = bits & !SIGN;
        // Both are exact: a double has several bits more. Above the largest number the next step
        // counts, as if there were no infinity.
        let here = self.finite(magnitude);
        let above = (here + self.finite(magnitude + 1)) / 2.0;
        let below = magnitude.checked_sub(1).map_or(0.0, |less| (here + self.finite(less)) / 2.0);
        let size = number.abs();
        let is_near = match magnitude & 1 == 0 {
            true => (below..=above).contains(&size),
            false => below < size && size < above,
        };
        is_near && number.is_sign_negative() == (bits & SIGN != 0) && self.value(bits).is_finite()
    }

    /// The value of a magnitude, with the largest exponent taken as an ordinary one.
    fn finite(self, magnitude: u16) -> f64 {
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let bias = (1_i32 << (14 - self.mantissa)) - 1;
        let (digits, exponent) = match i32::from(magnitude >> self.mantissa) {
            0 => (fraction, 1),
            exponent => (fraction | 1 << self.mantissa, exponent),
        };
        f64::from(digits) * 2_f64.powi(exponent - bias - self.mantissa as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all bits of both formats, and numbers around them, with a crate that rounds them.
    #[test]
    fn as_the_crate_half_has_it() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            let pairs =
                [(F16, half.to_f64(), half.is_nan()), (BF16, brain.to_f64(), brain.is_nan())];
            for (format, value, is_nan) in pairs {
                let own = format.value(bits);
                assert!(own.to_bits() == value.to_bits() || is_nan && own.is_nan(), "{bits:#x}");
                assert_eq!(own.is_sign_negative(), bits & SIGN != 0);
            }
            for near in around(half.to_f64(), half::f16::from_bits(bits ^ 1).to_f64()) {
                let rounds = half::f16::from_f64(near).to_bits() == bits && half.is_finite();
                assert_eq!(F16.rounds_to(near, bits), rounds, "{bits:#x} {near:e}");
            }
            for near in around(brain.to_f64(), half::bf16::from_bits(bits ^ 1).to_f64()) {
                let rounds = half::bf16::from_f64(near).to_bits() == bits && brain.is_finite();
                assert_eq!(BF16.rounds_to(near, bits), rounds, "{bits:#x} {near:e}");
            }
        }
    }

    #[test]
    fn what_is_too_large_for_the_largest() {
        let most = half::f16::MAX.to_bits();
        for (number, rounds) in
            [(65_519.9, true), (65_520.0, false), (f64::INFINITY, false), (f64::NAN, false)]
        {
            assert_eq!(half::f16::from_f64(number).to_bits() == most, rounds);
            assert_eq!(F16.rounds_to(number, most), rounds, "{number}");
        }
    }

    /// The number, its neighbour, their middle, and values close to that. The distance is large enough for `half`,
    /// which looks only at the upper 32 bits of a double.
    fn around(value: f64, neighbour: f64) -> [f64; 5] {
        let middle = (value + neighbour) / 2.0;
        let next = |n: f64, step: i64| f64::from_bits(n.to_bits().wrapping_add_signed(step));
        [value, neighbour, middle, next(middle, 1 << 33), next(middle, -1 << 33)]
    }
}
