//! Rounding in directions that the target has no instructions for: conversions to narrower formats, sums of products
//! of singles.
//!
//! Owns the steps from a number that is rounded to nearest to its neighbour. If a value is first computed in a wider
//! format, that format has more than twice the digits, or the value is rounded to odd, so that the second rounding
//! gives the same as a single one.

use super::format::{self, is_nan};
use crate::llvm::{Body, Type, Value};
use cushim_ptx::soft::{Format, Round};

/// Whether a number with that sign is rounded away from zero; `None` to nearest.
pub(super) fn outward(b: &mut Body, round: Round, negative: Value) -> Option<Value> {
    match round {
        Round::Nearest | Round::Away => None,
        Round::Zero => Some(Value::int(1, 0)),
        Round::Down => Some(negative),
        Round::Up => Some(b.not(negative)),
    }
}

/// A single or double rounded once to a format: its bits. The wider number counts as exact.
pub(super) fn narrow(b: &mut Body, v: Value, to: Format, round: Round) -> Value {
    let from = v.ty;
    if to == Format::BF16 {
        let single = if from == Type::Double { odd(b, v) } else { widened_single(b, v) };
        return upper_half(b, single, round);
    }
    let target = format::computed(to);
    if from == target {
        return b.bits_of(v);
    }
    if from.bits() < target.bits() {
        let wide = b.cast("fpext", v, target);
        return b.bits_of(wide);
    }
    let negative = {
        let bits = b.bits_of(v);
        format::is_negative(b, bits)
    };
    let Some(outward) = outward(b, round, negative) else {
        let near = b.cast("fptrunc", v, target);
        return b.bits_of(near);
    };
    // For magnitudes: the nearest, or its neighbour if that lies on the wrong side.
    let m = b.same("llvm.fabs", &[v]);
    let near = b.cast("fptrunc", m, target);
    let back = b.cast("fpext", near, from);
    let (less, more) = (b.fcmp("olt", back, m), b.fcmp("ogt", back, m));
    let bits = b.bits_of(near);
    let (up, down) = (b.with("add", bits, 1), b.with("sub", bits, 1));
    let up = b.select(less, up, bits);
    let down = b.select(more, down, bits);
    let bits = b.select(outward, up, down);
    let width = format::width(to);
    let sign = b.select(negative, Value::int(width, to.sign().into()), Value::int(width, 0));
    b.op("or", bits, sign)
}

fn widened_single(b: &mut Body, v: Value) -> Value {
    format::widened(b, v, Type::Float)
}

/// A double as a single whose last bit says that something was cut off.
fn odd(b: &mut Body, v: Value) -> Value {
    let m = b.same("llvm.fabs", &[v]);
    let near = b.cast("fptrunc", m, Type::Float);
    let back = b.cast("fpext", near, Type::Double);
    let more = b.fcmp("ogt", back, m);
    let exact = b.fcmp("ueq", back, m);
    let bits = b.bits_of(near);
    let below = b.with("sub", bits, 1);
    let cut = b.select(more, below, bits);
    let marked = b.with("or", cut, 1);
    let bits = b.select(exact, bits, marked);
    let whole = b.bits_of(v);
    let sign = b.with("lshr", whole, 32);
    let sign = b.fit(sign, 32);
    let sign = b.with("and", sign, 1 << 31);
    let bits = b.op("or", bits, sign);
    b.bits_as(bits, Type::Float)
}

/// A single as a bfloat16: its upper half, rounded. A NaN stays one.
fn upper_half(b: &mut Body, v: Value, round: Round) -> Value {
    let bits = b.bits_of(v);
    let negative = format::is_negative(b, bits);
    let rest = match outward(b, round, negative) {
        None => {
            let odd = b.with("lshr", bits, 16);
            let odd = b.with("and", odd, 1);
            b.with("add", odd, 0x7fff)
        }
        Some(outward) => b.select(outward, Value::int(32, 0xffff), Value::int(32, 0)),
    };
    let rounded = b.op("add", bits, rest);
    let rounded = b.with("lshr", rounded, 16);
    let rounded = b.fit(rounded, 16);
    let nan = is_nan(b, bits, Format::F32);
    let kept = b.with("lshr", bits, 16);
    let kept = b.fit(kept, 16);
    let kept = b.with("or", kept, 0x40);
    b.select(nan, kept, rounded)
}

/// An integer of 64 bits as a double, rounded to odd: what rounds it again gives what rounding once would have.
pub(super) fn odd_integer(b: &mut Body, magnitude: Value) -> Value {
    // The last bits of numbers of more than 53 bits are truncated into a sticky bit.
    let rest = b.with("and", magnitude, 0x7ff);
    let some = b.icmp_with("ne", rest, 0);
    let mark = b.select(some, Value::int(64, 0x800), Value::int(64, 0));
    let cut = b.with("and", magnitude, !0x7ff);
    let cut = b.op("or", cut, mark);
    let large = b.icmp_with("ugt", magnitude, 1 << 53);
    let v = b.select(large, cut, magnitude);
    b.cast("uitofp", v, Type::Double)
}

/// An integer of 64 bits as a double, in any direction: its bits without a sign.
pub(super) fn directed_integer(
    b: &mut Body,
    magnitude: Value,
    negative: Value,
    round: Round,
) -> Value {
    let Some(outward) = outward(b, round, negative) else {
        let near = b.cast("uitofp", magnitude, Type::Double);
        return b.bits_of(near);
    };
    let ty = magnitude.ty;
    let zeros = b.intrinsic("llvm.ctlz", &[ty], ty, &[magnitude], &["i1 false"]);
    // How many bits are too many, as 53 are kept.
    let n = b.same("llvm.usub.sat", &[Value::int(64, 11), zeros]);
    let kept = b.op("lshr", magnitude, n);
    let back = b.op("shl", kept, n);
    let exact = b.icmp("eq", back, magnitude);
    let inexact = b.not(exact);
    let step = b.op("and", inexact, outward);
    let step = b.fit(step, 64);
    let kept = b.op("add", kept, step);
    let number = b.cast("uitofp", kept, Type::Double);
    let power = b.with("add", n, 1023);
    let power = b.with("shl", power, 52);
    let power = b.bits_as(power, Type::Double);
    let v = b.op("fmul", number, power);
    b.bits_of(v)
}

/// `x * y + z` of singles as a double and what that lacks: `cushim_ptx::alu::fused` explains it.
struct Exact {
    sum: Value,
    rest: Value,
    negative: Value,
}

fn exact(b: &mut Body, [x, y, z]: [Value; 3]) -> Exact {
    let [x, y, z] = [x, y, z].map(|v| b.cast("fpext", v, Type::Double));
    let p = b.op("fmul", x, y);
    let sum = b.op("fadd", p, z);
    let t = b.op("fsub", sum, p);
    let other = b.op("fsub", sum, t);
    let (first, second) = (b.op("fsub", p, other), b.op("fsub", z, t));
    let rest = b.op("fadd", first, second);
    let [p, z] = [p, z].map(|v| b.bits_of(v));
    let either = b.op("or", p, z);
    let negative = format::is_negative(b, either);
    Exact { sum, rest, negative }
}

/// `x * y + z` of singles, in a directed rounding.
pub(super) fn fused(b: &mut Body, operands: [Value; 3], round: Round) -> Value {
    let [x, y, z] = operands;
    match round {
        Round::Up => {
            let (x, z) = (b.fneg(x), b.fneg(z));
            let down = fused_down(b, [x, y, z]);
            b.fneg(down)
        }
        Round::Down => fused_down(b, operands),
        _ => fused_zero(b, operands),
    }
}

fn fused_down(b: &mut Body, operands: [Value; 3]) -> Value {
    let Exact { sum, rest, negative } = exact(b, operands);
    let near = b.cast("fptrunc", sum, Type::Float);
    let back = b.cast("fpext", near, Type::Double);
    let above = b.fcmp("ogt", back, sum);
    let same = b.fcmp("oeq", back, sum);
    let below = b.fcmp("olt", rest, Value::double(0.0));
    let also = b.op("and", same, below);
    let above = b.op("or", above, also);
    let bits = b.bits_of(near);
    let (more, less) = (b.with("add", bits, 1), b.with("sub", bits, 1));
    let minus = format::is_negative(b, bits);
    let step = b.select(minus, more, less);
    let zero = b.fcmp("oeq", near, Value::float(0.0));
    let step = b.select(zero, Value::int(32, 0x8000_0001), step);
    let bits = b.select(above, step, bits);
    // An exact zero: numbers that cancel each other give -0 when rounding down.
    let none = b.select(negative, Value::int(32, 0x8000_0000), Value::int(32, 0));
    let cancelled = b.fcmp("oeq", sum, Value::double(0.0));
    let bits = b.select(cancelled, none, bits);
    b.bits_as(bits, Type::Float)
}

fn fused_zero(b: &mut Body, operands: [Value; 3]) -> Value {
    let Exact { sum, rest, .. } = exact(b, operands);
    let zero = Value::double(0.0);
    let near = b.cast("fptrunc", sum, Type::Float);
    let back = b.cast("fpext", near, Type::Double);
    let minus = b.fcmp("olt", sum, zero);
    let (over, under) = (b.fcmp("ogt", rest, zero), b.fcmp("olt", rest, zero));
    let inward = b.select(minus, over, under);
    let [m, n] = [back, sum].map(|v| b.same("llvm.fabs", &[v]));
    let beyond = b.fcmp("ogt", m, n);
    let same = b.fcmp("oeq", back, sum);
    let also = b.op("and", same, inward);
    let beyond = b.op("or", beyond, also);
    let bits = b.bits_of(near);
    let less = b.with("sub", bits, 1);
    let bits = b.select(beyond, less, bits);
    b.bits_as(bits, Type::Float)
}

/// `x * y + z` of singles as a double that is rounded to odd.
pub(super) fn fused_odd(b: &mut Body, operands: [Value; 3]) -> Value {
    let Exact { sum, rest, .. } = exact(b, operands);
    let zero = Value::double(0.0);
    let off = b.same("llvm.fabs", &[rest]);
    let inexact = b.fcmp("ogt", off, zero);
    let bits = b.bits_of(sum);
    let last = b.fit(bits, 1);
    let even = b.not(last);
    let (up, positive) = (b.fcmp("ogt", rest, zero), b.fcmp("ogt", sum, zero));
    let outward = b.icmp("eq", up, positive);
    let step = b.select(outward, Value::int(64, 1), Value::int(64, u128::MAX));
    let wanted = b.op("and", inexact, even);
    let step = b.select(wanted, step, Value::int(64, 0));
    let bits = b.op("add", bits, step);
    b.bits_as(bits, Type::Double)
}
