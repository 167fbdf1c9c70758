//! Floating-point formats: their bits, and LLVM's types for them.
//!
//! Owns tests of a number's bits: NaN, subnormal, sign. bfloat16, for which targets have no arithmetic, is computed
//! as singles.

use crate::llvm::{Body, Type, Value};
use cushim_ptx::sem::Clamp;
use cushim_ptx::soft::Format;
use cushim_ptx::types::Scalar;

/// The format of a type of numbers; single for others.
pub(super) fn format(ty: Scalar) -> Format {
    match ty {
        Scalar::F16 | Scalar::F16x2 => Format::F16,
        Scalar::Bf16 | Scalar::Bf16x2 => Format::BF16,
        Scalar::F64 => Format::F64,
        _ => Format::F32,
    }
}

/// How many bits a number has.
pub(super) fn width(f: Format) -> u32 {
    1 + f.fraction + f.exponent
}

/// The bits of 1.
pub(super) fn one(f: Format) -> u64 {
    ((1 << (f.exponent - 1)) - 1) << f.fraction
}

fn magnitude(b: &mut Body, v: Value, f: Format) -> Value {
    b.with("and", v, (f.sign() - 1).into())
}

/// Whether bits are a NaN.
pub(super) fn is_nan(b: &mut Body, v: Value, f: Format) -> Value {
    if matches!(f, Format::F32 | Format::F64) {
        let v = number(b, v, f);
        return b.fcmp("uno", v, v);
    }
    let m = magnitude(b, v, f);
    b.icmp_with("ugt", m, f.infinity().into())
}

/// Whether bits are those of a negative number, or of a zero with a sign.
pub(super) fn is_negative(b: &mut Body, v: Value) -> Value {
    b.icmp_with("slt", v, 0)
}

/// A subnormal becomes a zero of its sign.
pub(super) fn flush(b: &mut Body, v: Value, f: Format) -> Value {
    let m = magnitude(b, v, f);
    let small = b.icmp_with("ult", m, 1 << f.fraction);
    let zero = b.with("and", v, f.sign().into());
    b.select(small, zero, v)
}

/// Every NaN becomes the one that NVIDIA's devices give.
pub(super) fn canonical(b: &mut Body, v: Value, f: Format) -> Value {
    let nan = is_nan(b, v, f);
    b.select(nan, Value::int(width(f), f.nan().into()), v)
}

/// `.sat`: into 0 to 1, NaN to 0. `.relu`: negative to 0.
pub(super) fn clamp(b: &mut Body, how: Clamp, v: Value, f: Format) -> Value {
    let zero = Value::int(width(f), 0);
    match how {
        Clamp::None => v,
        Clamp::Unit => {
            let (nan, negative) = (is_nan(b, v, f), is_negative(b, v));
            let none = b.op("or", nan, negative);
            let least = b.same("llvm.umin", &[v, Value::int(width(f), one(f).into())]);
            b.select(none, zero, least)
        }
        Clamp::Relu => {
            let (nan, negative) = (is_nan(b, v, f), is_negative(b, v));
            let number = b.not(nan);
            let none = b.op("and", number, negative);
            b.select(none, zero, v)
        }
    }
}

/// The type that a format is computed in.
pub(super) fn computed(f: Format) -> Type {
    match f {
        Format::F64 => Type::Double,
        Format::F16 => Type::Half,
        _ => Type::Float,
    }
}

/// The number that the bits represent, in the type of the computation.
pub(super) fn number(b: &mut Body, v: Value, f: Format) -> Value {
    let v = b.fit(v, width(f));
    if f == Format::BF16 {
        let v = b.fit(v, 32);
        let v = b.with("shl", v, 16);
        return b.bits_as(v, Type::Float);
    }
    b.bits_as(v, computed(f))
}

/// A number in a wider format, or unchanged.
pub(super) fn widened(b: &mut Body, v: Value, to: Type) -> Value {
    if v.ty == to { v } else { b.cast("fpext", v, to) }
}

/// A number that bits are, as a double.
pub(super) fn double(b: &mut Body, v: Value, f: Format) -> Value {
    let v = number(b, v, f);
    widened(b, v, Type::Double)
}
