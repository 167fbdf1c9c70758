//! Comparison and selection.

use super::float::{flush, format};
use super::int::value;
use super::{Out, half_type, mask};
use crate::ir::Inst;
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};
use std::cmp::Ordering;

const COMPARISONS: [Word; 18] = [
    Word::Eq,
    Word::Ne,
    Word::Lt,
    Word::Le,
    Word::Gt,
    Word::Ge,
    Word::Lo,
    Word::Ls,
    Word::Hi,
    Word::Hs,
    Word::Equ,
    Word::Neu,
    Word::Ltu,
    Word::Leu,
    Word::Gtu,
    Word::Geu,
    Word::Num,
    Word::CmpNan,
];

pub(super) fn eval(i: &Inst, a: [u64; 4]) -> Out {
    match i.op {
        Op::Setp => {
            let ty = i.types[0];
            if ty.kind() == Kind::Packed {
                let half = half_type(ty);
                let low = compare(i, half, a[0] & 0xffff, a[1] & 0xffff);
                let high = compare(i, half, a[0] >> 16 & 0xffff, a[1] >> 16 & 0xffff);
                return Out(combine(i, low, a[2]), combine(i, high, a[2]));
            }
            let c = compare(i, ty, a[0], a[1]);
            Out(combine(i, c, a[2]), combine(i, !c, a[2]))
        }
        Op::Set => {
            let (d, s) = (i.types[0], i.types[1]);
            if s.kind() == Kind::Packed {
                let half = half_type(s);
                let low = combine(i, compare(i, half, a[0] & 0xffff, a[1] & 0xffff), a[2]);
                let high = combine(i, compare(i, half, a[0] >> 16, a[1] >> 16), a[2]);
                let part = half_type(d);
                let (l, h) = (truth(part, low) & 0xffff, truth(part, high) & 0xffff);
                return Out(l | h << 16, 0);
            }
            Out(truth(d, combine(i, compare(i, s, a[0], a[1]), a[2])), 0)
        }
        Op::Selp => Out(if a[2] != 0 { a[0] } else { a[1] }, 0),
        Op::Slct => {
            let yes = if i.types[1] == Scalar::F32 {
                let c =
                    if i.words.has(Word::Ftz) { flush(a[2], format(Scalar::F32)) } else { a[2] };
                f32::from_bits(c as u32) >= 0.0
            } else {
                (a[2] as u32 as i32) >= 0
            };
            Out(if yes { a[0] } else { a[1] }, 0)
        }
        _ => Out(u64::from(testp(i, a[0])), 0),
    }
}

/// What `set` writes for true: all ones, or 1.0.
fn truth(ty: Scalar, v: u64) -> u64 {
    let yes = match ty {
        Scalar::F32 => u64::from(1f32.to_bits()),
        Scalar::F16 => 0x3c00,
        Scalar::Bf16 => 0x3f80,
        _ => mask(ty.bits()),
    };
    if v != 0 { yes } else { 0 }
}

/// The boolean operation with the predicate operand, if one is asked for.
fn combine(i: &Inst, c: bool, p: u64) -> u64 {
    let p = p != 0;
    u64::from(match i.words.first(&[Word::And, Word::Or, Word::Xor]) {
        Some(Word::And) => c && p,
        Some(Word::Or) => c || p,
        Some(_) => c != p,
        None => c,
    })
}

fn compare(i: &Inst, ty: Scalar, a: u64, b: u64) -> bool {
    let word = i.words.first(&COMPARISONS).unwrap_or(Word::Eq);
    let (order, unsigned) = if ty.kind() == Kind::Float {
        let f = format(ty);
        let cut = |v: u64| {
            let v = v & (f.sign() | (f.sign() - 1));
            if i.words.has(Word::Ftz) { flush(v, f) } else { v }
        };
        let (a, b) = (cut(a), cut(b));
        let key = |v: u64| {
            let m = (v & (f.sign() - 1)) as i64;
            if v & f.sign() != 0 { -m } else { m }
        };
        let known = !f.is_nan(a) && !f.is_nan(b);
        (known.then(|| key(a).cmp(&key(b))), None)
    } else {
        let m = mask(ty.bits());
        (Some(value(a, ty).cmp(&value(b, ty))), Some((a & m).cmp(&(b & m))))
    };
    let is = |o: &[Ordering]| order.is_some_and(|x| o.contains(&x));
    let or_nan = |o: &[Ordering]| order.is_none_or(|x| o.contains(&x));
    let bits = |o: &[Ordering]| unsigned.is_some_and(|x| o.contains(&x));
    use Ordering::{Equal, Greater, Less};
    match word {
        Word::Eq => is(&[Equal]),
        Word::Ne => is(&[Less, Greater]),
        Word::Lt => is(&[Less]),
        Word::Le => is(&[Less, Equal]),
        Word::Gt => is(&[Greater]),
        Word::Ge => is(&[Greater, Equal]),
        Word::Lo => bits(&[Less]),
        Word::Ls => bits(&[Less, Equal]),
        Word::Hi => bits(&[Greater]),
        Word::Hs => bits(&[Greater, Equal]),
        Word::Equ => or_nan(&[Equal]),
        Word::Neu => or_nan(&[Less, Greater]),
        Word::Ltu => or_nan(&[Less]),
        Word::Leu => or_nan(&[Less, Equal]),
        Word::Gtu => or_nan(&[Greater]),
        Word::Geu => or_nan(&[Greater, Equal]),
        Word::Num => order.is_some(),
        _ => order.is_none(),
    }
}

fn testp(i: &Inst, a: u64) -> bool {
    let f = format(i.types[0]);
    let a = a & (f.sign() | (f.sign() - 1));
    let finite = !f.is_nan(a) && !f.is_infinite(a);
    if i.words.has(Word::Finite) {
        finite
    } else if i.words.has(Word::Infinite) {
        f.is_infinite(a)
    } else if i.words.has(Word::Number) {
        !f.is_nan(a)
    } else if i.words.has(Word::Notanumber) {
        f.is_nan(a)
    } else if i.words.has(Word::Normal) {
        // ISA, `testp`: zeros are considered normal.
        finite && !f.is_subnormal(a)
    } else {
        f.is_subnormal(a)
    }
}
