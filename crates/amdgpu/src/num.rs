//! Arithmetic for which the CPU has no instructions: half precision, fused multiply-add, scaling, minima.
//!
//! Owns: rounding to nearest even for these. Must not know: lanes, instructions, modes.

/// A half as f32: exact.
#[inline(always)]
pub fn h2f(h: u32) -> f32 {
    let sign = (h & 0x8000) << 16;
    let rest = h & 0x7fff;
    if rest >= 0x7c00 {
        return f32::from_bits(sign | 0x7f80_0000 | (rest & 0x3ff) << 13);
    }
    // Scaled from units of the smallest step (2^-24): denormals need no special case.
    let magic = f32::from_bits((rest << 13) + (112 << 23));
    let value = if rest < 0x400 { rest as f32 * f32::from_bits(0x3380_0000) } else { magic };
    f32::from_bits(value.to_bits() | sign)
}

/// A double rounded to a half, once.
#[inline(always)]
pub fn d2h(value: f64) -> u32 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u32 & 0x8000;
    let abs = bits & !(1 << 63);
    if abs > 0x7ff0_0000_0000_0000 {
        return sign | 0x7e00 | (bits >> 42) as u32 & 0x1ff;
    }
    let exponent = (abs >> 52) as i32 - 1023;
    if exponent >= 16 {
        return sign | 0x7c00;
    }
    if exponent < -25 {
        return sign;
    }
    let mantissa = abs & ((1 << 52) - 1) | 1 << 52;
    // Below 2^-14 the step stays 2^-24.
    let (drop, high) =
        if exponent < -14 { (42 + (-14 - exponent), 0) } else { (42, (exponent + 14) as u64) };
    let kept = mantissa >> drop;
    let rest = mantissa & ((1 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = u64::from(rest > half || rest == half && kept & 1 == 1);
    sign | (((high << 10) + kept + up) as u32)
}

/// An f32 rounded to a half.
#[inline(always)]
pub fn f2h(value: f32) -> u32 {
    d2h(f64::from(value))
}

/// An f32 cut to a half: towards zero.
pub fn f2h_rtz(value: f32) -> u32 {
    let near = f2h(value);
    if value.is_nan() || near & 0x7fff == 0 {
        return near;
    }
    if near & 0x7fff == 0x7c00 {
        return if value.is_infinite() { near } else { near - 1 };
    }
    if h2f(near).abs() > value.abs() { near - 1 } else { near }
}

/// The sum of two doubles, rounded to odd: rounding it again to a shorter format rounds once.
#[inline(always)]
fn add_odd(p: f64, c: f64) -> f64 {
    let s = p + c;
    let bb = s - p;
    let lost = (p - (s - bb)) + (c - bb);
    let bits = s.to_bits();
    if lost != 0.0 && s.is_finite() && bits & 1 == 0 && s != 0.0 {
        let away = (lost > 0.0) == (s > 0.0);
        return f64::from_bits(if away { bits + 1 } else { bits - 1 });
    }
    s
}

/// a * b + c of f32, rounded once.
#[inline(always)]
pub fn fma32(a: f32, b: f32, c: f32) -> f32 {
    add_odd(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

/// (a * b + c) * 2^by of f32, rounded once.
pub fn fma32_scaled(a: f32, b: f32, c: f32, by: i32) -> f32 {
    (add_odd(f64::from(a) * f64::from(b), f64::from(c))
        * f64::from_bits(((1023 + by) as u64) << 52)) as f32
}

/// Mantissa and exponent of a finite number: |x| = mantissa * 2^exponent.
fn parts64(x: f64) -> (u128, i32) {
    let (field, mantissa) = (exponent64(x), x.to_bits() & ((1 << 52) - 1));
    if field <= 0 { (mantissa.into(), -1074) } else { ((mantissa | 1 << 52).into(), field - 1075) }
}

/// (a * b + c) * 2^by of f64, rounded once.
pub fn fma64_scaled(a: f64, b: f64, c: f64, by: i32) -> f64 {
    let plain = a.mul_add(b, c);
    if a == 0.0 || b == 0.0 || [a, b, c].iter().any(|x| !x.is_finite()) {
        // c, infinity or NaN: nothing was rounded yet.
        return ldexp64(plain, by);
    }
    // Both have their first bit at 120 (the exponent is that of bit 0), and the smaller one is
    // shifted to the larger. Bits shifted out become a sticky lowest bit: the sum loses at most one
    // leading bit, so the sticky bit never reaches the place of rounding.
    let lead = |(mantissa, exponent): (u128, i32)| {
        let by = mantissa.leading_zeros() - 7;
        if mantissa == 0 { (0, i32::MIN / 2) } else { (mantissa << by, exponent - by as i32) }
    };
    let ((ma, ea), (mb, eb)) = (parts64(a), parts64(b));
    let (product, addend) = (lead((ma * mb, ea + eb)), lead(parts64(c)));
    let exponent = product.1.max(addend.1);
    let aligned = |(mantissa, own): (u128, i32), negative: bool| {
        let drop = (exponent - own).min(127);
        let kept = mantissa >> drop | u128::from(mantissa & ((1 << drop) - 1) != 0);
        if negative { -(kept as i128) } else { kept as i128 }
    };
    let sum = aligned(product, a.is_sign_negative() != b.is_sign_negative())
        + aligned(addend, c.is_sign_negative());
    if sum == 0 { plain } else { round64(sum.unsigned_abs(), exponent + by, sum < 0) }
}

/// mantissa * 2^exponent to the nearest even f64.
fn round64(mantissa: u128, exponent: i32, negative: bool) -> f64 {
    let bits = 128 - mantissa.leading_zeros() as i32;
    // The position of the last bit that is kept: 53 bits, fewer below the smallest normal number.
    let last = (bits - 53).max(-1074 - exponent);
    let kept = match last {
        ..=0 => {
            return ldexp64(mantissa as f64, exponent).copysign(if negative { -1.0 } else { 1.0 });
        }
        1..=127 => {
            let (kept, rest, half) =
                (mantissa >> last, mantissa & ((1 << last) - 1), 1 << (last - 1));
            kept + u128::from(rest > half || rest == half && kept & 1 == 1)
        }
        _ => 0,
    };
    // Exact: at most 53 bits, or the next power of two, at an exponent where all of them fit.
    let value = ldexp64(kept as f64, last + exponent);
    if negative { -value } else { value }
}

/// a * b + c of halves, rounded once.
#[inline(always)]
pub fn fma16(a: f32, b: f32, c: f32) -> u32 {
    d2h(add_odd(f64::from(a) * f64::from(b), f64::from(c)))
}

/// x * 2^e as f32, rounded once.
#[inline(always)]
pub fn ldexp32(x: f32, e: i32) -> f32 {
    let e = e.clamp(-400, 400);
    (f64::from(x) * f64::from_bits(((1023 + e) as u64) << 52)) as f32
}

/// x * 2^e as f64, rounded once.
pub fn ldexp64(x: f64, e: i32) -> f64 {
    let (mantissa, exponent) = frexp(x);
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = exponent + e.clamp(-4000, 4000);
    let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    match exponent {
        1025.. => f64::INFINITY.copysign(x),
        // Exact both times: the mantissa is in [0.5, 1).
        -1021..=1024 => mantissa * 2.0 * power(exponent - 1),
        -1100..=-1022 => mantissa * power(-900) * power(exponent + 900),
        _ => 0f64.copysign(x),
    }
}

macro_rules! minmax {
    ($min:ident, $max:ident, $t:ty) => {
        /// The minimum; the number if the other is NaN; -0 is less than 0.
        #[inline(always)]
        pub fn $min(a: $t, b: $t) -> $t {
            if a.is_nan() {
                return b;
            }
            if b.is_nan() || a < b {
                return a;
            }
            if a == b { <$t>::from_bits(a.to_bits() | b.to_bits()) } else { b }
        }
        /// The maximum; the number if the other is NaN; 0 is more than -0.
        #[inline(always)]
        pub fn $max(a: $t, b: $t) -> $t {
            if a.is_nan() {
                return b;
            }
            if b.is_nan() || a > b {
                return a;
            }
            if a == b { <$t>::from_bits(a.to_bits() & b.to_bits()) } else { b }
        }
    };
}
minmax!(min32, max32, f32);
minmax!(min64, max64, f64);

/// The mantissa in [0.5, 1) and the exponent; zero, infinities and NaN unchanged, with 0.
pub fn frexp(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (x, less) =
        if x.abs() < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, 54) } else { (x, 0) };
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    (f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52), exponent - less)
}

/// The biased exponent of an f32.
#[inline(always)]
pub fn exponent32(x: f32) -> i32 {
    (x.to_bits() >> 23 & 0xff) as i32
}

/// The biased exponent of an f64.
#[inline(always)]
pub fn exponent64(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32
}

/// Whether it is a denormal number.
#[inline(always)]
pub fn denormal32(x: f32) -> bool {
    x.to_bits() & 0x7f80_0000 == 0 && x != 0.0
}

/// Whether it is a denormal number.
#[inline(always)]
pub fn denormal64(x: f64) -> bool {
    exponent64(x) == 0 && x != 0.0
}

/// sin(2 pi x), exactly 0 at multiples of a half turn.
pub fn sin_turns(x: f64) -> f64 {
    let t = x - x.floor();
    if t == 0.0 || t == 0.5 { 0.0 } else { (t * std::f64::consts::TAU).sin() }
}

/// cos(2 pi x).
pub fn cos_turns(x: f64) -> f64 {
    let t = x - x.floor();
    if t == 0.25 || t == 0.75 { 0.0 } else { (t * std::f64::consts::TAU).cos() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_survive_the_way_through_f32() {
        for h in 0..0x1_0000u32 {
            let f = h2f(h);
            if f.is_nan() {
                assert!(h2f(f2h(f)).is_nan());
            } else {
                assert_eq!(f2h(f), h, "{h:#x} {f}");
            }
        }
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(f2h(65_519.0), 0x7bff);
        assert_eq!(f2h(65_520.0), 0x7c00);
        assert_eq!(f2h(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f2h(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f2h(f32::from_bits(0x3300_0000)), 0, "half of the smallest step goes to even");
        assert_eq!(f2h(f32::from_bits(0x3300_0001)), 1);
        assert_eq!(f2h_rtz(65_519.0), 0x7bff);
        assert_eq!(f2h_rtz(1.0 + 3.0 / 2048.0), 0x3c01);
        assert_eq!(f2h_rtz(-1.0 - 3.0 / 2048.0), 0xbc01);
    }

    #[test]
    fn fused_multiply_add_is_the_librarys() {
        let mut x = 0x1234_5678_9abc_def0u64;
        for _ in 0..400_000 {
            let mut next = || {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                f32::from_bits((x >> 16) as u32)
            };
            let (a, b, c) = (next(), next(), next());
            let (ours, theirs) = (fma32(a, b, c), a.mul_add(b, c));
            assert!(
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
                "{a} {b} {c}"
            );
        }
    }

    #[test]
    fn scaled_fused_multiply_add_rounds_once() {
        let mut x = 0x1234_5678_9abc_def0u64;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        };
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        for _ in 0..200_000 {
            // Random bits, then a sum that nearly cancels, then terms of very different sizes.
            let [a, b, c] = [next(), next(), next()].map(f64::from_bits);
            let near = f64::from_bits((a * b).to_bits() ^ next() >> 50 ^ 1 << 63);
            for c in [c, near, c * 1e-200, 0.0] {
                let (ours, right) = (fma64_scaled(a, b, c, 0), a.mul_add(b, c));
                assert!(same(ours, right), "{a:e} * {b:e} + {c:e}: {ours:e}, not {right:e}");
            }
            // A denormal result whose operands can be scaled exactly: c has 20 bits.
            let unit = |x: u64| f64::from_bits(x >> 12 | 1023 << 52);
            let c = f64::from_bits((unit(next()).to_bits() >> 33) << 33) * 2f64.powi(-900);
            let (a, b) = (unit(next()) * 2f64.powi(-480), unit(next()) * 2f64.powi(-430));
            let down = 2f64.powi(-128);
            let (ours, right) = (fma64_scaled(a, b, c, -128), (a * down).mul_add(b, c * down));
            assert!(same(ours, right), "{a:e} * {b:e} + {c:e}, scaled: {ours:e}, not {right:e}");
        }
        assert!(fma64_scaled(1.0, f64::NAN, 1.0, 128).is_nan());
        assert_eq!(fma64_scaled(1.0, 0.0, 3.0, 128), 3.0 * 2f64.powi(128));
    }

    #[test]
    fn scaling_rounds_once() {
        assert_eq!(ldexp64(1.0, -1074), f64::from_bits(1));
        assert_eq!(ldexp64(1.0, -1075), 0.0);
        assert_eq!(ldexp64(1.5, -1075), f64::from_bits(1));
        assert_eq!(ldexp64(f64::from_bits(1), 2000), 2f64.powi(926));
        assert_eq!(ldexp64(f64::MAX, -2098), f64::from_bits(1));
        assert_eq!(ldexp64(-1.25, 3), -10.0);
        assert_eq!(ldexp64(1.0, 1024), f64::INFINITY);
        assert_eq!(ldexp64(0.5, 1024), 2f64.powi(1023));
        // 1 + 2^-52, scaled to 52 bits below the normal numbers: the last bit makes it round up.
        assert_eq!(ldexp64(1.0 + f64::EPSILON, -1075), f64::from_bits(1));
        assert_eq!(ldexp32(1.0, -149), f32::from_bits(1));
        assert_eq!(ldexp32(1.5, 200), f32::INFINITY);
    }
}
