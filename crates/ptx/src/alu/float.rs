//! Floating point: single, double, half, bfloat16.
//!
//! To nearest, singles and doubles use the host's arithmetic (which is IEEE); sums and products of the narrower types
//! use the host's doubles ([`half`]). [`crate::soft`] computes everything else exactly and rounds once.

use super::half;
use super::sfu::{self, form};
use crate::sem::{Clamp, Extreme, Float, FloatOp, Precision};
use crate::soft::{self, Format, Round};
use crate::types::Scalar;

/// The format of a floating-point type (single for other types).
pub(super) fn format(ty: Scalar) -> Format {
    match ty {
        Scalar::F16 | Scalar::F16x2 => Format::F16,
        Scalar::Bf16 | Scalar::Bf16x2 => Format::BF16,
        Scalar::F64 => Format::F64,
        _ => Format::F32,
    }
}

/// A subnormal becomes a zero of its sign.
pub(super) fn flush(bits: u64, f: Format) -> u64 {
    if f.is_subnormal(bits) { bits & f.sign() } else { bits }
}

/// Every NaN becomes the one that devices give.
pub fn canonical(bits: u64, f: Format) -> u64 {
    if f.is_nan(bits) { f.nan() } else { bits }
}

fn one(f: Format) -> u64 {
    ((1 << (f.exponent - 1)) - 1) << f.fraction
}

/// `.sat`: into 0 to 1, NaN to 0. `.relu`: negative to 0.
pub(super) fn clamp(how: Clamp, bits: u64, f: Format) -> u64 {
    let negative = bits & f.sign() != 0;
    match how {
        Clamp::Unit if f.is_nan(bits) || negative => 0,
        Clamp::Unit => bits.min(one(f)),
        Clamp::Relu if negative && !f.is_nan(bits) => 0,
        Clamp::Relu | Clamp::None => bits,
    }
}

/// The operand whose NaN becomes a double's result, made quiet: the ISA says that payloads are kept. It does not say
/// which of several NaNs is; an H100 prefers the second to the first. For `sub` and `div` the order was not observed,
/// and is that of the x86 instructions.
fn kept_nan(op: FloatOp, a: [u64; 3]) -> Option<u64> {
    use FloatOp::*;
    let order: &[usize] = match op {
        Add | Mul => &[1, 0],
        Fma => &[1, 2, 0],
        Sub | Div(_) => &[0, 1],
        Rcp(_) | Sqrt(_) | Rsqrt | Neg | Abs => &[0],
        _ => &[],
    };
    order.iter().map(|n| a[*n]).find(|v| Format::F64.is_nan(*v)).map(|v| quiet(v, Format::F64))
}

/// A NaN that does not signal.
pub(super) fn quiet(bits: u64, f: Format) -> u64 {
    bits | 1 << (f.fraction - 1)
}

pub(super) fn add(ty: Scalar, a: u64, b: u64) -> u64 {
    if ty == Scalar::F64
        && let Some(nan) = kept_nan(FloatOp::Add, [a, b, 0])
    {
        return nan;
    }
    fused(ty, a, one(format(ty)), b, Round::Nearest)
}

/// `a * b + c` of doubles, rounded once.
pub(crate) fn fused_doubles(a: u64, b: u64, c: u64, round: Round) -> u64 {
    if let Some(nan) = kept_nan(FloatOp::Fma, [a, b, c]) {
        return nan;
    }
    if round != Round::Nearest {
        return soft::fma(a, b, c, Format::F64, round);
    }
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    canonical(x.mul_add(y, z).to_bits(), Format::F64)
}

/// `a * b + c` rounded once.
fn fused(ty: Scalar, a: u64, b: u64, c: u64, r: Round) -> u64 {
    soft::fma(a, b, c, format(ty), r)
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Add, subtract, multiply, divide on the host where it rounds as asked.
fn native(i: Float, a: [u64; 3]) -> Option<u64> {
    use FloatOp::*;
    if i.round != Round::Nearest {
        return None;
    }
    Some(match i.ty {
        Scalar::F32 => {
            let (x, y, z) = (f32_of(a[0]), f32_of(a[1]), f32_of(a[2]));
            let v = match i.op {
                Add => x + y,
                Sub => x - y,
                Mul => x * y,
                Fma => x.mul_add(y, z),
                Div(_) => x / y,
                Rcp(_) => 1.0 / x,
                Sqrt(_) => x.sqrt(),
                _ => return None,
            };
            v.to_bits().into()
        }
        Scalar::F64 => {
            let (x, y, z) = (f64::from_bits(a[0]), f64::from_bits(a[1]), f64::from_bits(a[2]));
            let v = match i.op {
                Add => x + y,
                Sub => x - y,
                Mul => x * y,
                Fma => x.mul_add(y, z),
                Div(_) => x / y,
                Rcp(_) => 1.0 / x,
                Sqrt(_) => x.sqrt(),
                _ => return None,
            };
            v.to_bits()
        }
        _ => return None,
    })
}

/// The result; of both halves where there are two.
pub(super) fn eval(i: Float, a: [u64; 5]) -> u64 {
    let [x, y, z, ..] = a;
    if !i.packed {
        return number(i, [x, y, z]);
    }
    let half = |shift: u32| number(i, [x, y, z].map(|v| v >> shift & 0xffff)) & 0xffff;
    half(0) | half(16) << 16
}

fn number(i: Float, mut a: [u64; 3]) -> u64 {
    use FloatOp::*;
    let (ty, f) = (i.ty, format(i.ty));
    let sign = f.sign();
    let magnitude = sign - 1;
    for v in &mut a {
        *v &= sign | magnitude;
    }
    if i.flush {
        a = a.map(|v| flush(v, f));
    }
    if ty == Scalar::F64
        && !i.flush
        && let Some(nan) = kept_nan(i.op, a)
    {
        return nan;
    }
    let value = match i.op {
        // For doubles, only the sign bit changes.
        Neg if ty == Scalar::F64 => return a[0] ^ sign,
        Abs if ty == Scalar::F64 => return a[0] & magnitude,
        Neg => a[0] ^ sign,
        Abs => a[0] & magnitude,
        Copysign => return a[0] & sign | a[1] & magnitude,
        Min(how) => return extreme(how, false, f, a),
        Max(how) => return extreme(how, true, f, a),
        Rcp(Precision::Approx) if ty == Scalar::F64 => {
            return u64::from(sfu::rcp_upper((a[0] >> 32) as u32)) << 32;
        }
        Rsqrt if ty == Scalar::F64 && i.flush => {
            return u64::from(sfu::rsqrt_upper((a[0] >> 32) as u32)) << 32;
        }
        Rsqrt if ty == Scalar::F64 => return form::rsqrt_double(a[0]),
        Rcp(Precision::Approx)
        | Sqrt(Precision::Approx)
        | Div(Precision::Approx | Precision::Full)
        | Rsqrt
        | Ex2
        | Lg2
        | Tanh
        | Sin
        | Cos
            if ty == Scalar::F32 =>
        {
            let [x, y, _] = a.map(|v| v as u32);
            let bits = if i.flush {
                approximate::<true>(i.op, x, y)
            } else {
                approximate::<false>(i.op, x, y)
            };
            return bits.into();
        }
        Ex2 | Tanh if ty == Scalar::F16 => {
            let x = soft::convert(a[0], f, Format::F32, Round::Nearest) as u32;
            let v = if i.op == Ex2 { form::ex2_half(x) } else { form::tanh_half(x) };
            return v.into();
        }
        Ex2 | Tanh => {
            let x = a[0] as u16;
            let v = if i.op == Ex2 { form::ex2_bfloat(x) } else { form::tanh_bfloat(x) };
            return v.into();
        }
        _ => native(i, a).unwrap_or_else(|| exact(i, f, a)),
    };
    let value = canonical(value, f);
    clamp(i.clamp, if i.flush { flush(value, f) } else { value }, f)
}

/// What the host does not round as asked.
fn exact(i: Float, f: Format, a: [u64; 3]) -> u64 {
    let (ty, r, sign) = (i.ty, i.round, f.sign());
    if r == Round::Nearest
        && matches!(f, Format::F16 | Format::BF16)
        && let Some(bits) = half::nearest(i.op, f, a)
    {
        return bits;
    }
    match i.op {
        FloatOp::Add => fused(ty, a[0], one(f), a[1], r),
        FloatOp::Sub => fused(ty, a[0], one(f), a[1] ^ sign, r),
        FloatOp::Mul => fused(ty, a[0], a[1], (a[0] ^ a[1]) & sign, r),
        FloatOp::Fma => fused(ty, a[0], a[1], a[2], r),
        FloatOp::Div(_) => soft::div(a[0], a[1], f, r),
        FloatOp::Rcp(_) => soft::div(one(f), a[0], f, r),
        FloatOp::Sqrt(_) => soft::sqrt(a[0], f, r),
        _ => 0,
    }
}

/// The result of a special function unit and the instructions around it, for singles.
fn approximate<const FTZ: bool>(op: FloatOp, x: u32, y: u32) -> u32 {
    match op {
        FloatOp::Div(Precision::Approx) => form::div::<FTZ, false>(x, y),
        FloatOp::Div(_) => form::div::<FTZ, true>(x, y),
        FloatOp::Rcp(_) => form::rcp::<FTZ>(x),
        FloatOp::Rsqrt => form::rsqrt::<FTZ>(x),
        FloatOp::Sqrt(_) => form::sqrt::<FTZ>(x),
        FloatOp::Ex2 => form::ex2::<FTZ>(x),
        FloatOp::Lg2 => form::lg2::<FTZ>(x),
        FloatOp::Sin => form::sin(x),
        FloatOp::Cos => form::cos(x),
        _ => sfu::tanh(x),
    }
}

/// Bits in an order in which integers compare as the numbers do.
fn order(bits: u64, f: Format) -> i64 {
    let magnitude = (bits & (f.sign() - 1)) as i64;
    if bits & f.sign() != 0 { -magnitude - 1 } else { magnitude }
}

pub(super) fn min_max(ty: Scalar, max: bool, a: u64, b: u64) -> u64 {
    let f = format(ty);
    match (f.is_nan(a), f.is_nan(b)) {
        (true, true) => f.nan(),
        (true, false) => b,
        (false, true) => a,
        _ if (order(a, f) < order(b, f)) == max => b,
        _ => a,
    }
}

fn extreme(how: Extreme, max: bool, f: Format, a: [u64; 3]) -> u64 {
    let pair = |x: u64, y: u64| {
        if how.nan && (f.is_nan(x) || f.is_nan(y)) {
            return f.nan();
        }
        let (p, q) = if how.absolute { (x & !f.sign(), y & !f.sign()) } else { (x, y) };
        let v = match (f.is_nan(p), f.is_nan(q)) {
            (true, true) => return f.nan(),
            (true, false) => q,
            (false, true) => p,
            _ if (order(p, f) < order(q, f)) == max => q,
            _ => p,
        };
        if how.xorsign { v | (x ^ y) & f.sign() } else { v }
    };
    if f == Format::F64 && f.is_nan(a[0]) && f.is_nan(a[1]) {
        return quiet(a[1], f);
    }
    let v = pair(a[0], a[1]);
    if how.three { pair(v, a[2]) } else { v }
}
