//! Bit operations: logic, shifts, fields, permutations.

use super::int::{cut, value};
use super::out::{Out, mask};
use crate::sem::{BitOp, Bits, Logic, Permute};
use crate::types::Scalar;

/// Both results; most have one.
pub(super) fn eval(i: Bits, a: [u64; 5]) -> Out {
    let (ty, bits) = (i.ty, i.ty.bits());
    let all = a[0] & mask(bits);
    let amount = |n: usize| (a[n] & 0xffff_ffff) as u32;
    Out(
        match i.op {
            BitOp::And => a[0] & a[1],
            BitOp::Or => a[0] | a[1],
            BitOp::Xor => a[0] ^ a[1],
            BitOp::Not => !a[0] & mask(bits),
            BitOp::Cnot => u64::from(all == 0),
            BitOp::Lop3 { table, then } => return lop3(table, then, a),
            BitOp::Shl => a[0].checked_shl(amount(1)).unwrap_or(0) & mask(bits),
            BitOp::Shr => cut(value(a[0], ty) >> amount(1).min(127), bits),
            BitOp::Funnel { left, wrap } => funnel(left, wrap, a[0] as u32, a[1] as u32, amount(2)),
            BitOp::Permute(mode) => permute(mode, a[0] as u32, a[1] as u32, a[2] as u32),
            BitOp::Popc => all.count_ones().into(),
            BitOp::Clz => (all.leading_zeros() - (64 - bits)).into(),
            BitOp::Brev => all.reverse_bits() >> (64 - bits),
            BitOp::Bfind { amount } => bfind(amount, ty, a[0]),
            BitOp::Fns => fns(a[0] as u32, a[1] as u32, a[2] as u32 as i32),
            BitOp::Bfe => bfe(ty, a),
            BitOp::Bfi => bfi(ty, a),
            BitOp::Bmsk { wrap } => bmsk(wrap, amount(0), amount(1)),
            BitOp::Szext { wrap } => szext(wrap, ty.is_signed(), a[0] as u32, amount(1)),
        },
        0,
    )
}

fn bfind(amount: bool, ty: Scalar, a: u64) -> u64 {
    let v = value(a, ty);
    let v = if v < 0 { !v } else { v };
    if v == 0 {
        return 0xffff_ffff;
    }
    let msb = u64::from(127 - v.leading_zeros());
    if amount { u64::from(ty.bits()) - 1 - msb } else { msb }
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

/// A bit position or length. For 32-bit operations only the lowest 8 bits count, as the ISA says; for 64-bit
/// operations the ISA says the same, but an H100 uses all bits.
fn field(bits: u32, v: u64) -> u32 {
    if bits == 64 { (v & 0xffff_ffff).min(255) as u32 } else { (v & 0xff) as u32 }
}

fn bfe(ty: Scalar, a: [u64; 5]) -> u64 {
    let bits = ty.bits();
    let (pos, len) = (field(bits, a[1]), field(bits, a[2]));
    let v = a[0] & mask(bits);
    let sign = ty.is_signed() && len != 0 && v >> (pos + len - 1).min(bits - 1) & 1 != 0;
    let field = len.min(bits.saturating_sub(pos));
    let value = v.checked_shr(pos).unwrap_or(0) & mask(field);
    let fill = if sign { !mask(field) & mask(bits) } else { 0 };
    if field == 0 { fill } else { value | fill }
}

fn bfi(ty: Scalar, a: [u64; 5]) -> u64 {
    let bits = ty.bits();
    let (pos, len) = (field(bits, a[2]), field(bits, a[3]));
    let m = mask(len).checked_shl(pos).unwrap_or(0) & mask(bits);
    let field = if len == 0 { 0 } else { m };
    (a[0].checked_shl(pos).unwrap_or(0) & field) | (a[1] & !field & mask(bits))
}

fn bmsk(wrap: bool, start: u32, width: u32) -> u64 {
    let (start, width) = if wrap { (start & 31, width & 31) } else { (start, width) };
    let ones = mask(width.min(32));
    let ones = if width == 0 { 0 } else { ones };
    ones.checked_shl(start).unwrap_or(0) & 0xffff_ffff
}

fn szext(wrap: bool, signed: bool, a: u32, size: u32) -> u64 {
    if size >= 32 && !wrap {
        return a.into();
    }
    let n = size & 31;
    let keep = mask(n) as u32 & if n == 0 { 0 } else { u32::MAX };
    let sign = signed && n > 0 && a >> (n - 1) & 1 != 0;
    u64::from(a & keep | if sign { !keep } else { 0 })
}

fn funnel(left: bool, wrap: bool, a: u32, b: u32, c: u32) -> u64 {
    let n = if wrap { c & 31 } else { c.min(32) };
    let pair = u64::from(b) << 32 | u64::from(a);
    if left { (pair << n) >> 32 } else { pair >> n & 0xffff_ffff }
}

fn permute(mode: Permute, a: u32, b: u32, c: u32) -> u64 {
    let pair = u64::from(b) << 32 | u64::from(a);
    let k = c & 3;
    // Selectors of the result's bytes, from the lowest.
    let selectors: [u32; 4] = match mode {
        Permute::F4e => [k, k + 1, k + 2, k + 3],
        Permute::B4e => [k, (k + 7) & 7, (k + 6) & 7, (k + 5) & 7],
        Permute::Rc8 => [k; 4],
        Permute::Ecl => [k, k.max(1), k.max(2), 3],
        Permute::Ecr => [0, k.min(1), k.min(2), k],
        Permute::Rc16 => {
            let k = (k & 1) * 2;
            [k, k + 1, k, k + 1]
        }
        Permute::Any => [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15],
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

/// A function of three bits, for each bit; whether any is set, with the predicate.
fn lop3(table: u8, then: Option<Logic>, a: [u64; 5]) -> Out {
    let (x, y, z) = (a[0] as u32, a[1] as u32, a[2] as u32);
    let mut d = 0u32;
    for n in 0..8u32 {
        if table >> n & 1 != 0 {
            let pick = |v: u32, bit: u32| if n >> bit & 1 != 0 { v } else { !v };
            d |= pick(x, 2) & pick(y, 1) & pick(z, 0);
        }
    }
    let any = then.is_some_and(|logic| logic.apply(d != 0, a[4] & 1 != 0));
    Out(d.into(), any.into())
}
