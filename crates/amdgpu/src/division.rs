//! The steps of a division, and the reduction of large angles.
//!
//! Owns: v_div_scale, v_div_fmas, v_div_fixup, v_trig_preop. Must not know: registers. A compiled division scales
//! both operands away from the ends of the range (scale), iterates, scales back (fmas) and corrects the special cases
//! (fixup); the mask that scale returns is the VCC that fmas reads.

use crate::lanes::{LANES, Lanes};
use crate::num::{
    denormal32, denormal64, exponent32, exponent64, fma32, fma32_scaled, fma64_scaled, ldexp32,
    ldexp64,
};

macro_rules! scale {
    ($name:ident, $one:ident, $t:ty, $exponent:ident, $denormal:ident, $ldexp:ident, $far:literal, $by:literal, $tiny:literal) => {
        /// The scaled operand of v_div_scale (denominator or numerator), and whether v_div_fmas
        /// must scale back.
        ///
        /// Where both the reciprocal of the denominator and the quotient are denormal, the
        /// denominator is made smaller: making it larger, as AMD's text says, would overflow.
        fn $one(of: $t, denominator: $t, numerator: $t) -> ($t, bool) {
            let same = |x: $t| of.to_bits() == x.to_bits();
            if numerator == 0.0 || denominator == 0.0 {
                return (<$t>::NAN, false);
            }
            if $exponent(numerator) - $exponent(denominator) >= $far {
                return (if same(denominator) { $ldexp(of, $by) } else { of }, true);
            }
            if $denormal(denominator) {
                return ($ldexp(of, $by), false);
            }
            let (little, result) = ($denormal(1.0 / denominator), numerator / denominator);
            let small = $denormal(result) || result == 0.0;
            match (little, small) {
                (true, true) => (if same(denominator) { $ldexp(of, -$by) } else { of }, true),
                (true, false) => ($ldexp(of, -$by), false),
                (false, true) => (if same(numerator) { $ldexp(of, $by) } else { of }, true),
                _ if $exponent(numerator) <= $tiny => ($ldexp(of, $by), false),
                _ => (of, false),
            }
        }
    };
}
scale!(scale32, one32, f32, exponent32, denormal32, ldexp32, 96, 64, 23);
scale!(scale64, one64, f64, exponent64, denormal64, ldexp64, 768, 128, 53);

/// v_div_scale_f32.
pub fn scale32(l: &mut Lanes) {
    l.out = 0;
    for i in 0..LANES {
        let [of, below, above] = [0, 1, 2].map(|k| f32::from_bits(l.s[k][i]));
        let (value, back) = one32(of, below, above);
        l.d[0][i] = value.to_bits();
        l.out |= u64::from(back) << i;
    }
}

/// v_div_scale_f64.
pub fn scale64(l: &mut Lanes) {
    l.out = 0;
    for i in 0..LANES {
        let [of, below, above] = [0, 1, 2].map(|k| f64::from_bits(l.q(k, i)));
        let (value, back) = one64(of, below, above);
        l.set_q(i, value.to_bits());
        l.out |= u64::from(back) << i;
    }
}

/// v_div_fmas_f32: fused multiply-add, scaled back if VCC says so; the quotient determines the direction.
pub fn fmas32(l: &mut Lanes) {
    for i in 0..LANES {
        let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(l.s[k][i]));
        let value = if l.vcc >> i & 1 == 0 {
            fma32(a, b, c)
        } else {
            fma32_scaled(a, b, c, if exponent32(c) > 127 { 64 } else { -64 })
        };
        l.d[0][i] = value.to_bits();
    }
}

/// v_div_fmas_f64: as v_div_fmas_f32.
pub fn fmas64(l: &mut Lanes) {
    for i in 0..LANES {
        let [a, b, c] = [0, 1, 2].map(|k| f64::from_bits(l.q(k, i)));
        let value = if l.vcc >> i & 1 == 0 {
            a.mul_add(b, c)
        } else {
            fma64_scaled(a, b, c, if exponent64(c) > 1023 { 128 } else { -128 })
        };
        l.set_q(i, value.to_bits());
    }
}

macro_rules! fixup {
    ($name:ident, $t:ty, $exponent:ident, $under:literal) => {
        /// v_div_fixup: the quotient, with the cases of zeros, infinities and NaN.
        pub fn $name(quotient: $t, denominator: $t, numerator: $t) -> $t {
            let sign = denominator.is_sign_negative() != numerator.is_sign_negative();
            let signed = |x: $t| if sign { -x } else { x };
            let both = |test: fn($t) -> bool| test(denominator) && test(numerator);
            if numerator.is_nan() || denominator.is_nan() {
                numerator + denominator
            } else if both(|x| x == 0.0) || both(<$t>::is_infinite) {
                -<$t>::NAN.abs()
            } else if denominator == 0.0 || numerator.is_infinite() {
                signed(<$t>::INFINITY)
            } else if denominator.is_infinite() || numerator == 0.0 {
                signed(0.0)
            } else if $exponent(numerator) - $exponent(denominator) < $under {
                signed(0.0)
            } else if quotient.is_nan() {
                // The iteration met an infinity on its way: the quotient is too large.
                signed(<$t>::INFINITY)
            } else {
                signed(quotient.abs())
            }
        }
    };
}
fixup!(fixup32, f32, exponent32, -150);
fixup!(fixup64, f64, exponent64, -1075);

/// v_div_fixup_f16; its division is done in single precision.
pub fn fixup16(quotient: f32, denominator: f32, numerator: f32) -> f32 {
    fixup32(quotient, denominator, numerator)
}

/// The fraction bits of 2/pi, 1201 of them.
const TWO_OVER_PI: [u32; 38] = [
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
    0x2ebb_4484,
    0xe99c_7026,
    0xb45f_7e41,
    0x3991_d639,
    0x8353_39f4,
    0x9c84_5f8b,
    0xbdf9_283b,
    0x1ff8_97ff,
    0xde05_980f,
    0xef2f_118b,
    0x5a0a_6d1f,
    0x6d36_7ecf,
    0x27cb_09b7,
    0x4f46_3f66,
    0x9e5f_ea2d,
    0x7527_bac7,
    0xebe5_f17b,
    0x3d07_39f7,
    0x8a52_92ea,
    0x6bfb_5fb1,
    0x1f8d_5d08,
    0x5603_3046,
    0xfc7b_0000,
];

/// v_trig_preop_f64: the 53 bits of 2/pi that matter for an angle of that size, by segment.
pub fn two_over_pi(x: f64, segment: u32) -> f64 {
    if x.is_nan() {
        return x;
    }
    let exponent = exponent64(x);
    let shift = (segment & 31) * 53 + (exponent - 1077).max(0) as u32;
    let bit = |at: u32| {
        TWO_OVER_PI.get(at as usize / 32).map_or(0, |word| u64::from(word >> (31 - at % 32) & 1))
    };
    let bits = (0..53).fold(0, |sum, i| sum << 1 | bit(shift + i));
    let scale = -53 - shift as i32 + if exponent >= 1968 { 128 } else { 0 };
    ldexp64(bits as f64, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A division from these steps, as compilers generate it.
    fn divide(a: f32, b: f32) -> f32 {
        let (d, _) = one32(b, b, a);
        let (n, back) = one32(a, b, a);
        let r = 1.0 / d;
        let r = fma32(fma32(-d, r, 1.0), r, r);
        let q = n * r;
        let q = fma32(fma32(-d, q, n), r, q);
        let e = fma32(-d, q, n);
        let mut l = Lanes { vcc: u64::from(back), ..Lanes::default() };
        for (k, x) in [e, r, q].into_iter().enumerate() {
            l.s[k][0] = x.to_bits();
        }
        fmas32(&mut l);
        fixup32(f32::from_bits(l.d[0][0]), b, a)
    }

    fn divide64(a: f64, b: f64) -> f64 {
        let (d, _) = one64(b, b, a);
        let (n, back) = one64(a, b, a);
        let r = 1.0 / d;
        let r = (-d).mul_add(r, 1.0).mul_add(r, r);
        let r = (-d).mul_add(r, 1.0).mul_add(r, r);
        let q = n * r;
        let e = (-d).mul_add(q, n);
        let mut l = Lanes { vcc: u64::from(back), ..Lanes::default() };
        for (k, x) in [e, r, q].into_iter().enumerate() {
            l.s[k][0] = x.to_bits() as u32;
            l.h[k][0] = (x.to_bits() >> 32) as u32;
        }
        fmas64(&mut l);
        fixup64(f64::from_bits(u64::from(l.d[0][0]) | u64::from(l.d[1][0]) << 32), b, a)
    }

    #[test]
    fn divisions_of_all_sizes_are_the_processors() {
        let mut x = 0x2545_f491_4f6c_dd1du64;
        for _ in 0..300_000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let (a, b) = (f32::from_bits(x as u32), f32::from_bits((x >> 32) as u32));
            // The second numerator makes the quotient denormal or nearly so.
            for a in [a, b * f32::from_bits(x as u32 >> 7 & 0xff_ffff)] {
                let (ours, right) = (divide(a, b), a / b);
                let same = ours.to_bits() == right.to_bits() || ours.is_nan() && right.is_nan();
                assert!(same, "{a:e} / {b:e}: {ours:e}, not {right:e}");
            }
            let (a, b) =
                (f64::from_bits(x.rotate_left(21) ^ 0x5a5a), f64::from_bits(x.rotate_left(40)));
            for a in [a, b * f64::from_bits(x >> 9 & 0x1f_ffff_ffff_ffff)] {
                let (ours, right) = (divide64(a, b), a / b);
                let same = ours.to_bits() == right.to_bits() || ours.is_nan() && right.is_nan();
                assert!(same, "{a:e} / {b:e}: {ours:e}, not {right:e}");
            }
        }
    }

    #[test]
    fn segments_of_two_over_pi_add_up() {
        let sum: f64 = (0..3).map(|i| two_over_pi(1.0, i)).sum();
        assert_eq!(sum, std::f64::consts::FRAC_2_PI);
    }
}
