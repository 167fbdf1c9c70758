//! Comparison and selection.

use super::float::{flush, format};
use super::out::{Out, mask};
use crate::sem::{Compare, Compared, FloatClass, Selector, Set, Test};
use crate::soft::Format;
use crate::types::Scalar;
use std::cmp::Ordering;

/// `setp`: whether it holds, and the contrary; of halves, of the lower and of the upper.
pub(super) fn compare(i: Compare, a: [u64; 5]) -> Out {
    let (first, second) = if i.packed {
        (holds(i, a[0] & 0xffff, a[1] & 0xffff), holds(i, a[0] >> 16, a[1] >> 16))
    } else {
        let c = holds(i, a[0], a[1]);
        (c, !c)
    };
    Out(combine(i, first, a[2]).into(), combine(i, second, a[2]).into())
}

pub(super) fn set(i: Set, a: [u64; 5]) -> u64 {
    let Out(first, second) = compare(i.compare, a);
    if !i.compare.packed {
        return truth(i.truth, first);
    }
    truth(i.truth, first) & 0xffff | (truth(i.truth, second) & 0xffff) << 16
}

/// `slct`.
pub(super) fn select_by_sign(by: Selector, a: [u64; 5]) -> u64 {
    let yes = match by {
        Selector::Integer => (a[2] as u32 as i32) >= 0,
        Selector::Single { flush: ftz } => {
            let c = if ftz { flush(a[2], Format::F32) } else { a[2] };
            f32::from_bits(c as u32) >= 0.0
        }
    };
    if yes { a[0] } else { a[1] }
}

pub(super) fn test(i: Test, a: u64) -> bool {
    let f = format(i.ty);
    let a = a & (f.sign() | (f.sign() - 1));
    let finite = !f.is_nan(a) && !f.is_infinite(a);
    match i.is {
        FloatClass::Finite => finite,
        FloatClass::Infinite => f.is_infinite(a),
        FloatClass::Number => !f.is_nan(a),
        FloatClass::NotANumber => f.is_nan(a),
        // ISA, `testp`: zeros are considered normal.
        FloatClass::Normal => finite && !f.is_subnormal(a),
        FloatClass::Subnormal => f.is_subnormal(a),
    }
}

/// What `set` writes for true: all ones, or 1.0.
fn truth(ty: Scalar, v: u64) -> u64 {
    let yes = match ty {
        Scalar::F32 => u64::from(1f32.to_bits()),
        Scalar::F16 | Scalar::F16x2 => 0x3c00,
        Scalar::Bf16 | Scalar::Bf16x2 => 0x3f80,
        _ => mask(ty.bits()),
    };
    if v != 0 { yes } else { 0 }
}

/// Combines the result with the predicate operand, if there is one.
fn combine(i: Compare, c: bool, p: u64) -> bool {
    i.then.map_or(c, |logic| logic.apply(c, p != 0))
}

fn holds(i: Compare, a: u64, b: u64) -> bool {
    i.holds.holds(match i.of {
        Compared::Integers { bits, signed } => {
            let up = |v: u64| v << (64 - bits);
            let (a, b) = (up(a), up(b));
            Some(if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) })
        }
        Compared::Floats { ty, flush: ftz } => numbers(format(ty), ftz, a, b),
    })
}

fn numbers(f: Format, ftz: bool, a: u64, b: u64) -> Option<Ordering> {
    let cut = |v: u64| {
        let v = v & (f.sign() | (f.sign() - 1));
        if ftz { flush(v, f) } else { v }
    };
    let (a, b) = (cut(a), cut(b));
    let key = |v: u64| {
        let m = (v & (f.sign() - 1)) as i64;
        if v & f.sign() != 0 { -m } else { m }
    };
    (!f.is_nan(a) && !f.is_nan(b)).then(|| key(a).cmp(&key(b)))
}
