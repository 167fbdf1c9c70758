//! Addresses between state spaces (PTX ISA 9, `cvta`, `isspacep`).
//!
//! Owns which space is meant. [`crate::interp::window`] defines its window. Must not know addresses.

use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::Space;

/// An operation on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// What is done.
    pub op: AddressOp,
    /// The space: constant, global, local, shared, parameters.
    pub space: Space,
}

/// What is done with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressOp {
    /// One of the space becomes a generic one.
    ToGeneric,
    /// A generic one becomes one of the space.
    FromGeneric,
    /// Whether a generic address lies in the space; for shared memory, in the block's own.
    IsIn,
    /// Whether a generic address lies in the shared memory of any block of the cluster.
    IsInCluster,
}

impl AddressOp {
    /// Whether the result is a predicate and no address.
    pub const fn is_question(self) -> bool {
        matches!(self, AddressOp::IsIn | AddressOp::IsInCluster)
    }
}

const SPACES: [(Word, Space); 9] = [
    (Word::Shared, Space::Shared),
    (Word::SharedCta, Space::Shared),
    (Word::SharedCluster, Space::Shared),
    (Word::Local, Space::Local),
    (Word::Param, Space::Param),
    (Word::ParamEntry, Space::Param),
    (Word::ParamFunc, Space::Param),
    (Word::Const, Space::Const),
    (Word::Global, Space::Global),
];

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Address, Unsupported> {
    let cluster = words.inst.words.has(Word::SharedCluster);
    let space = words.need(&SPACES, "a state space")?;
    let op = if words.inst.op == Op::Isspacep {
        if cluster { AddressOp::IsInCluster } else { AddressOp::IsIn }
    } else if words.take(Word::To) {
        AddressOp::FromGeneric
    } else {
        AddressOp::ToGeneric
    };
    Ok(Address { op, space })
}
