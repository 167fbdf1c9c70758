//! Integers, bits and shifts.
//!
//! Values are widened to 128 bits, computed there and cut: every intermediate
//! of every PTX integer instruction fits, so no case needs its own overflow rule.

use super::{Out, mask};
use crate::ir::Inst;
use crate::table::{Op, Word};
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
fn product(i: &Inst, ty: Scalar, a: u64, b: u64) -> i128 {
    let p = value(a, ty).wrapping_mul(value(b, ty));
    if !i.words.has(Word::Hi) {
        return p;
    }
    if ty.is_signed() { p >> ty.bits() } else { ((p as u128) >> ty.bits()) as i128 }
}

fn product24(i: &Inst, ty: Scalar, a: u64, b: u64) -> i128 {
    let part = |v: u64| {
        let v = v & 0xff_ffff;
        if ty.is_signed() { i128::from(((v << 40) as i64) >> 40) } else { i128::from(v) }
    };
    let p = part(a) * part(b);
    if i.words.has(Word::Hi) { value(cut(p >> 16, 32), ty) } else { value(cut(p, 32), ty) }
}

pub(super) fn eval(i: &Inst, ty: Scalar, a: [u64; 4]) -> u64 {
    let bits = ty.bits();
    let v = |n: usize| value(a[n], ty);
    let clip = |x: i128| {
        if i.words.has(Word::Sat) {
            let (low, high) = range(ty);
            x.clamp(low, high)
        } else {
            x
        }
    };
    let relu = |x: i128| if i.words.has(Word::Relu) { x.max(0) } else { x };
    let amount = |n: usize| (a[n] & 0xffff_ffff) as u32;
    let result = match i.op {
        Op::Add => clip(v(0) + v(1)),
        Op::Sub => clip(v(0) - v(1)),
        Op::Mul => product(i, ty, a[0], a[1]),
        Op::Mad => clip(value(cut(product(i, ty, a[0], a[1]), bits), ty) + v(2)),
        Op::MulWide => v(0) * v(1),
        Op::MadWide => (v(0) * v(1)).wrapping_add(i128::from(a[2])),
        Op::Mul24 => product24(i, ty, a[0], a[1]),
        Op::Mad24 => clip(product24(i, ty, a[0], a[1]) + v(2)),
        Op::Sad => v(2) + (v(0) - v(1)).abs(),
        // The ISA leaves division by zero open; an H100 gives all ones for both.
        Op::Div => v(0).checked_div(v(1)).unwrap_or(-1),
        Op::Rem => v(0).checked_rem(v(1)).unwrap_or(-1),
        Op::Abs => v(0).abs(),
        Op::Neg => -v(0),
        Op::Min => relu(v(0).min(v(1))),
        Op::Max => relu(v(0).max(v(1))),
        Op::And => return a[0] & a[1],
        Op::Or => return a[0] | a[1],
        Op::Xor => return a[0] ^ a[1],
        Op::Not => !v(0),
        Op::Cnot => i128::from(a[0] & mask(bits) == 0),
        Op::Popc => i128::from((a[0] & mask(bits)).count_ones()),
        Op::Clz => i128::from((a[0] & mask(bits)).leading_zeros() - (64 - bits)),
        Op::Brev => return (a[0] & mask(bits)).reverse_bits() >> (64 - bits),
        Op::Bfind => return bfind(i, ty, a[0]),
        Op::Fns => return fns(a[0] as u32, a[1] as u32, a[2] as u32 as i32),
        Op::Bfe => return bfe(ty, a),
        Op::Bfi => return bfi(ty, a),
        Op::Bmsk => return bmsk(i, amount(0), amount(1)),
        Op::Szext => return szext(i, ty, a[0] as u32, amount(1)),
        Op::Dp4a => return dot(i, a, 4),
        Op::Dp2a => return dot(i, a, 2),
        Op::Shl => return a[0].checked_shl(amount(1)).unwrap_or(0) & mask(bits),
        Op::Shr => v(0) >> amount(1).min(127),
        Op::Shf => return shf(i, a[0] as u32, a[1] as u32, amount(2)),
        Op::Prmt => return prmt(i, a[0] as u32, a[1] as u32, a[2] as u32),
        _ => 0,
    };
    let wide = matches!(i.op, Op::MulWide | Op::MadWide);
    cut(result, if wide { bits * 2 } else { bits.max(if is_count(i.op) { 32 } else { 0 }) })
}

/// Results that are `.u32` whatever the type.
fn is_count(op: Op) -> bool {
    matches!(op, Op::Popc | Op::Clz)
}

/// Every instruction with a carry is one sum, whose carry is CC.CF. A difference is
/// a + !b + 1, so that the flag after it says that nothing was borrowed, and `subc`
/// takes one away where it is clear: an H200 does so, which chains of one kind do
/// not show. Where the flag goes in, it is the last operand.
pub(super) fn eval_carry(i: &Inst, a: [u64; 4]) -> Out {
    let ty = i.types[0];
    let bits = ty.bits();
    let m = mask(bits);
    let (x, y, last) = match i.op {
        Op::AddCarry => (a[0], a[1], 2),
        Op::SubCarry => (a[0], !a[1], 2),
        _ => (cut(product(i, ty, a[0], a[1]), bits), a[2], 3),
    };
    let reads = i.src.len() > last;
    let carry = if reads { a[last] & 1 } else { u64::from(i.op == Op::SubCarry) };
    let full = i128::from(x & m) + i128::from(y & m) + i128::from(carry);
    Out(cut(full, bits), u64::from(full >> bits != 0))
}

fn bfind(i: &Inst, ty: Scalar, a: u64) -> u64 {
    let v = value(a, ty);
    let v = if v < 0 { !v } else { v };
    if v == 0 {
        return 0xffff_ffff;
    }
    let msb = u64::from(127 - v.leading_zeros());
    if i.words.has(Word::Shiftamt) { u64::from(ty.bits()) - 1 - msb } else { msb }
}

fn fns(bits: u32, base: u32, offset: i32) -> u64 {
    if base > 31 {
        return 0xffff_ffff;
    }
    let base = i64::from(base);
    if offset == 0 {
        return if bits >> base & 1 != 0 { base as u64 } else { 0xffff_ffff };
    }
    let step = i64::from(offset.signum());
    let mut left = offset.unsigned_abs();
    let mut at = base;
    while (0..32).contains(&at) {
        if bits >> at & 1 != 0 {
            left -= 1;
            if left == 0 {
                return at as u64;
            }
        }
        at += step;
    }
    0xffff_ffff
}

/// A position or length of bits. Of 32 bits the ISA takes the lowest 8 of it; the
/// same is written of 64, but an H100 takes all of it there.
fn field(bits: u32, v: u64) -> u32 {
    if bits == 64 { (v & 0xffff_ffff).min(255) as u32 } else { (v & 0xff) as u32 }
}

fn bfe(ty: Scalar, a: [u64; 4]) -> u64 {
    let bits = ty.bits();
    let (pos, len) = (field(bits, a[1]), field(bits, a[2]));
    let v = a[0] & mask(bits);
    let sign = ty.is_signed() && len != 0 && v >> (pos + len - 1).min(bits - 1) & 1 != 0;
    let field = len.min(bits.saturating_sub(pos));
    let value = v.checked_shr(pos).unwrap_or(0) & mask(field);
    let fill = if sign { !mask(field) & mask(bits) } else { 0 };
    if field == 0 { fill } else { value | fill }
}

fn bfi(ty: Scalar, a: [u64; 4]) -> u64 {
    let bits = ty.bits();
    let (pos, len) = (field(bits, a[2]), field(bits, a[3]));
    let m = mask(len).checked_shl(pos).unwrap_or(0) & mask(bits);
    let field = if len == 0 { 0 } else { m };
    (a[0].checked_shl(pos).unwrap_or(0) & field) | (a[1] & !field & mask(bits))
}

fn bmsk(i: &Inst, start: u32, width: u32) -> u64 {
    let wrap = i.words.has(Word::Wrap);
    let (start, width) = if wrap { (start & 31, width & 31) } else { (start, width) };
    let ones = mask(width.min(32));
    let ones = if width == 0 { 0 } else { ones };
    ones.checked_shl(start).unwrap_or(0) & 0xffff_ffff
}

fn szext(i: &Inst, ty: Scalar, a: u32, size: u32) -> u64 {
    if size >= 32 && i.words.has(Word::Clamp) {
        return a.into();
    }
    let n = size & 31;
    let keep = mask(n) as u32 & if n == 0 { 0 } else { u32::MAX };
    let sign = ty.is_signed() && n > 0 && a >> (n - 1) & 1 != 0;
    u64::from(a & keep | if sign { !keep } else { 0 })
}

fn dot(i: &Inst, a: [u64; 4], n: u32) -> u64 {
    let byte = |v: u64, k: u32, signed: bool| {
        let b = (v >> (8 * k)) as u8;
        if signed { i64::from(b as i8) } else { i64::from(b) }
    };
    let (sa, sb) = (i.types[0].is_signed(), i.types[1].is_signed());
    let mut sum = a[2] as u32 as i32 as i64;
    for k in 0..n {
        let x = if n == 4 {
            byte(a[0], k, sa)
        } else {
            let h = (a[0] >> (16 * k)) as u16;
            if sa { i64::from(h as i16) } else { i64::from(h) }
        };
        let upper = if n == 2 && i.words.has(Word::Hi) { 2 } else { 0 };
        sum = sum.wrapping_add(x * byte(a[1], k + upper, sb));
    }
    sum as u64 & 0xffff_ffff
}

fn shf(i: &Inst, a: u32, b: u32, c: u32) -> u64 {
    let n = if i.words.has(Word::Wrap) { c & 31 } else { c.min(32) };
    let pair = u64::from(b) << 32 | u64::from(a);
    if i.words.has(Word::L) { (pair << n) >> 32 } else { pair >> n & 0xffff_ffff }
}

fn prmt(i: &Inst, a: u32, b: u32, c: u32) -> u64 {
    let pair = u64::from(b) << 32 | u64::from(a);
    let k = c & 3;
    // Selectors of the result's bytes, from the lowest.
    let selectors: [u32; 4] = if i.words.has(Word::F4e) {
        [k, k + 1, k + 2, k + 3]
    } else if i.words.has(Word::B4e) {
        [k, (k + 7) & 7, (k + 6) & 7, (k + 5) & 7]
    } else if i.words.has(Word::Rc8) {
        [k; 4]
    } else if i.words.has(Word::Ecl) {
        [k, k.max(1), k.max(2), 3]
    } else if i.words.has(Word::Ecr) {
        [0, k.min(1), k.min(2), k]
    } else if i.words.has(Word::Rc16) {
        let k = (k & 1) * 2;
        [k, k + 1, k, k + 1]
    } else {
        [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15]
    };
    let mut out = 0u64;
    for (n, s) in selectors.iter().enumerate() {
        let mut byte = (pair >> (8 * (s & 7))) as u8;
        if s & 8 != 0 {
            byte = if byte & 0x80 != 0 { 0xff } else { 0 };
        }
        out |= u64::from(byte) << (8 * n);
    }
    out
}

pub(super) fn lop3(a: [u64; 4]) -> Out {
    // A predicate, the fifth operand, is the caller's to apply.
    let (x, y, z, table) = (a[0] as u32, a[1] as u32, a[2] as u32, a[3]);
    let mut d = 0u32;
    for n in 0..8u32 {
        if table >> n & 1 != 0 {
            let pick = |v: u32, bit: u32| if n >> bit & 1 != 0 { v } else { !v };
            d |= pick(x, 2) & pick(y, 1) & pick(z, 0);
        }
    }
    Out(d.into(), u64::from(d != 0))
}
