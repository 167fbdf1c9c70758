//! The instructions that a call lowering puts in the place of calls.
//!
//! Owns their operations. Must not know where they stand or what they are for.

use cushim_ptx::Pos;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{
    Access, Activation, BitOp, Bits, Cache, Compare, Compared, Control, Convert, Integer,
    IntegerOp, Operation, Order, Outcomes,
};
use cushim_ptx::types::{Scalar, Space};

/// An instruction without operands, of one type.
fn of(sem: Operation, ty: Scalar, pos: Pos) -> Inst {
    Inst::new(sem, [ty, ty, Scalar::B32, Scalar::B32], pos)
}

pub(super) fn mov(ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Move(ty), ty, pos)
}

pub(super) fn control(what: Control, ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Control(what), ty, pos)
}

pub(super) fn activation(what: Activation, ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Activation(what), ty, pos)
}

pub(super) fn integer(op: IntegerOp, ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Integer(Integer { op, ty, packed: false }), ty, pos)
}

pub(super) fn add(ty: Scalar, pos: Pos) -> Inst {
    integer(IntegerOp::Add { saturate: false }, ty, pos)
}

pub(super) fn bits(op: BitOp, ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Bits(Bits { op, ty }), ty, pos)
}

/// An integer of one type, extended or cut to another.
pub(super) fn convert(to: Scalar, from: Scalar, pos: Pos) -> Inst {
    let sem = Operation::Convert(Convert::Integer { from, to, saturate: false });
    Inst::new(sem, [to, from, Scalar::B32, Scalar::B32], pos)
}

/// The first operand where the third is true, else the second.
pub(super) fn select(ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Select, ty, pos)
}

/// Whether unsigned numbers compare in one of these ways.
pub(super) fn compare(holds: u8, ty: Scalar, pos: Pos) -> Inst {
    let of_what = Compared::Integers { bits: ty.bits(), signed: false };
    let what = Compare { holds: Outcomes(holds), of: of_what, packed: false, then: None };
    of(Operation::Compare(what), ty, pos)
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
    of(Operation::Load(local(ty)), ty, pos)
}

pub(super) fn store(ty: Scalar, pos: Pos) -> Inst {
    of(Operation::Store(local(ty)), ty, pos)
}
