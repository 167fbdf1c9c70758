//! The computation of one lane: pure functions from operand bits to result bits.
//!
//! Owns arithmetic, bit for bit as the ISA defines it. If the ISA gives only an error bound (`.approx`), the result
//! is that of an H200 ([`sfu`]). Must not know lanes, memory or control flow.

mod bits;
mod cluster;
mod compare;
mod convert;
mod float;
pub mod fused;
pub mod half;
mod int;
mod out;
pub mod sfu;
mod video;

use crate::sem::{Operation, Update};
use crate::soft::Format;
use crate::types::{Kind, Scalar};
pub(crate) use convert::widen;
pub use float::canonical;
pub(crate) use float::fused_doubles;
pub use out::{Out, mask};
pub use video::Selectors;

/// Computes one lane. Operands are zero-extended bits, at most as wide as their
/// registers; wider registers may hold more than the type, which is cut off. Results are what registers get, which
/// cut them to their width.
pub fn eval(operation: &Operation, a: [u64; 5]) -> Out {
    let one = |v: u64| Out(v, 0);
    match *operation {
        Operation::Integer(what) => int::eval(what, a),
        Operation::Bits(what) => bits::eval(what, a),
        Operation::Float(what) => one(float::eval(what, a)),
        Operation::Convert(what) => one(convert::eval(what, a)),
        Operation::Compare(what) => compare::compare(what, a),
        Operation::Set(what) => one(compare::set(what, a)),
        Operation::Select(_) => one(if a[2] != 0 { a[0] } else { a[1] }),
        Operation::SelectBySign { by, .. } => one(compare::select_by_sign(by, a)),
        Operation::Test(what) => one(compare::test(what, a[0]).into()),
        Operation::Video(what) => one(video::eval(what, a)),
        Operation::ClusterAddress(what) => one(cluster::eval(what, a)),
        // These have operands other than registers.
        _ => Out(0, 0),
    }
}

/// The element type of a packed type.
fn half_type(ty: Scalar) -> Scalar {
    match ty {
        Scalar::F16x2 => Scalar::F16,
        Scalar::Bf16x2 => Scalar::Bf16,
        other => other,
    }
}

/// [`atomic`] on global memory. There a sum of singles flushes subnormal operands and results (ISA, `atom`), unlike
/// in shared memory; and a sum of doubles keeps a NaN's payload, the operand's before that in memory (an H100).
pub fn atomic_global(update: Update, old: u64, b: u64, c: u64) -> u64 {
    match update {
        Update::FloatAdd(Scalar::F32) => {
            let flush = |v| float::flush(v, Format::F32);
            flush(atomic(update, flush(old), flush(b), c))
        }
        Update::FloatAdd(Scalar::F64) => {
            let nan = [b, old].into_iter().find(|v| Format::F64.is_nan(*v));
            nan.unwrap_or_else(|| atomic(update, old, b, c))
        }
        _ => atomic(update, old, b, c),
    }
}

/// The new value of an operation on a pair, from the old one and the operands.
pub fn atomic_pair(update: Update, old: [u64; 2], b: [u64; 2], c: [u64; 2]) -> [u64; 2] {
    match update {
        Update::ExchangePair => b,
        Update::CompareExchangePair if old == b => c,
        _ => old,
    }
}

/// The new value of an atomic operation on memory, from the old one and the operands, all as wide as its type. If
/// `update` is a compile-time constant, only that operation remains.
#[inline(always)]
pub fn atomic(update: Update, old: u64, b: u64, c: u64) -> u64 {
    let value = match update {
        Update::Add(_) => old.wrapping_add(b),
        Update::Min(ty) => lesser(ty, old, b).0,
        Update::Max(ty) => lesser(ty, old, b).1,
        Update::And(_) => old & b,
        Update::Or(_) => old | b,
        Update::Xor(_) => old ^ b,
        Update::Exchange(_) => b,
        Update::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Update::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        Update::CompareExchange(_) => {
            if old == b {
                c
            } else {
                old
            }
        }
        Update::FloatAdd(ty) | Update::FloatMin(ty) | Update::FloatMax(ty) => {
            atomic_float(update, ty, old, b)
        }
        // Not of one number: see [`atomic_pair`].
        Update::ExchangePair | Update::CompareExchangePair => old,
    };
    value & mask(update.ty().bits())
}

/// Two integers, the lesser one first.
#[inline(always)]
fn lesser(ty: Scalar, a: u64, b: u64) -> (u64, u64) {
    let shift = 64 - ty.bits();
    let swap = if ty.is_signed() {
        (a << shift) as i64 > (b << shift) as i64
    } else {
        a << shift > b << shift
    };
    if swap { (b, a) } else { (a, b) }
}

fn atomic_float(update: Update, ty: Scalar, old: u64, b: u64) -> u64 {
    let one = |ty: Scalar, old: u64, b: u64| match update {
        // Of two NaNs, the one in memory.
        Update::FloatAdd(_) => float::add(ty, b, old),
        _ => float::min_max(ty, matches!(update, Update::FloatMax(_)), old, b),
    };
    if ty.kind() != Kind::Packed {
        return one(ty, old, b);
    }
    let half = half_type(ty);
    let low = one(half, old & 0xffff, b & 0xffff) & 0xffff;
    low | (one(half, old >> 16 & 0xffff, b >> 16 & 0xffff) & 0xffff) << 16
}
