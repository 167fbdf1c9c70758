//! The types of the registers that an operation reads and writes.
//!
//! Owns the widths of results and operands of one lane, as far as the operation defines them. Must not know which
//! registers they are, or how a register is stored.

use super::{
    AsyncOp, Barrier, BitOp, CollectiveOp, Compared, Convert, IntegerOp, Operation, Reduction,
    Selector, Vote,
};
use crate::types::Scalar;

/// The type of a register that holds one number, or two.
const fn register(ty: Scalar, packed: bool) -> Scalar {
    match (ty, packed) {
        (Scalar::F16, true) => Scalar::F16x2,
        (Scalar::Bf16, true) => Scalar::Bf16x2,
        (Scalar::U16, true) => Scalar::U16x2,
        (Scalar::S16, true) => Scalar::S16x2,
        (ty, _) => ty,
    }
}

impl Compared {
    /// The type of the compared values.
    pub const fn ty(self) -> Scalar {
        match self {
            Compared::Floats { ty, .. } => ty,
            Compared::Integers { bits: 16, signed: false } => Scalar::U16,
            Compared::Integers { bits: 16, signed: true } => Scalar::S16,
            Compared::Integers { bits: 64, signed: false } => Scalar::U64,
            Compared::Integers { bits: 64, signed: true } => Scalar::S64,
            Compared::Integers { signed: false, .. } => Scalar::U32,
            Compared::Integers { signed: true, .. } => Scalar::S32,
        }
    }
}

impl Convert {
    /// The type of the result.
    pub const fn to(self) -> Scalar {
        match self {
            Convert::Integer { to, .. }
            | Convert::FromInteger { to, .. }
            | Convert::ToInteger { to, .. }
            | Convert::Float { to, .. }
            | Convert::Halves { to, .. }
            | Convert::SinglesToBytes { to, .. }
            | Convert::HalvesToBytes { to, .. }
            | Convert::Pack { to } => to,
            Convert::Tf32(_) => Scalar::Tf32,
            Convert::BytesToHalves { .. } => Scalar::F16x2,
        }
    }

    /// The type of the operands.
    pub const fn from(self) -> Scalar {
        match self {
            Convert::Integer { from, .. }
            | Convert::FromInteger { from, .. }
            | Convert::ToInteger { from, .. }
            | Convert::Float { from, .. }
            | Convert::BytesToHalves { from, .. } => from,
            Convert::Tf32(_) | Convert::Halves { .. } | Convert::SinglesToBytes { .. } => {
                Scalar::F32
            }
            Convert::HalvesToBytes { .. } => Scalar::F16x2,
            Convert::Pack { .. } => Scalar::S32,
        }
    }
}

impl CollectiveOp {
    /// The type of a lane's result, or of its input if other lanes get a part of it.
    const fn ty(self) -> Scalar {
        match self {
            CollectiveOp::Vote(Vote::All | Vote::Any | Vote::Uniform) => Scalar::Pred,
            CollectiveOp::Shuffle(_) | CollectiveOp::Vote(Vote::Ballot) | CollectiveOp::Barrier => {
                Scalar::B32
            }
            CollectiveOp::Match { ty, .. } => ty,
            CollectiveOp::Reduce { update, .. } => update.ty(),
            CollectiveOp::Multiply(m) => m.d,
        }
    }
}

impl Operation {
    /// The type of the results, or of the moved, compared or tested values: the width in which registers are read and
    /// written. 32 bits if there is none.
    pub const fn ty(&self) -> Scalar {
        match *self {
            Operation::Integer(i) => register(i.ty, i.packed),
            Operation::Bits(b) => b.ty,
            Operation::Float(f) => register(f.ty, f.packed),
            Operation::Convert(c) => c.to(),
            Operation::Compare(c) => register(c.of.ty(), c.packed),
            Operation::Set(s) => s.truth,
            Operation::Select(ty) | Operation::Move(ty) => ty,
            Operation::SelectBySign { ty, .. } => ty,
            Operation::Test(t) => t.ty,
            Operation::Video(v) if v.signed[0] => Scalar::S32,
            Operation::Video(_) => Scalar::U32,
            Operation::Load(a) | Operation::Store(a) => a.element,
            Operation::Atomic(a) => a.access.element,
            Operation::Asynchronous(a) => match a.op {
                AsyncOp::Store { element, .. } => element,
                AsyncOp::Reduce(update) => update.ty(),
                AsyncOp::Copy { combine: Some(update), .. } => update.ty(),
                AsyncOp::Replace(_) => Scalar::B64,
                AsyncOp::Copy { combine: None, .. } | AsyncOp::Tensor { .. } => Scalar::B32,
            },
            Operation::ClusterAddress(c) => c.ty,
            Operation::Texture(t) => t.result,
            Operation::Surface(s) => s.element,
            Operation::Mbarrier(_) => Scalar::B64,
            Operation::Collective(c) => c.op.ty(),
            Operation::Barrier(Barrier::Reduce(Reduction::And | Reduction::Or)) => Scalar::Pred,
            _ => Scalar::B32,
        }
    }

    /// The type of operand `n` of an operation that computes ([`Operation::is_pure`]).
    pub const fn operand(&self, n: usize) -> Scalar {
        match (*self, n) {
            (Operation::Set(_) | Operation::Compare(_) | Operation::Select(_), 2) => Scalar::Pred,
            (Operation::Set(s), _) => register(s.compare.of.ty(), s.compare.packed),
            (Operation::Convert(c), _) => c.from(),
            (Operation::SelectBySign { by: Selector::Integer, .. }, 2) => Scalar::S32,
            (Operation::SelectBySign { by: Selector::Single { .. }, .. }, 2) => Scalar::F32,
            (Operation::Integer(i), 2) if matches!(i.op, IntegerOp::MadWide) => Scalar::U64,
            (Operation::Bits(i), n) => match (i.op, n) {
                (BitOp::Lop3 { .. }, 4) => Scalar::Pred,
                (op, n) if op.is_amount(n) => Scalar::U32,
                _ => i.ty,
            },
            _ => self.ty(),
        }
    }
}
