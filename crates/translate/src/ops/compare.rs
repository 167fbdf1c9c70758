//! Comparison and selection.

use super::bits::logic_of;
use super::format::{flush, format, is_nan, number, width};
use super::out::Out;
use crate::llvm::{Body, Type, Value};
use cushim_ptx::sem::{Compare, Compared, FloatClass, Outcomes, Selector, Set, Test};
use cushim_ptx::soft::Format;
use cushim_ptx::types::Scalar;

/// A value as a predicate: whether it is not 0.
pub(super) fn truth(b: &mut Body, v: Value) -> Value {
    if v.ty == Type::Int(1) { v } else { b.icmp_with("ne", v, 0) }
}

/// `setp`: whether it holds, and the contrary; of halves, of the lower and of the upper.
pub(super) fn compare(b: &mut Body, i: Compare, a: [Value; 5]) -> Out {
    let (first, second) = both(b, i, a);
    Out(combine(b, i, first, a[2]), Some(combine(b, i, second, a[2])))
}

fn both(b: &mut Body, i: Compare, a: [Value; 5]) -> (Value, Value) {
    if !i.packed {
        let c = holds(b, i, a[0], a[1]);
        return (c, b.not(c));
    }
    let low = holds(b, i, a[0], a[1]);
    let [x, y] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, 32);
        b.with("lshr", v, 16)
    });
    (low, holds(b, i, x, y))
}

pub(super) fn set(b: &mut Body, i: Set, a: [Value; 5]) -> Value {
    let (first, second) = both(b, i.compare, a);
    let first = combine(b, i.compare, first, a[2]);
    let first = written(b, i.truth, first);
    if !i.compare.packed {
        return first;
    }
    let second = combine(b, i.compare, second, a[2]);
    let second = written(b, i.truth, second);
    super::out::pair(b, first, second)
}

/// `slct`.
pub(super) fn select_by_sign(b: &mut Body, by: Selector, to: u32, a: [Value; 5]) -> Value {
    let c = b.fit(a[2], 32);
    let yes = match by {
        Selector::Integer => b.icmp_with("sge", c, 0),
        Selector::Single { flush: ftz } => {
            let c = if ftz { flush(b, c, Format::F32) } else { c };
            let c = b.bits_as(c, Type::Float);
            b.fcmp("oge", c, Value::float(0.0))
        }
    };
    let (x, y) = (b.fit(a[0], to), b.fit(a[1], to));
    b.select(yes, x, y)
}

pub(super) fn test(b: &mut Body, i: Test, a: Value) -> Value {
    let f = format(i.ty);
    let a = b.fit(a, width(f));
    let m = b.with("and", a, (f.sign() - 1).into());
    let infinity = f.infinity().into();
    match i.is {
        FloatClass::Finite => b.icmp_with("ult", m, infinity),
        FloatClass::Infinite => b.icmp_with("eq", m, infinity),
        FloatClass::Number => b.icmp_with("ule", m, infinity),
        FloatClass::NotANumber => is_nan(b, a, f),
        FloatClass::Normal | FloatClass::Subnormal => {
            let (some, small) = (b.icmp_with("ne", m, 0), b.icmp_with("ult", m, 1 << f.fraction));
            let subnormal = b.op("and", some, small);
            if i.is == FloatClass::Subnormal {
                return subnormal;
            }
            // ISA, `testp`: zeros are considered normal.
            let (finite, other) = (b.icmp_with("ult", m, infinity), b.not(subnormal));
            b.op("and", finite, other)
        }
    }
}

/// What `set` writes for true: all ones, or 1.0.
fn written(b: &mut Body, ty: Scalar, v: Value) -> Value {
    let (bits, yes) = match ty {
        Scalar::F32 => (32, 1f32.to_bits().into()),
        Scalar::F16 | Scalar::F16x2 => (16, 0x3c00),
        Scalar::Bf16 | Scalar::Bf16x2 => (16, 0x3f80),
        _ => (ty.bits(), u128::MAX),
    };
    b.select(v, Value::int(bits, yes), Value::int(bits, 0))
}

/// Combines the result with the predicate operand, if there is one.
fn combine(b: &mut Body, i: Compare, c: Value, p: Value) -> Value {
    let Some(logic) = i.then else { return c };
    let p = truth(b, p);
    logic_of(b, logic, c, p)
}

fn holds(b: &mut Body, i: Compare, x: Value, y: Value) -> Value {
    match i.of {
        Compared::Integers { bits, signed } => {
            let (x, y) = (b.fit(x, bits), b.fit(y, bits));
            integers(b, i.holds, signed, x, y)
        }
        Compared::Floats { ty, flush: ftz } => {
            let f = format(ty);
            let [x, y] = [x, y].map(|v| {
                let v = b.fit(v, width(f));
                let v = if ftz { flush(b, v, f) } else { v };
                number(b, v, f)
            });
            b.fcmp(FLOATS.get(usize::from(i.holds.0 & 15)).unwrap_or(&"false"), x, y)
        }
    }
}

/// By the outcomes for which they hold: less 1, equal 2, greater 4, unordered 8.
const FLOATS: [&str; 16] = [
    "false", "olt", "oeq", "ole", "ogt", "one", "oge", "ord", "uno", "ult", "ueq", "ule", "ugt",
    "une", "uge", "true",
];

/// A comparison of integers by the outcomes for which it holds.
pub fn integers(b: &mut Body, holds: Outcomes, signed: bool, x: Value, y: Value) -> Value {
    let name = match (holds.0 & 7, signed) {
        (0, _) => return Value::int(1, 0),
        (1, true) => "slt",
        (1, false) => "ult",
        (2, _) => "eq",
        (3, true) => "sle",
        (3, false) => "ule",
        (4, true) => "sgt",
        (4, false) => "ugt",
        (5, _) => "ne",
        (6, true) => "sge",
        (6, false) => "uge",
        _ => return Value::int(1, 1),
    };
    b.icmp(name, x, y)
}
