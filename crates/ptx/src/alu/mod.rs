//! What one lane computes: pure functions from operand bits to result bits.
//!
//! Owns arithmetic as the ISA defines it, bit for bit where it does; where it
//! gives an error bound (`.approx`), the result here is the exact one rounded, or
//! in rare cases its neighbour, which lies within every bound. It must not know lanes, memory or control.

pub mod approx;
mod compare;
mod convert;
mod float;
mod int;
mod video;

use crate::ir::Inst;
use crate::soft::Format;
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};
pub use float::{bounded, canonical};
pub use video::{Selectors, is_video};

/// The results of an operation; most have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out(pub u64, pub u64);

/// The lowest `bits` bits.
pub const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Whether `op` is computed here, lane by lane, without state.
pub fn is_pure(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | AddCarry
            | Sub
            | SubCarry
            | Mul
            | MulWide
            | Mad
            | MadWide
            | MadCarry
            | Mul24
            | Mad24
            | Sad
            | Div
            | Rem
            | Abs
            | Neg
            | Min
            | Max
            | Popc
            | Clz
            | Bfind
            | Fns
            | Brev
            | Bfe
            | Bfi
            | Bmsk
            | Szext
            | Dp4a
            | Dp2a
            | Vadd
            | Vsub
            | Vavrg
            | Vabsdiff
            | Vmin
            | Vmax
            | Vshl
            | Vshr
            | Vmad
            | Vset
            | Fma
            | Rcp
            | Sqrt
            | Rsqrt
            | Sin
            | Cos
            | Lg2
            | Ex2
            | Tanh
            | Testp
            | Copysign
            | Setp
            | Set
            | Selp
            | Slct
            | And
            | Or
            | Xor
            | Not
            | Cnot
            | Lop3
            | Shf
            | Shl
            | Shr
            | Prmt
            | Cvt
            | Cvt2
            | CvtPack
    )
}

/// Computes one lane. Operands are zero-extended bits, at most as wide as their
/// registers; wider registers may hold more than the type, which is cut off.
pub fn eval(i: &Inst, a: [u64; 4]) -> Out {
    let ty = i.types[0];
    match i.op {
        Op::Setp | Op::Set | Op::Selp | Op::Slct | Op::Testp => return compare::eval(i, a),
        Op::Cvt | Op::Cvt2 | Op::CvtPack => return Out(convert::eval(i, a), 0),
        Op::Lop3 => return int::lop3(a),
        Op::AddCarry | Op::SubCarry | Op::MadCarry => return int::eval_carry(i, a),
        op if video::is_video(op) => return Out(video::eval(i, a), 0),
        _ => {}
    }
    let value = match ty.kind() {
        Kind::Float => float::eval(i, ty, a),
        Kind::Packed => packed(i, ty, a),
        _ => int::eval(i, ty, a),
    };
    Out(value, 0)
}

/// Both halves of a packed type, one after the other.
fn packed(i: &Inst, ty: Scalar, a: [u64; 4]) -> u64 {
    let half = half_type(ty);
    let low = a.map(|v| v & 0xffff);
    let high = a.map(|v| v >> 16 & 0xffff);
    let one = |v| match half.kind() {
        Kind::Float => float::eval(i, half, v),
        _ => int::eval(i, half, v),
    };
    one(low) & 0xffff | (one(high) & 0xffff) << 16
}

/// The element type of a packed type.
fn half_type(ty: Scalar) -> Scalar {
    match ty {
        Scalar::F16x2 => Scalar::F16,
        Scalar::Bf16x2 => Scalar::Bf16,
        Scalar::S16x2 => Scalar::S16,
        Scalar::U16x2 => Scalar::U16,
        other => other,
    }
}

/// [`atomic`] on global memory, where a sum of singles flushes subnormal operands
/// and results (ISA, `atom`), as it does not in shared memory; and one of doubles
/// gives a NaN as it is, the operand's before the one in memory (an H100).
pub fn atomic_global(word: Word, ty: Scalar, old: u64, b: u64, c: u64) -> u64 {
    if word == Word::Add && ty == Scalar::F32 {
        let flush = |v| float::flush(v, Format::F32);
        return flush(atomic(word, ty, flush(old), flush(b), c));
    }
    if word == Word::Add
        && ty == Scalar::F64
        && let Some(nan) = [b, old].into_iter().find(|v| Format::F64.is_nan(*v))
    {
        return nan;
    }
    atomic(word, ty, old, b, c)
}

/// The arithmetic of an atomic operation on memory: old value and operands to
/// the new value.
pub fn atomic(word: Word, ty: Scalar, old: u64, b: u64, c: u64) -> u64 {
    let two = |v: u64, f: &dyn Fn(u64, u64) -> u64| {
        let half = f(old & 0xffff, v & 0xffff) & 0xffff;
        half | (f(old >> 16 & 0xffff, v >> 16 & 0xffff) & 0xffff) << 16
    };
    let value = match (word, ty.kind()) {
        // Of two NaNs the one in memory.
        (Word::Add, Kind::Float) => float::add(ty, b, old),
        (Word::Add, Kind::Packed) => two(b, &|x, y| float::add(half_type(ty), x, y)),
        (Word::Add, _) => old.wrapping_add(b),
        (Word::Min | Word::Max, Kind::Float) => float::min_max(ty, word == Word::Max, old, b),
        (Word::Min | Word::Max, Kind::Packed) => {
            two(b, &|x, y| float::min_max(half_type(ty), word == Word::Max, x, y))
        }
        (Word::Min, _) => int::cut(int::value(old, ty).min(int::value(b, ty)), ty.bits()),
        (Word::Max, _) => int::cut(int::value(old, ty).max(int::value(b, ty)), ty.bits()),
        (Word::And, _) => old & b,
        (Word::Or, _) => old | b,
        (Word::Xor, _) => old ^ b,
        (Word::Exch, _) => b,
        (Word::Inc, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (Word::Dec, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        (Word::Cas, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        _ => old,
    };
    value & mask(ty.bits())
}
