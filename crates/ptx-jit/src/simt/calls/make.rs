//! The instructions by which the call lowering replaces calls.
//!
//! Owns their operations. Must not know where they are inserted or why.

use cushim_ptx::Pos;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{
    Access, BitOp, Bits, Cache, Compare, Compared, Control, Convert, Integer, IntegerOp, Operation,
    Order, Outcomes,
};
use cushim_ptx::types::{Scalar, Space};

pub(super) fn mov(ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Move(ty), pos)
}

pub(super) fn control(what: Control, pos: Pos) -> Inst {
    Inst::new(Operation::Control(what), pos)
}

/// The placeholder in the code for an activation: an emitter that does not handle [`super::Lowered::activations`]
/// refuses the kernel.
pub(super) fn activation(pos: Pos) -> Inst {
    Inst::new(Operation::Refused, pos)
}

pub(super) fn integer(op: IntegerOp, ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Integer(Integer { op, ty, packed: false }), pos)
}

pub(super) fn add(ty: Scalar, pos: Pos) -> Inst {
    integer(IntegerOp::Add { saturate: false }, ty, pos)
}

pub(super) fn bits(op: BitOp, ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Bits(Bits { op, ty }), pos)
}

/// An integer of one type, extended or cut to another.
pub(super) fn convert(to: Scalar, from: Scalar, pos: Pos) -> Inst {
    let sem = Operation::Convert(Convert::Integer { from, to, saturate: false });
    Inst::new(sem, pos)
}

/// The first operand where the third is true, else the second.
pub(super) fn select(ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Select(ty), pos)
}

/// Whether unsigned numbers compare in one of these ways.
pub(super) fn compare(holds: u8, ty: Scalar, pos: Pos) -> Inst {
    let of_what = Compared::Integers { bits: ty.bits(), signed: false };
    let what = Compare { holds: Outcomes(holds), of: of_what, packed: false, then: None };
    Inst::new(Operation::Compare(what), pos)
}

/// One value in local memory.
fn local(element: Scalar) -> Access {
    Access {
        space: Space::Local,
        constant: false,
        read_only: false,
        element,
        parts: 1,
        order: Order::Weak,
        cache: Cache::Default,
        policy: false,
    }
}

pub(super) fn load(ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Load(local(ty)), pos)
}

pub(super) fn store(ty: Scalar, pos: Pos) -> Inst {
    Inst::new(Operation::Store(local(ty)), pos)
}
