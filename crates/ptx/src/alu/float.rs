//! Floating point: single, double, half, bfloat16.
//!
//! To nearest, singles and doubles use the host's arithmetic (which is IEEE);
//! everything else is computed exactly by [`crate::soft`] and rounded once.

use super::approx;
use crate::ir::Inst;
use crate::soft::{self, Format, Round};
use crate::table::{Op, Word};
use crate::types::Scalar;

/// The format of a type that is a floating-point one (single for others).
pub(super) fn format(ty: Scalar) -> Format {
    match ty {
        Scalar::F16 | Scalar::F16x2 => Format::F16,
        Scalar::Bf16 | Scalar::Bf16x2 => Format::BF16,
        Scalar::F64 => Format::F64,
        _ => Format::F32,
    }
}

/// What `.approx.ftz.f64` makes of every NaN (ISA, `rcp.approx.ftz.f64`).
const UPPER_NAN: u64 = 0x7fff_ffff_0000_0000;

/// 2^126, above which `div.approx` gives zeros.
const LARGEST_DIVISOR: f32 = f32::from_bits(0x7e80_0000);

/// The rounding that the modifiers name; to nearest where they do not.
pub(super) fn round(i: &Inst) -> Round {
    let all = [Word::Rz, Word::Rm, Word::Rp, Word::Rna, Word::Rzi, Word::Rmi, Word::Rpi];
    match i.words.first(&all) {
        Some(Word::Rz | Word::Rzi) => Round::Zero,
        Some(Word::Rm | Word::Rmi) => Round::Down,
        Some(Word::Rp | Word::Rpi) => Round::Up,
        Some(Word::Rna) => Round::Away,
        _ => Round::Nearest,
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
pub(super) fn clamp(i: &Inst, bits: u64, f: Format) -> u64 {
    let negative = bits & f.sign() != 0;
    if i.words.has(Word::Sat) {
        return if f.is_nan(bits) || negative { 0 } else { bits.min(one(f)) };
    }
    if i.words.has(Word::Relu) && negative && !f.is_nan(bits) {
        return 0;
    }
    bits
}

/// Which NaN of its operands a double's result is, made quiet: the ISA keeps their
/// payloads. Of several it names none; an H100 takes the second before the first. Of `sub`
/// and `div` the order was not seen, and is that of the x86 instructions.
fn kept_nan(op: Op, a: [u64; 4]) -> Option<u64> {
    let order: &[usize] = match op {
        Op::Add | Op::Mul => &[1, 0],
        Op::Fma => &[1, 2, 0],
        Op::Sub | Op::Div => &[0, 1],
        Op::Rcp | Op::Sqrt | Op::Rsqrt | Op::Neg | Op::Abs => &[0],
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
        && let Some(nan) = kept_nan(Op::Add, [a, b, 0, 0])
    {
        return nan;
    }
    fused(ty, a, one(format(ty)), b, Round::Nearest)
}

/// `a * b + c` rounded once.
fn fused(ty: Scalar, a: u64, b: u64, c: u64, r: Round) -> u64 {
    soft::fma(a, b, c, format(ty), r)
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Add, subtract, multiply, divide on the host where it rounds as asked.
fn native(i: &Inst, ty: Scalar, a: [u64; 4]) -> Option<u64> {
    if round(i) != Round::Nearest {
        return None;
    }
    Some(match ty {
        Scalar::F32 => {
            let (x, y, z) = (f32_of(a[0]), f32_of(a[1]), f32_of(a[2]));
            let v = match i.op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Fma => x.mul_add(y, z),
                Op::Div => x / y,
                Op::Rcp => 1.0 / x,
                Op::Sqrt => x.sqrt(),
                _ => return None,
            };
            v.to_bits().into()
        }
        Scalar::F64 => {
            let (x, y, z) = (f64::from_bits(a[0]), f64::from_bits(a[1]), f64::from_bits(a[2]));
            let v = match i.op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Fma => x.mul_add(y, z),
                Op::Div => x / y,
                Op::Rcp => 1.0 / x,
                Op::Sqrt => x.sqrt(),
                _ => return None,
            };
            v.to_bits()
        }
        _ => return None,
    })
}

pub(super) fn eval(i: &Inst, ty: Scalar, mut a: [u64; 4]) -> u64 {
    let f = format(ty);
    let sign = f.sign();
    let magnitude = sign - 1;
    for v in &mut a {
        *v &= sign | magnitude;
    }
    let ftz = i.words.has(Word::Ftz);
    if ftz {
        a = a.map(|v| flush(v, f));
    }
    let r = round(i);
    if ty == Scalar::F64
        && !ftz
        && let Some(nan) = kept_nan(i.op, a)
    {
        return nan;
    }
    let value = match i.op {
        Op::Neg => a[0] ^ sign,
        Op::Abs => a[0] & magnitude,
        Op::Copysign => return a[0] & sign | a[1] & magnitude,
        Op::Min | Op::Max => return extreme(i, f, a),
        Op::Rcp | Op::Rsqrt if ty == Scalar::F64 && i.words.has(Word::Approx) => {
            // `.approx.ftz.f64` looks at the upper half only, and computes no more.
            let kept: u64 = if ftz { !0 << 32 } else { !0 };
            let x = f64::from_bits(a[0] & kept);
            let v = if i.op == Op::Rcp { 1.0 / x } else { 1.0 / x.sqrt() };
            return match v.is_nan() {
                true if ftz => UPPER_NAN,
                true => f.nan(),
                false if ftz => flush(v.to_bits() & kept, f),
                false => v.to_bits(),
            };
        }
        // ISA, `div.approx`: the reciprocal of what is above 2^126 is a zero.
        Op::Div if i.words.has(Word::Approx) && f32_of(a[1]).abs() > LARGEST_DIVISOR => {
            (f32_of(a[0]) * 0f32.copysign(f32_of(a[1]))).to_bits().into()
        }
        // The root and the quotient, each rounded: below the bound of 2^-22.9, and
        // what a compiler can do with the processor's own instructions.
        Op::Rsqrt if ty == Scalar::F32 => (1.0 / f32_of(a[0]).sqrt()).to_bits().into(),
        Op::Ex2 | Op::Lg2 | Op::Tanh | Op::Sin | Op::Cos if ty == Scalar::F32 => {
            bounded(i.op, f32_of(a[0])).to_bits().into()
        }
        Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh => transcendental(i, f, a[0]),
        _ => match native(i, ty, a) {
            Some(v) => v,
            None => match i.op {
                Op::Add => fused(ty, a[0], one(f), a[1], r),
                Op::Sub => fused(ty, a[0], one(f), a[1] ^ sign, r),
                Op::Mul => fused(ty, a[0], a[1], (a[0] ^ a[1]) & sign, r),
                Op::Fma => fused(ty, a[0], a[1], a[2], r),
                Op::Div => soft::div(a[0], a[1], f, r),
                Op::Rcp => soft::div(one(f), a[0], f, r),
                Op::Sqrt => soft::sqrt(a[0], f, r),
                _ => 0,
            },
        },
    };
    if matches!(i.op, Op::Neg | Op::Abs) && ty == Scalar::F64 {
        return value;
    }
    let value = canonical(value, f);
    clamp(i, if ftz { flush(value, f) } else { value }, f)
}

/// A function of singles with an error bound.
pub fn bounded(op: Op, x: f32) -> f32 {
    match op {
        Op::Ex2 => approx::ex2(x),
        Op::Lg2 => approx::lg2(x),
        Op::Tanh => approx::tanh(x),
        // What is larger, infinite or NaN wants more care.
        Op::Sin if x.abs() <= approx::MOST_ANGLE => approx::sin(x),
        Op::Cos if x.abs() <= approx::MOST_ANGLE => approx::cos(x),
        Op::Sin => f64::from(x).sin() as f32,
        _ => f64::from(x).cos() as f32,
    }
}

/// Of other formats, the functions with an error bound: computed in double precision, rounded to
/// nearest. That is within half a unit of the exact result, inside all bounds.
fn transcendental(i: &Inst, f: Format, a: u64) -> u64 {
    let x = f64::from_bits(soft::convert(a, f, Format::F64, Round::Nearest));
    let v = match i.op {
        Op::Rsqrt => 1.0 / x.sqrt(),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        Op::Lg2 => x.log2(),
        Op::Ex2 => x.exp2(),
        _ => x.tanh(),
    };
    soft::convert(v.to_bits(), Format::F64, f, Round::Nearest)
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

fn extreme(i: &Inst, f: Format, a: [u64; 4]) -> u64 {
    let three = i.src.len() > 2 && !matches!(i.src[2], crate::ir::Src::None);
    let pair = |x: u64, y: u64| {
        if i.words.has(Word::Nan) && (f.is_nan(x) || f.is_nan(y)) {
            return f.nan();
        }
        let absolute = i.words.has(Word::Abs);
        let (p, q) = if absolute { (x & !f.sign(), y & !f.sign()) } else { (x, y) };
        let v = match (f.is_nan(p), f.is_nan(q)) {
            (true, true) => return f.nan(),
            (true, false) => q,
            (false, true) => p,
            _ if (order(p, f) < order(q, f)) == (i.op == Op::Max) => q,
            _ => p,
        };
        if i.words.has(Word::Xorsign) { v | (x ^ y) & f.sign() } else { v }
    };
    if f == Format::F64 && f.is_nan(a[0]) && f.is_nan(a[1]) {
        return quiet(a[1], f);
    }
    let v = pair(a[0], a[1]);
    if three { pair(v, a[2]) } else { v }
}
