//! Video instructions: of a part of each word, and of words as two or four parts.
//!
//! Owns intermediate results: 34 bits for one part, stored in 64, as [`cushim_ptx::alu`] explains; 128 for `vmad`.

use super::compare::integers;
use super::out::Missing;
use crate::llvm::{Body, Value};
use cushim_ptx::alu::Selectors;
use cushim_ptx::sem::{Then, Video, VideoOp};

pub(super) fn eval(b: &mut Body, i: Video, a: [Value; 5]) -> Result<Value, Missing> {
    let bits = a[3].constant().ok_or("selectors of a video instruction in a register")?;
    Ok(match Selectors::of(bits as u64) {
        Selectors::Scalar { to, from, negated } => match i.op {
            VideoOp::Mad { plus_one, shift } => mad(b, i, a, from, negated, (plus_one, shift)),
            _ => scalar(b, i, a, to, from),
        },
        Selectors::Simd { parts, mask, from } => simd(b, i, a, parts, mask, from),
    })
}

/// The position of a part in its word: first bit, number of bits.
fn place(part: u8) -> (u32, u32) {
    match part {
        1..=4 => (8 * (u32::from(part) - 1), 8),
        5 | 6 => (16 * (u32::from(part) - 5), 16),
        _ => (0, 32),
    }
}

/// The number that bits of a word are, in 64 bits.
fn number(b: &mut Body, v: Value, at: u32, bits: u32, signed: bool) -> Value {
    let v = b.with("lshr", v, at.into());
    let v = b.fit(v, bits);
    b.extended(v, 64, signed)
}

fn part(b: &mut Body, v: Value, part: u8, signed: bool) -> Value {
    let (at, bits) = place(part);
    let v = b.fit(v, 32);
    number(b, v, at, bits, signed)
}

fn clamp(b: &mut Body, v: Value, bits: u32, signed: bool) -> Value {
    let (least, most) = match signed {
        true => ((-(1i128 << (bits - 1))) as u128, (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    let width = v.ty.bits();
    let v = b.same("llvm.smax", &[v, Value::int(width, least)]);
    b.same("llvm.smin", &[v, Value::int(width, most)])
}

/// What an instruction does with two numbers of 64 bits.
fn compute(b: &mut Body, i: Video, x: Value, y: Value) -> Value {
    let amount = |b: &mut Body, wrap: bool| match wrap {
        true => b.with("and", y, 31),
        false => b.same("llvm.umin", &[y, Value::int(64, 32)]),
    };
    match i.op {
        VideoOp::Add => b.op("add", x, y),
        VideoOp::Sub => b.op("sub", x, y),
        VideoOp::AbsoluteDifference => {
            let d = b.op("sub", x, y);
            b.intrinsic("llvm.abs", &[d.ty], d.ty, &[d], &["i1 false"])
        }
        VideoOp::Min => b.same("llvm.smin", &[x, y]),
        VideoOp::Max => b.same("llvm.smax", &[x, y]),
        VideoOp::Shl { wrap } => {
            let n = amount(b, wrap);
            b.op("shl", x, n)
        }
        VideoOp::Shr { wrap } => {
            let n = amount(b, wrap);
            b.op("ashr", x, n)
        }
        VideoOp::Average => {
            let sum = b.op("add", x, y);
            let more = b.icmp_with("sge", sum, 0);
            let more = b.fit(more, 64);
            let sum = b.op("add", sum, more);
            b.with("ashr", sum, 1)
        }
        VideoOp::Compare(outcomes) => {
            let c = integers(b, outcomes, true, x, y);
            b.fit(c, 64)
        }
        VideoOp::Mad { .. } => b.op("mul", x, y),
    }
}

fn scalar(b: &mut Body, i: Video, a: [Value; 5], to: u8, from: [u8; 2]) -> Value {
    let x = part(b, a[0], from[0], i.signed[1]);
    let y = part(b, a[1], from[1], i.signed[2]);
    let (at, bits) = place(to);
    let [signed, first, _] = i.signed;
    let v = compute(b, i, x, y);
    let v = b.fit(v, 34);
    let v = b.signed(v, 64);
    let v = if i.saturate { clamp(b, v, bits, signed) } else { v };
    let compared = signed || matches!(i.op, VideoOp::Compare(_)) && first;
    let cut = b.fit(v, 34);
    let wide = b.extended(cut, 64, compared);
    let c = b.fit(a[2], 32);
    let third = b.extended(c, 64, compared);
    let v = match i.then {
        Some(Then::Add) => b.op("add", v, third),
        Some(Then::Min) => b.same("llvm.smin", &[wide, third]),
        Some(Then::Max) => b.same("llvm.smax", &[wide, third]),
        None if to == 0 => v,
        None => {
            let v = b.fit(v, 32);
            return placed(b, v, c, at, bits);
        }
    };
    b.fit(v, 32)
}

/// A part of a word replaced.
fn placed(b: &mut Body, v: Value, word: Value, at: u32, bits: u32) -> Value {
    let part: u128 = ((1 << bits) - 1) << at;
    let v = b.with("shl", v, at.into());
    let v = b.with("and", v, part);
    let rest = b.with("and", word, !part);
    b.op("or", v, rest)
}

/// `vmad`: the product or the summand may be negated.
fn mad(
    b: &mut Body,
    i: Video,
    a: [Value; 5],
    from: [u8; 2],
    negated: u8,
    (plus_one, shift): (bool, u8),
) -> Value {
    let x = part(b, a[0], from[0], i.signed[1]);
    let y = part(b, a[1], from[1], i.signed[2]);
    let (x, y) = (b.signed(x, 128), b.signed(y, 128));
    let product_negated = (negated ^ negated >> 1) & 1 != 0;
    let third_negated = negated & 4 != 0;
    let signed = i.signed[1] || i.signed[2] || product_negated || third_negated;
    let zero = Value::int(128, 0);
    let p = b.op("mul", x, y);
    let p = if product_negated { b.op("sub", zero, p) } else { p };
    let c = b.fit(a[2], 32);
    let third = if third_negated {
        let c = b.not(c);
        let c = b.extended(c, 128, signed);
        b.with("add", c, 1)
    } else {
        b.extended(c, 128, signed)
    };
    let sum = b.op("add", p, third);
    let sum = b.with("add", sum, plus_one.into());
    let v = b.with("ashr", sum, shift.into());
    let v = if i.saturate { clamp(b, v, 32, signed) } else { v };
    b.fit(v, 32)
}

fn simd(b: &mut Body, i: Video, a: [Value; 5], parts: u8, mask: u8, from: [[u8; 4]; 2]) -> Value {
    let bits = 32 / u32::from(parts.max(1));
    let [low, high] = [a[0], a[1]].map(|v| {
        let v = b.fit(v, 32);
        b.fit(v, 64)
    });
    let high = b.with("shl", high, 32);
    let pair = b.op("or", low, high);
    let mut result = b.fit(a[2], 32);
    for k in (0..usize::from(parts)).filter(|k| mask >> k & 1 != 0) {
        let mut part = |of: [u8; 4], signed| {
            let from = of.get(k).copied().map_or(0, u32::from);
            number(b, pair, bits * from, bits, signed)
        };
        let (x, y) = (part(from[0], i.signed[1]), part(from[1], i.signed[2]));
        let v = compute(b, i, x, y);
        let v = if i.saturate { clamp(b, v, bits, i.signed[0]) } else { v };
        let v = b.fit(v, 32);
        result = match i.then {
            Some(Then::Add) => b.op("add", result, v),
            _ => placed(b, v, result, bits * k as u32, bits),
        };
    }
    result
}
