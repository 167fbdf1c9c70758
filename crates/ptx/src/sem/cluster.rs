//! Addresses in the shared memory of a cluster's blocks (PTX ISA 9, `mapa`, `getctarank`).
//!
//! Owns the query about an address. [`crate::exec::cluster`] defines where a block's memory is. The last operand is
//! the rank of the executing block, which the checker adds.

use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::Scalar;

/// A question about an address of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterAddress {
    /// The query.
    pub op: ClusterOp,
    /// The address is a generic one, else one of the shared window.
    pub generic: bool,
    /// The type of the address.
    pub ty: Scalar,
}

/// The query about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterOp {
    /// The address that corresponds to it in the block with the rank of operand 1.
    Map,
    /// The rank of the block whose memory it is.
    Rank,
}

pub(super) fn lower(words: &mut Reader<'_>) -> Result<ClusterAddress, Unsupported> {
    let op = if words.inst.op == Op::Mapa { ClusterOp::Map } else { ClusterOp::Rank };
    let ty = words.ty(0, |ty| matches!(ty, Scalar::U32 | Scalar::U64), "`.u32` or `.u64`")?;
    let generic = !words.take(Word::SharedCluster);
    Ok(ClusterAddress { op, generic, ty })
}
