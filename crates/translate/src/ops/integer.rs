//! Integer arithmetic.
//!
//! Owns what LLVM's instructions leave open: division by zero, the quotient that does not fit.

use super::out::{Missing, Out, halves};
use crate::llvm::{Body, Value};
use cushim_ptx::sem::{Half, Integer, IntegerOp};

pub(super) fn eval(b: &mut Body, i: Integer, a: [Value; 5]) -> Out {
    use IntegerOp::*;
    let bits = i.ty.bits();
    let carry = |b: &mut Body, given: bool, c: Value, none: u128| {
        if given { b.fit(c, 1) } else { Value::int(1, none) }
    };
    match i.op {
        AddCarry { carry_in } => {
            let (x, y) = (b.fit(a[0], bits), b.fit(a[1], bits));
            let c = carry(b, carry_in, a[2], 0);
            sum(b, x, y, c)
        }
        // A difference is a + !b + 1, as `cushim_ptx::alu` has it.
        SubCarry { carry_in } => {
            let (x, y) = (b.fit(a[0], bits), b.fit(a[1], bits));
            let (y, c) = (b.not(y), carry(b, carry_in, a[2], 1));
            sum(b, x, y, c)
        }
        MadCarry { half, carry_in } => {
            let (x, y) = (product(b, i, half, a), b.fit(a[2], bits));
            let c = carry(b, carry_in, a[3], 0);
            sum(b, x, y, c)
        }
        _ if i.packed => {
            let both = halves(b, a, |b, a| Ok::<_, Missing>(number(b, i, a)));
            Out(both.unwrap_or(Value::int(32, 0)), None)
        }
        _ => Out(number(b, i, a), None),
    }
}

/// A sum with a carry, and the carry of it.
fn sum(b: &mut Body, x: Value, y: Value, carry: Value) -> Out {
    let bits = x.ty.bits();
    let [x, y, c] = [x, y, carry].map(|v| b.fit(v, bits * 2));
    let whole = b.op("add", x, y);
    let whole = b.op("add", whole, c);
    let above = b.with("lshr", whole, bits.into());
    Out(b.fit(whole, bits), Some(b.fit(above, 1)))
}

/// The half of a product that `.lo` or `.hi` asks for.
fn product(b: &mut Body, i: Integer, half: Half, a: [Value; 5]) -> Value {
    let bits = i.ty.bits();
    let (x, y) = (b.fit(a[0], bits), b.fit(a[1], bits));
    match half {
        Half::Low => b.op("mul", x, y),
        Half::High => {
            let whole = wide(b, i, a);
            let above = b.with("lshr", whole, bits.into());
            b.fit(above, bits)
        }
    }
}

/// The whole product.
fn wide(b: &mut Body, i: Integer, a: [Value; 5]) -> Value {
    let bits = i.ty.bits();
    let [x, y] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, bits);
        b.extended(v, bits * 2, i.ty.is_signed())
    });
    b.op("mul", x, y)
}

fn product24(b: &mut Body, half: Half, signed: bool, a: [Value; 5]) -> Value {
    let [x, y] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, 24);
        b.extended(v, 64, signed)
    });
    let whole = b.op("mul", x, y);
    let at = if half == Half::High { b.with("lshr", whole, 16) } else { whole };
    b.fit(at, 32)
}

fn plus(b: &mut Body, signed: bool, saturate: bool, x: Value, y: Value) -> Value {
    match (saturate, signed) {
        (false, _) => b.op("add", x, y),
        (true, true) => b.same("llvm.sadd.sat", &[x, y]),
        (true, false) => b.same("llvm.uadd.sat", &[x, y]),
    }
}

fn number(b: &mut Body, i: Integer, a: [Value; 5]) -> Value {
    use IntegerOp::*;
    let (bits, signed) = (i.ty.bits(), i.ty.is_signed());
    let zero = Value::int(bits, 0);
    if let Dot4 { signed } = i.op {
        return dot(b, signed, false, a, 4);
    }
    if let Dot2 { signed, upper } = i.op {
        return dot(b, signed, upper, a, 2);
    }
    let [x, y, z] = [a[0], a[1], a[2]].map(|v| b.fit(v, bits));
    let above = |b: &mut Body, relu: bool, v: Value| {
        if relu { b.same("llvm.smax", &[v, zero]) } else { v }
    };
    let (least, most) =
        if signed { ("llvm.smin", "llvm.smax") } else { ("llvm.umin", "llvm.umax") };
    match i.op {
        Add { saturate } => plus(b, signed, saturate, x, y),
        Sub { saturate: false } => b.op("sub", x, y),
        Sub { saturate: true } => {
            b.same(if signed { "llvm.ssub.sat" } else { "llvm.usub.sat" }, &[x, y])
        }
        Mul(half) => product(b, i, half, a),
        Mad { half, saturate } => {
            let p = product(b, i, half, a);
            plus(b, signed, saturate, p, z)
        }
        MulWide => wide(b, i, a),
        MadWide => {
            let (p, z) = (wide(b, i, a), b.fit(a[2], bits * 2));
            b.op("add", p, z)
        }
        Mul24(half) => product24(b, half, signed, a),
        Mad24 { half, saturate } => {
            let p = product24(b, half, signed, a);
            plus(b, signed, saturate, p, z)
        }
        Sad => {
            let (low, high) = (b.same(least, &[x, y]), b.same(most, &[x, y]));
            let apart = b.op("sub", high, low);
            b.op("add", apart, z)
        }
        Div | Rem => divided(b, i, x, y),
        Abs => b.intrinsic("llvm.abs", &[x.ty], x.ty, &[x], &["i1 false"]),
        Neg => b.op("sub", zero, x),
        Min { relu } => {
            let v = b.same(least, &[x, y]);
            above(b, relu, v)
        }
        Max { relu } => {
            let v = b.same(most, &[x, y]);
            above(b, relu, v)
        }
        Dot4 { .. } | Dot2 { .. } | AddCarry { .. } | SubCarry { .. } | MadCarry { .. } => zero,
    }
}

/// A quotient or remainder: all ones by zero, and no overflow, which LLVM leaves undefined.
fn divided(b: &mut Body, i: Integer, x: Value, y: Value) -> Value {
    let bits = i.ty.bits();
    let (one, ones) = (Value::int(bits, 1), Value::int(bits, u128::MAX));
    let (quotient, signed) = (i.op == IntegerOp::Div, i.ty.is_signed());
    let none = b.icmp_with("eq", y, 0);
    let minus = b.icmp_with("eq", y, u128::MAX);
    let bad = if signed { b.op("or", none, minus) } else { none };
    let by = b.select(bad, one, y);
    let name = match (quotient, signed) {
        (true, true) => "sdiv",
        (true, false) => "udiv",
        (false, true) => "srem",
        (false, false) => "urem",
    };
    let v = b.op(name, x, by);
    let v = if quotient && signed {
        let negated = b.op("sub", Value::int(bits, 0), x);
        b.select(minus, negated, v)
    } else {
        v
    };
    b.select(none, ones, v)
}

fn dot(b: &mut Body, signed: [bool; 2], upper: bool, a: [Value; 5], n: u32) -> Value {
    let part = |b: &mut Body, v: Value, bits: u32, k: u32, signed: bool| {
        let v = b.fit(v, 32);
        let v = b.with("lshr", v, (bits * k).into());
        let v = b.fit(v, bits);
        b.extended(v, 32, signed)
    };
    let mut sum = b.fit(a[2], 32);
    for k in 0..n {
        let x = part(b, a[0], if n == 4 { 8 } else { 16 }, k, signed[0]);
        let y = part(b, a[1], 8, k + if upper { 2 } else { 0 }, signed[1]);
        let p = b.op("mul", x, y);
        sum = b.op("add", sum, p);
    }
    sum
}
