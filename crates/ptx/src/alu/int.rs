//! Integers.
//!
//! Values are widened to 128 bits, computed there and truncated: every intermediate value of every PTX integer
//! instruction fits, so no case needs its own overflow rule.

use super::out::{Out, mask};
use crate::sem::{Half, Integer, IntegerOp};
use crate::types::Scalar;

/// The number that bits mean in a type.
pub(super) fn value(bits: u64, ty: Scalar) -> i128 {
    let width = ty.bits();
    let bits = bits & mask(width);
    if ty.is_signed() {
        i128::from((bits << (64 - width)) as i64 >> (64 - width))
    } else {
        i128::from(bits)
    }
}

/// The lowest bits of a number.
pub(super) fn cut(v: i128, bits: u32) -> u64 {
    v as u64 & mask(bits)
}

/// The least and the greatest value of a type.
pub(super) fn range(ty: Scalar) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// The half of a product that `.lo` or `.hi` asks for, unclipped.
fn product(half: Half, ty: Scalar, a: u64, b: u64) -> i128 {
    let p = value(a, ty).wrapping_mul(value(b, ty));
    if half == Half::Low {
        return p;
    }
    if ty.is_signed() { p >> ty.bits() } else { ((p as u128) >> ty.bits()) as i128 }
}

fn product24(half: Half, ty: Scalar, a: u64, b: u64) -> i128 {
    let part = |v: u64| {
        let v = v & 0xff_ffff;
        if ty.is_signed() { i128::from(((v << 40) as i64) >> 40) } else { i128::from(v) }
    };
    let p = part(a) * part(b);
    if half == Half::High { value(cut(p >> 16, 32), ty) } else { value(cut(p, 32), ty) }
}

/// Both results; most have one.
pub(super) fn eval(i: Integer, a: [u64; 5]) -> Out {
    use IntegerOp::*;
    match i.op {
        AddCarry { carry_in } => carry(i.ty, a[0], a[1], if carry_in { a[2] } else { 0 }),
        // A difference is a + !b + 1, so that the flag after it says that nothing was borrowed, and `subc`
        // takes one away where it is clear: an H200 does so, which chains of one kind do not show.
        SubCarry { carry_in } => carry(i.ty, a[0], !a[1], if carry_in { a[2] } else { 1 }),
        MadCarry { half, carry_in } => {
            let p = cut(product(half, i.ty, a[0], a[1]), i.ty.bits());
            carry(i.ty, p, a[2], if carry_in { a[3] } else { 0 })
        }
        _ if i.packed => {
            let low = number(i, a.map(|v| v & 0xffff)) & 0xffff;
            Out(low | (number(i, a.map(|v| v >> 16 & 0xffff)) & 0xffff) << 16, 0)
        }
        _ => Out(number(i, a), 0),
    }
}

/// Every instruction with a carry is one sum, whose carry is CC.CF.
fn carry(ty: Scalar, x: u64, y: u64, carry: u64) -> Out {
    let m = mask(ty.bits());
    let full = i128::from(x & m) + i128::from(y & m) + i128::from(carry & 1);
    Out(cut(full, ty.bits()), u64::from(full >> ty.bits() != 0))
}

fn number(i: Integer, a: [u64; 5]) -> u64 {
    use IntegerOp::*;
    let (ty, bits) = (i.ty, i.ty.bits());
    let v = |n: usize| value(a[n], ty);
    let clip = |saturate: bool, x: i128| {
        let (low, high) = range(ty);
        if saturate { x.clamp(low, high) } else { x }
    };
    let above = |relu: bool, x: i128| if relu { x.max(0) } else { x };
    let result = match i.op {
        Add { saturate } => clip(saturate, v(0) + v(1)),
        Sub { saturate } => clip(saturate, v(0) - v(1)),
        Mul(half) => product(half, ty, a[0], a[1]),
        Mad { half, saturate } => {
            clip(saturate, value(cut(product(half, ty, a[0], a[1]), bits), ty) + v(2))
        }
        MulWide => return cut(v(0) * v(1), bits * 2),
        MadWide => return cut((v(0) * v(1)).wrapping_add(i128::from(a[2])), bits * 2),
        Mul24(half) => product24(half, ty, a[0], a[1]),
        Mad24 { half, saturate } => clip(saturate, product24(half, ty, a[0], a[1]) + v(2)),
        Sad => v(2) + (v(0) - v(1)).abs(),
        // The ISA leaves division by zero open; an H100 gives all ones for both.
        Div => v(0).checked_div(v(1)).unwrap_or(-1),
        Rem => v(0).checked_rem(v(1)).unwrap_or(-1),
        Abs => v(0).abs(),
        Neg => -v(0),
        Min { relu } => above(relu, v(0).min(v(1))),
        Max { relu } => above(relu, v(0).max(v(1))),
        Dot4 { signed } => return dot(signed, false, a, 4),
        Dot2 { signed, upper } => return dot(signed, upper, a, 2),
        AddCarry { .. } | SubCarry { .. } | MadCarry { .. } => 0,
    };
    cut(result, bits)
}

fn dot([sa, sb]: [bool; 2], upper: bool, a: [u64; 5], n: u32) -> u64 {
    let byte = |v: u64, k: u32, signed: bool| {
        let b = (v >> (8 * k)) as u8;
        if signed { i64::from(b as i8) } else { i64::from(b) }
    };
    let mut sum = a[2] as u32 as i32 as i64;
    for k in 0..n {
        let x = if n == 4 {
            byte(a[0], k, sa)
        } else {
            let h = (a[0] >> (16 * k)) as u16;
            if sa { i64::from(h as i16) } else { i64::from(h) }
        };
        let from = if upper { 2 } else { 0 };
        sum = sum.wrapping_add(x * byte(a[1], k + from, sb));
    }
    sum as u64 & 0xffff_ffff
}
