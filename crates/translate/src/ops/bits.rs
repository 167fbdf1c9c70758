//! Logic, shifts, fields, permutations.

use super::compare::truth;
use super::out::Out;
use crate::llvm::{Body, Value};
use cushim_ptx::sem::{BitOp, Bits, Logic, Permute};

pub(super) fn eval(b: &mut Body, i: Bits, a: [Value; 5]) -> Out {
    if let BitOp::Lop3 { table, then } = i.op {
        return lop3(b, table, then, a);
    }
    Out(number(b, i, a), None)
}

fn number(b: &mut Body, i: Bits, a: [Value; 5]) -> Value {
    let (bits, signed) = (i.ty.bits(), i.ty.is_signed());
    let (x, y) = (b.fit(a[0], bits), b.fit(a[1], bits));
    let amount = |b: &mut Body, n: Value| b.fit(n, 32);
    match i.op {
        BitOp::And => b.op("and", x, y),
        BitOp::Or => b.op("or", x, y),
        BitOp::Xor => b.op("xor", x, y),
        BitOp::Not => b.not(x),
        BitOp::Cnot => {
            let none = b.icmp_with("eq", x, 0);
            b.fit(none, bits)
        }
        BitOp::Shl => {
            let n = amount(b, a[1]);
            b.shift("shl", x, n)
        }
        BitOp::Shr if signed => {
            let n = amount(b, a[1]);
            let n = b.same("llvm.umin", &[n, Value::int(32, (bits - 1).into())]);
            let n = b.fit(n, bits);
            b.op("ashr", x, n)
        }
        BitOp::Shr => {
            let n = amount(b, a[1]);
            b.shift("lshr", x, n)
        }
        BitOp::Funnel { left, wrap } => funnel(b, left, wrap, a),
        BitOp::Permute(mode) => permute(b, mode, a),
        BitOp::Popc => b.same("llvm.ctpop", &[x]),
        BitOp::Clz => b.intrinsic("llvm.ctlz", &[x.ty], x.ty, &[x], &["i1 false"]),
        BitOp::Brev => b.same("llvm.bitreverse", &[x]),
        BitOp::Bfind { amount } => bfind(b, amount, signed, x),
        BitOp::Fns => fns(b, a),
        BitOp::Bfe => bfe(b, signed, x, a),
        BitOp::Bfi => bfi(b, x, y, a),
        BitOp::Bmsk { wrap } => bmsk(b, wrap, a),
        BitOp::Szext { wrap } => szext(b, wrap, signed, a),
        BitOp::Lop3 { .. } => x,
    }
}

fn funnel(b: &mut Body, left: bool, wrap: bool, a: [Value; 5]) -> Value {
    let [low, high, n] = [a[0], a[1], a[2]].map(|v| b.fit(v, 32));
    let n = match wrap {
        true => b.with("and", n, 31),
        false => b.same("llvm.umin", &[n, Value::int(32, 32)]),
    };
    let [low, high, n] = [low, high, n].map(|v| b.fit(v, 64));
    let high = b.with("shl", high, 32);
    let pair = b.op("or", high, low);
    let moved = b.op(if left { "shl" } else { "lshr" }, pair, n);
    let moved = if left { b.with("lshr", moved, 32) } else { moved };
    b.fit(moved, 32)
}

fn permute(b: &mut Body, mode: Permute, a: [Value; 5]) -> Value {
    let [low, high] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, 32);
        b.fit(v, 64)
    });
    let c = b.fit(a[2], 32);
    let high = b.with("shl", high, 32);
    let pair = b.op("or", high, low);
    let mut out = Value::int(32, 0);
    for n in 0..4u32 {
        let s = selector(b, mode, c, n);
        let by = b.with("and", s, 7);
        let by = b.with("shl", by, 3);
        let by = b.fit(by, 64);
        let byte = b.op("lshr", pair, by);
        let byte = b.fit(byte, 8);
        let byte = if mode == Permute::Any {
            let sign = b.with("ashr", byte, 7);
            let asked = b.with("and", s, 8);
            let asked = b.icmp_with("ne", asked, 0);
            b.select(asked, sign, byte)
        } else {
            byte
        };
        let byte = b.fit(byte, 32);
        let byte = b.with("shl", byte, (8 * n).into());
        out = b.op("or", out, byte);
    }
    out
}

/// Which byte of the pair byte `n` of the result is, in the lowest bits.
fn selector(b: &mut Body, mode: Permute, c: Value, n: u32) -> Value {
    if mode == Permute::Any {
        return b.with("lshr", c, (4 * n).into());
    }
    let k = b.with("and", c, 3);
    let number = Value::int(32, n.into());
    match mode {
        Permute::F4e => b.op("add", k, number),
        Permute::B4e => b.with("add", k, u128::from((8 - n) & 7)),
        Permute::Rc8 | Permute::Any => k,
        Permute::Ecl if n == 3 => number,
        Permute::Ecl => b.same("llvm.umax", &[k, number]),
        Permute::Ecr => b.same("llvm.umin", &[k, number]),
        Permute::Rc16 => {
            let one = b.with("and", k, 1);
            let two = b.with("shl", one, 1);
            b.with("add", two, (n & 1).into())
        }
    }
}

fn bfind(b: &mut Body, amount: bool, signed: bool, x: Value) -> Value {
    let bits = x.ty.bits();
    let v = if signed {
        let sign = b.with("ashr", x, u128::from(bits - 1));
        b.op("xor", x, sign)
    } else {
        x
    };
    let zeros = b.intrinsic("llvm.ctlz", &[v.ty], v.ty, &[v], &["i1 false"]);
    let at = if amount { zeros } else { b.op("sub", Value::int(bits, (bits - 1).into()), zeros) };
    let none = b.icmp_with("eq", v, 0);
    let at = b.fit(at, 32);
    b.select(none, Value::int(32, u128::MAX), at)
}

/// The position of the n-th set bit from a base, upwards or downwards.
fn fns(b: &mut Body, a: [Value; 5]) -> Value {
    let [bits, base, offset] = [a[0], a[1], a[2]].map(|v| b.fit(v, 32));
    let ones = Value::int(32, u128::MAX);
    // Downwards is upwards in the reversed word.
    let down = b.icmp_with("slt", offset, 0);
    let (reversed, mirrored) =
        (b.same("llvm.bitreverse", &[bits]), b.op("sub", Value::int(32, 31), base));
    let word = b.select(down, reversed, bits);
    let from = b.select(down, mirrored, base);
    let above = b.shift("shl", ones, from);
    let mut left = b.op("and", word, above);
    let count = b.intrinsic("llvm.abs", &[offset.ty], offset.ty, &[offset], &["i1 false"]);
    for n in 1..=32 {
        let less = b.with("sub", left, 1);
        let less = b.op("and", left, less);
        let more = b.icmp_with("ugt", count, n);
        left = b.select(more, less, left);
    }
    let at = b.intrinsic("llvm.cttz", &[left.ty], left.ty, &[left], &["i1 false"]);
    let back = b.op("sub", Value::int(32, 31), at);
    let at = b.select(down, back, at);
    let none = b.icmp_with("eq", left, 0);
    let at = b.select(none, ones, at);
    // Without a count, the base itself, if it is set.
    let moved = b.shift("lshr", bits, base);
    let set = b.with("and", moved, 1);
    let set = b.icmp_with("ne", set, 0);
    let same = b.select(set, base, ones);
    let zero = b.icmp_with("eq", offset, 0);
    let at = b.select(zero, same, at);
    let beyond = b.icmp_with("ugt", base, 31);
    b.select(beyond, ones, at)
}

/// A position or length of bits, as `cushim_ptx::alu` has it.
fn field(b: &mut Body, bits: u32, v: Value) -> Value {
    let v = b.fit(v, 32);
    match bits {
        64 => b.same("llvm.umin", &[v, Value::int(32, 255)]),
        _ => b.with("and", v, 0xff),
    }
}

fn bfe(b: &mut Body, signed: bool, x: Value, a: [Value; 5]) -> Value {
    let bits = x.ty.bits();
    let (at, length) = (field(b, bits, a[1]), field(b, bits, a[2]));
    let room = b.same("llvm.usub.sat", &[Value::int(32, bits.into()), at]);
    let n = b.same("llvm.umin", &[length, room]);
    let keep = b.mask(bits, n);
    let moved = b.shift("lshr", x, at);
    let value = b.op("and", moved, keep);
    if !signed {
        return value;
    }
    let last = b.op("add", at, length);
    let last = b.with("sub", last, 1);
    let last = b.same("llvm.umin", &[last, Value::int(32, (bits - 1).into())]);
    let last = b.fit(last, bits);
    let sign = b.op("lshr", x, last);
    let sign = b.fit(sign, 1);
    let some = b.icmp_with("ne", length, 0);
    let sign = b.op("and", sign, some);
    let above = b.not(keep);
    let fill = b.select(sign, above, Value::int(bits, 0));
    b.op("or", value, fill)
}

fn bfi(b: &mut Body, x: Value, y: Value, a: [Value; 5]) -> Value {
    let bits = x.ty.bits();
    let (at, length) = (field(b, bits, a[2]), field(b, bits, a[3]));
    let ones = b.mask(bits, length);
    let place = b.shift("shl", ones, at);
    let moved = b.shift("shl", x, at);
    let inside = b.op("and", moved, place);
    let outside = b.not(place);
    let outside = b.op("and", y, outside);
    b.op("or", inside, outside)
}

fn bmsk(b: &mut Body, wrap: bool, a: [Value; 5]) -> Value {
    let [at, n] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, 32);
        if wrap { b.with("and", v, 31) } else { v }
    });
    let ones = b.mask(32, n);
    b.shift("shl", ones, at)
}

fn szext(b: &mut Body, wrap: bool, signed: bool, a: [Value; 5]) -> Value {
    let (x, size) = (b.fit(a[0], 32), b.fit(a[1], 32));
    let n = b.with("and", size, 31);
    let keep = b.mask(32, n);
    let value = b.op("and", x, keep);
    let value = if signed {
        let last = b.with("sub", n, 1);
        let last = b.with("and", last, 31);
        let sign = b.op("lshr", x, last);
        let sign = b.fit(sign, 1);
        let some = b.icmp_with("ne", n, 0);
        let sign = b.op("and", sign, some);
        let above = b.not(keep);
        let fill = b.select(sign, above, Value::int(32, 0));
        b.op("or", value, fill)
    } else {
        value
    };
    if wrap {
        return value;
    }
    let whole = b.icmp_with("ugt", size, 31);
    b.select(whole, x, value)
}

/// One bit of three, as a table says: chosen by the first, then the second, then the third.
fn lop3(b: &mut Body, table: u8, then: Option<Logic>, a: [Value; 5]) -> Out {
    let [x, y, z] = [a[0], a[1], a[2]].map(|v| b.fit(v, 32));
    let not = b.not(z);
    let leaf = |n: u8| match table >> (2 * n) & 3 {
        0 => Value::int(32, 0),
        1 => not,
        2 => z,
        _ => Value::int(32, u128::MAX),
    };
    let choose = |b: &mut Body, by: Value, one: Value, zero: Value| {
        let changed = b.op("xor", one, zero);
        let changed = b.op("and", changed, by);
        b.op("xor", changed, zero)
    };
    let with = choose(b, y, leaf(3), leaf(2));
    let without = choose(b, y, leaf(1), leaf(0));
    let d = choose(b, x, with, without);
    let any = then.map(|logic| {
        let (some, p) = (b.icmp_with("ne", d, 0), truth(b, a[4]));
        logic_of(b, logic, some, p)
    });
    Out(d, any.or(Some(Value::int(1, 0))))
}

/// Combines two predicates.
pub(super) fn logic_of(b: &mut Body, logic: Logic, x: Value, y: Value) -> Value {
    let name = match logic {
        Logic::And => "and",
        Logic::Or => "or",
        Logic::Xor => "xor",
    };
    b.op(name, x, y)
}
