//! Floating-point arithmetic.
//!
//! Owns which LLVM instruction gives the exact result, or the replacement if none rounds as required. NaNs of singles
//! and halves are NVIDIA's canonical NaN; a double's NaN has the target's payload.

use super::approx;
use super::directed;
use super::format::{self, clamp, flush, format, is_nan, number};
use super::out::{Missing, halves};
use super::round;
use crate::llvm::{Body, Type, Value};
use cushim_ptx::sem::{Extreme, Float, FloatOp, Precision};
use cushim_ptx::soft::{Format, Round};

/// What `div.approx` takes for infinite: 2^126 and more.
const LARGEST_DIVISOR: f32 = f32::from_bits(0x7e80_0000);

pub(super) fn eval(b: &mut Body, i: Float, a: [Value; 5]) -> Result<Value, Missing> {
    if i.packed { halves(b, a, |b, a| one(b, i, a, true)) } else { one(b, i, a, true) }
}

/// As [`eval`], where a NaN may have any bits.
pub(super) fn with_any_nan(b: &mut Body, i: Float, a: [Value; 5]) -> Result<Value, Missing> {
    one(b, i, a, false)
}

/// `canonical`: NaNs become the one of the format.
fn one(b: &mut Body, i: Float, a: [Value; 5], canonical: bool) -> Result<Value, Missing> {
    use FloatOp::*;
    let f = format(i.ty);
    let a = [a[0], a[1], a[2]].map(|v| {
        let v = b.fit(v, format::width(f));
        if i.flush { flush(b, v, f) } else { v }
    });
    let (sign, rest): (u128, u128) = (f.sign().into(), (f.sign() - 1).into());
    let value = match i.op {
        Copysign => {
            let (s, m) = (b.with("and", a[0], sign), b.with("and", a[1], rest));
            return Ok(b.op("or", s, m));
        }
        Min(how) => return Ok(extreme(b, how, false, f, a, canonical)),
        Max(how) => return Ok(extreme(b, how, true, f, a, canonical)),
        Neg | Abs => {
            let v = if i.op == Neg { b.with("xor", a[0], sign) } else { b.with("and", a[0], rest) };
            if f == Format::F64 {
                // A NaN keeps its sign, and is made quiet.
                let number = b.bits_as(a[0], Type::Double);
                let nan = b.fcmp("uno", number, number);
                let quiet = b.with("or", a[0], 1 << 51);
                return Ok(b.select(nan, quiet, v));
            }
            v
        }
        Rcp(Precision::Approx) | Rsqrt if f == Format::F64 => return Ok(upper(b, i, a[0])),
        Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => function(b, i.op, f, a[0]),
        _ => arithmetic(b, i, f, a)?,
    };
    let kept = f == Format::F64 || !canonical;
    let value = if kept { value } else { format::canonical(b, value, f) };
    let value = if i.flush { flush(b, value, f) } else { value };
    Ok(clamp(b, i.clamp, value, f))
}

/// Sums, products, quotients, roots: their bits.
fn arithmetic(b: &mut Body, i: Float, f: Format, a: [Value; 3]) -> Result<Value, Missing> {
    use FloatOp::*;
    let [x, y, z] = a.map(|v| number(b, v, f));
    if i.round != Round::Nearest {
        return directed(b, i, f, [x, y, z]);
    }
    let v = match i.op {
        Add => b.op("fadd", x, y),
        Sub => b.op("fsub", x, y),
        Mul => b.op("fmul", x, y),
        // A product of bfloat16 is a single, but the sum is to be rounded once.
        Fma if f == Format::BF16 => round::fused_odd(b, [x, y, z]),
        Fma => b.same("llvm.fma", &[x, y, z]),
        Div(how) => quotient(b, how, f, x, y),
        Rcp(_) => b.op("fdiv", constant(f, 1.0), x),
        Sqrt(_) => b.same("llvm.sqrt", &[x]),
        _ => return Err("an operation on numbers"),
    };
    Ok(round::narrow(b, v, f, Round::Nearest))
}

fn quotient(b: &mut Body, how: Precision, f: Format, x: Value, y: Value) -> Value {
    let v = b.op("fdiv", x, y);
    if how != Precision::Approx || f != Format::F32 {
        return v;
    }
    // The reciprocal of larger numbers is zero (ISA, `div.approx`).
    let m = b.same("llvm.fabs", &[y]);
    let large = b.fcmp("ogt", m, Value::float(LARGEST_DIVISOR));
    let zero = b.same("llvm.copysign", &[Value::float(0.0), y]);
    let small = b.op("fmul", x, zero);
    b.select(large, small, v)
}

fn constant(f: Format, v: f64) -> Value {
    if f == Format::F64 { Value::double(v) } else { Value::float(v as f32) }
}

/// Operations that do not round to nearest: of singles, by doubles.
fn directed(b: &mut Body, i: Float, f: Format, [x, y, z]: [Value; 3]) -> Result<Value, Missing> {
    use FloatOp::*;
    if f == Format::F64 {
        return directed_doubles(b, i, [x, y, z]);
    }
    if f != Format::F32 {
        return Err("halves that are not rounded to nearest");
    }
    let one = Value::float(1.0);
    let v = match i.op {
        Add => round::fused(b, [x, one, y], i.round),
        Sub => {
            let y = b.fneg(y);
            round::fused(b, [x, one, y], i.round)
        }
        Mul => {
            let [s, t] = [x, y].map(|v| b.bits_of(v));
            let s = b.op("xor", s, t);
            let s = b.with("and", s, 1 << 31);
            let zero = b.bits_as(s, Type::Float);
            round::fused(b, [x, y, zero], i.round)
        }
        Fma => round::fused(b, [x, y, z], i.round),
        Div(_) | Rcp(_) | Sqrt(_) => {
            let [x, y] = [x, y].map(|v| b.cast("fpext", v, Type::Double));
            let v = match i.op {
                Div(_) => b.op("fdiv", x, y),
                Rcp(_) => b.op("fdiv", Value::double(1.0), x),
                _ => b.same("llvm.sqrt", &[x]),
            };
            return Ok(round::narrow(b, v, f, i.round));
        }
        _ => return Err("an operation that is not rounded to nearest"),
    };
    Ok(b.bits_of(v))
}

/// Operations on doubles that do not round to nearest.
fn directed_doubles(b: &mut Body, i: Float, numbers: [Value; 3]) -> Result<Value, Missing> {
    use FloatOp::*;
    let [x, y, z] = numbers.map(|v| b.bits_of(v));
    let one = Value::int(64, 1f64.to_bits().into());
    Ok(match i.op {
        Add => directed::fused(b, [x, one, y], i.round),
        Sub => {
            let y = b.with("xor", y, 1 << 63);
            directed::fused(b, [x, one, y], i.round)
        }
        Mul => {
            // A zero of the product's sign changes nothing.
            let zero = b.op("xor", x, y);
            let zero = b.with("and", zero, 1 << 63);
            directed::fused(b, [x, y, zero], i.round)
        }
        Fma => directed::fused(b, [x, y, z], i.round),
        Div(_) => directed::quotient(b, [x, y], i.round),
        Rcp(_) => directed::quotient(b, [one, x], i.round),
        Sqrt(_) => directed::root(b, x, i.round),
        _ => return Err("an operation that is not rounded to nearest"),
    })
}

/// The functions with an error bound.
fn function(b: &mut Body, op: FloatOp, f: Format, a: Value) -> Value {
    if op == FloatOp::Rsqrt {
        let x = number(b, a, f);
        let root = b.same("llvm.sqrt", &[x]);
        let v = b.op("fdiv", constant(f, 1.0), root);
        return b.bits_of(v);
    }
    let x = format::double(b, a, f);
    let v = approx::function(b, op, x);
    round::narrow(b, v, f, Round::Nearest)
}

/// `.approx.ftz.f64` looks at the upper half only, and computes no more.
fn upper(b: &mut Body, i: Float, a: Value) -> Value {
    let kept: u128 = if i.flush { 0xffff_ffff_0000_0000 } else { u64::MAX.into() };
    let x = b.with("and", a, kept);
    let x = b.bits_as(x, Type::Double);
    let by = if i.op == FloatOp::Rsqrt { b.same("llvm.sqrt", &[x]) } else { x };
    let v = b.op("fdiv", Value::double(1.0), by);
    let v = b.bits_of(v);
    let nan = is_nan(b, v, Format::F64);
    if !i.flush {
        return b.select(nan, Value::int(64, Format::F64.nan().into()), v);
    }
    let v = b.with("and", v, kept);
    let v = flush(b, v, Format::F64);
    b.select(nan, Value::int(64, 0x7fff_ffff_0000_0000), v)
}

/// Bits in an order in which integers compare as the numbers do.
fn order(b: &mut Body, v: Value, f: Format) -> Value {
    let sign = b.with("ashr", v, u128::from(format::width(f) - 1));
    let turned = b.with("and", sign, (f.sign() - 1).into());
    b.op("xor", v, turned)
}

fn extreme(
    b: &mut Body,
    how: Extreme,
    max: bool,
    f: Format,
    a: [Value; 3],
    canonical: bool,
) -> Value {
    let v = pair(b, how, max, f, [a[0], a[1]], canonical);
    if how.three { pair(b, how, max, f, [v, a[2]], canonical) } else { v }
}

fn pair(
    b: &mut Body,
    how: Extreme,
    max: bool,
    f: Format,
    [x, y]: [Value; 2],
    canonical: bool,
) -> Value {
    let nan = Value::int(format::width(f), f.nan().into());
    let [p, q] = [x, y].map(|v| match how.absolute {
        true => b.with("and", v, (f.sign() - 1).into()),
        false => v,
    });
    let v = match f {
        Format::F32 | Format::F64 => further(b, max, f, p, q),
        _ => {
            let [first, second] = [p, q].map(|v| order(b, v, f));
            let less = b.icmp("slt", first, second);
            if max { b.select(less, q, p) } else { b.select(less, p, q) }
        }
    };
    let [none, also] = [p, q].map(|v| is_nan(b, v, f));
    let v = b.select(none, q, v);
    let v = b.select(also, p, v);
    let v = if how.xorsign {
        let s = b.op("xor", x, y);
        let s = b.with("and", s, f.sign().into());
        b.op("or", v, s)
    } else {
        v
    };
    if !canonical && !how.nan && f != Format::F64 {
        return v;
    }
    let both = b.op(if how.nan { "or" } else { "and" }, none, also);
    // For doubles the second NaN, made quiet.
    let nan = if f == Format::F64 && !how.nan { b.with("or", y, 1 << 51) } else { nan };
    b.select(both, nan, v)
}

/// The larger or the smaller of two numbers, none of them a NaN. Either of two zeros is what one order of the operands gives,
/// so their bits together give the positive or the negative one.
fn further(b: &mut Body, max: bool, f: Format, p: Value, q: Value) -> Value {
    let how = if max { "ogt" } else { "olt" };
    let mut one = |first: Value, second: Value| {
        let [x, y] = [first, second].map(|v| number(b, v, f));
        let holds = b.fcmp(how, x, y);
        let v = b.select(holds, x, y);
        b.bits_of(v)
    };
    let (v, other) = (one(p, q), one(q, p));
    b.op(if max { "and" } else { "or" }, v, other)
}
