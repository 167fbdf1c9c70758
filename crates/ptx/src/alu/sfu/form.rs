//! The operations that ptxas adds around a special function unit's result for sm_90, to make the instruction.
//!
//! Owns the forms with and without `.ftz`, of singles, doubles, halves and bfloat16: scaling of operands (the unit
//! treats subnormal numbers as zeros), quotients by reciprocals, reduction of angles. Operands and results are bits.

use super::{INFINITY, NAN, ONE, Row, SIGN};

/// 2^24, by which subnormal numbers become normal ones.
const UP: f32 = 16_777_216.0;
/// 1 / 4: scales numbers above 2^126, so that their reciprocal is not subnormal.
const DOWN: f32 = 0.25;

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn bits(v: f32) -> u32 {
    if v.is_nan() { NAN } else { v.to_bits() }
}

#[inline(always)]
fn flush(v: u32) -> u32 {
    if v & INFINITY == 0 { v & SIGN } else { v }
}

#[inline(always)]
fn small(x: u32) -> bool {
    x & INFINITY == 0
}

/// Above 2^126.
#[inline(always)]
fn large(x: u32) -> bool {
    f(x).abs() > 8.507_059e37
}

#[inline(always)]
fn mul(a: u32, b: f32) -> u32 {
    bits(f(a) * b)
}

/// `rcp.approx.f32`.
#[inline(always)]
pub fn rcp<const FTZ: bool>(x: u32) -> u32 {
    rcp_by::<FTZ>(x, |n, p| super::RCP.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn rcp_by<const FTZ: bool>(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    if FTZ {
        return super::rcp_by(x, look);
    }
    let by = if small(x) { UP } else { 1.0 };
    let by = if large(x) { DOWN } else { by };
    mul(super::rcp_by(mul(x, by), look), by)
}

/// `rsqrt.approx.f32`.
#[inline(always)]
pub fn rsqrt<const FTZ: bool>(x: u32) -> u32 {
    rsqrt_by::<FTZ>(x, |n, p| super::RSQRT.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn rsqrt_by<const FTZ: bool>(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    if FTZ {
        return super::rsqrt_by(x, look);
    }
    let (up, down) = if small(x) { (UP, 4096.0) } else { (1.0, 1.0) };
    mul(super::rsqrt_by(mul(x, up), look), down)
}

/// `sqrt.approx.f32`.
#[inline(always)]
pub fn sqrt<const FTZ: bool>(x: u32) -> u32 {
    sqrt_by::<FTZ>(x, |n, p| super::SQRT.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn sqrt_by<const FTZ: bool>(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    if FTZ {
        return super::sqrt_by(x, look);
    }
    let (up, down) = if small(x) { (UP, 1.0 / 4096.0) } else { (1.0, 1.0) };
    mul(super::sqrt_by(mul(x, up), look), down)
}

/// `ex2.approx.f32`.
#[inline(always)]
pub fn ex2<const FTZ: bool>(x: u32) -> u32 {
    ex2_by::<FTZ>(x, |n, p| super::EX2.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn ex2_by<const FTZ: bool>(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    if FTZ {
        return super::ex2_by(x, look);
    }
    // Below -126, the square of half the power. NaNs are below nothing.
    let low = x > 0xc2fc_0000 && x <= SIGN | INFINITY;
    let v = super::ex2_by(mul(x, if low { 0.5 } else { 1.0 }), look);
    // Neither is NaN where the square is taken.
    let square = (f(v) * f(v)).to_bits();
    if low { square } else { v }
}

/// `lg2.approx.f32`.
#[inline(always)]
pub fn lg2<const FTZ: bool>(x: u32) -> u32 {
    lg2_by::<FTZ>(x, |n, p| super::LG2.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn lg2_by<const FTZ: bool>(x: u32, look: impl FnMut(u32, u32) -> Row) -> u32 {
    if FTZ {
        return super::lg2_by(x, look);
    }
    let (up, less) = if small(x) { (UP, 24.0) } else { (1.0, 0.0) };
    bits(f(super::lg2_by(mul(x, up), look)) - less)
}

/// An angle in turns, rounded towards zero.
#[inline(always)]
fn turns(x: u32) -> u32 {
    // The product of two singles is a double. The unit treats a subnormal product as zero.
    let v = f64::from(f(x)) * f64::from(f(0x3e22_f983));
    let rest = v.abs().to_bits() >> 29;
    let v = if rest < 897 << 23 { 0 } else { (rest - (896 << 23)) as u32 };
    x & SIGN | if x & INFINITY == INFINITY { INFINITY } else { v }
}

/// `sin.approx.f32`, with `.ftz` and without.
#[inline(always)]
pub fn sin(x: u32) -> u32 {
    super::sin(turns(x))
}

/// `cos.approx.f32`, with `.ftz` and without.
#[inline(always)]
pub fn cos(x: u32) -> u32 {
    super::cos(turns(x))
}

/// `div.approx.f32`, or `div.full.f32` (`FULL`), which takes divisors above 2^126 as well.
#[inline(always)]
pub fn div<const FTZ: bool, const FULL: bool>(a: u32, b: u32) -> u32 {
    div_by::<FTZ, FULL>(a, b, |n, p| super::RCP.row(n, p))
}

/// The same, with `look` for the coefficients of an interval and the square of the offset.
#[inline(always)]
pub fn div_by<const FTZ: bool, const FULL: bool>(
    a: u32,
    b: u32,
    look: impl FnMut(u32, u32) -> Row,
) -> u32 {
    let by = if !FTZ && small(b) { UP } else { 1.0 };
    let by = if FULL && large(b) { DOWN } else { by };
    let (a, b) = if FTZ { (flush(a), flush(b)) } else { (a, b) };
    let (a, b) = (mul(a, by), mul(b, by));
    let (a, b) = if FTZ { (flush(a), flush(b)) } else { (a, b) };
    times_reciprocal::<FTZ>(a, super::rcp_by(b, look))
}

/// A quotient from a dividend and the divisor's reciprocal, if the divisor needs no scaling.
#[inline(always)]
pub fn times_reciprocal<const FTZ: bool>(a: u32, reciprocal: u32) -> u32 {
    let v = mul(if FTZ { flush(a) } else { a }, f(reciprocal));
    if FTZ { flush(v) } else { v }
}

/// `rsqrt.approx.f64`: a step of Newton's method from the unit's result.
pub fn rsqrt_double(x: u64) -> u64 {
    let d = f64::from_bits(x);
    let infinity = f64::INFINITY.to_bits();
    match x {
        _ if d.is_nan() => x | 1 << 51,
        _ if d == 0.0 => x | infinity,
        _ if d < 0.0 => 0xfff8_0000_0000_0000,
        _ if x == infinity => 0,
        _ if x >> 52 == 0 => (refined(d * 18_014_398_509_481_984.0) * 134_217_728.0).to_bits(),
        _ => refined(d).to_bits(),
    }
}

fn refined(d: f64) -> f64 {
    let y = f64::from_bits(u64::from(super::rsqrt_upper((d.to_bits() >> 32) as u32)) << 32);
    let e = d.mul_add(-(y * y), 1.0);
    e.mul_add(0.375, 0.5).mul_add(y * e, y)
}

/// A single as a half, cut off.
fn half(x: u32) -> u16 {
    let m = x & !SIGN;
    let sign = (x >> 16 & 0x8000) as u16;
    let e = m >> 23;
    let bits = match e {
        _ if m > INFINITY => return 0x7fff,
        143.. => 0x7c00,
        113.. => (m - (112 << 23)) >> 13,
        _ => (m & (ONE - 1) | ONE) >> (126 - e).min(31),
    };
    sign | bits as u16
}

/// `ex2.approx.f16`, of the half as a single.
pub fn ex2_half(x: u32) -> u16 {
    half(super::ex2(x))
}

/// `tanh.approx.f16`, of the half as a single.
pub fn tanh_half(x: u32) -> u16 {
    half(super::tanh(x))
}

/// `ex2.approx.ftz.bf16`.
pub fn ex2_bfloat(x: u16) -> u16 {
    (super::ex2(u32::from(x) << 16) >> 16) as u16
}

/// `tanh.approx.bf16`.
pub fn tanh_bfloat(x: u16) -> u16 {
    (super::tanh(u32::from(x) << 16) >> 16) as u16
}
