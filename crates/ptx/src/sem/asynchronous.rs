//! Asynchronous stores, reductions and bulk copies (PTX ISA 9, `st.async`, `red.async`, `cp.async.bulk`,
//! `cp.reduce.async.bulk`).
//!
//! Owns source and destination of the bytes, and the barrier object that is signalled. It is the engine's choice that
//! all execute immediately and that waiting for a group does nothing.

use super::atomic::{self, Update};
use super::memory;
use super::reader::{Context, Reader, Unsupported};
use super::tensor::{Combine, Field};
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar, Space};

/// An asynchronous operation on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asynchronous {
    /// What is done.
    pub op: AsyncOp,
    /// Where bytes go, by operand 0: shared, global or generic.
    pub to: Space,
    /// The index of the barrier-object operand, to which the bytes are signalled, in the same space as
    /// [`Asynchronous::to`]; `None` for groups.
    pub barrier: Option<u8>,
}

/// What is done asynchronously.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AsyncOp {
    /// A value, or the parts of a vector, operands from 1 on, are stored.
    Store {
        /// The type of each.
        element: Scalar,
        /// 1, 2 or 4.
        parts: u8,
    },
    /// Operand 1 is combined with the value in memory.
    Reduce(Update),
    /// Bytes are copied from operand 1, as many as operand 2 says.
    Copy {
        /// Where they are: global memory, or the block's shared memory.
        from: Space,
        /// To all blocks of the cluster whose bit is set in operand 4, at the same offset in each.
        multicast: bool,
        /// The elements are combined with those in memory.
        combine: Option<Update>,
    },
    /// Copies a box of a tensor to or from shared memory, operand 0. Operand 1 is the address of the tensor map,
    /// followed by a coordinate for each axis; for a load the barrier object; in im2col mode the offsets of each
    /// pixel, 16 bits each; and then a block mask.
    Tensor {
        /// Axes of the tensor.
        axes: u8,
        /// Pixels that follow each other (`im2col`); else a tile.
        columns: bool,
        /// Into shared memory; else out of it.
        load: bool,
        /// To all blocks of the cluster whose bit is set in the mask, at the same offset in each.
        multicast: bool,
        /// How elements are combined with those in memory.
        combine: Option<Combine>,
    },
    /// A field of the tensor map at operand 0 becomes operand 1.
    Replace(Field),
}

/// Operands: for stores and reductions the address, values, the barrier; for copies to, from, the number of bytes, the
/// barrier if there is one, and what may be left out: a mask of blocks, a cache policy.
pub(super) fn lower(
    words: &mut Reader<'_>,
    context: Context<'_>,
) -> Result<Asynchronous, Unsupported> {
    words.need(&[(Word::Async, ())], "`.async`")?;
    let completes = words.take(Word::CompleteTxBytes);
    match words.inst.op {
        Op::StAsync => {
            words.take(Word::Weak);
            let given = words.inst.src.len().saturating_sub(2);
            let parts = memory::parts(words, given)?;
            let element = words.ty(0, |ty| ty.bits() >= 32, "a type of 32 or 64 bits")?;
            let to = memory::space(words, 0, context.entry).0;
            let op = AsyncOp::Store { element, parts };
            Ok(Asynchronous { op, to, barrier: Some(parts + 1) })
        }
        Op::RedAsync => {
            words.take(Word::Relaxed);
            words.take(Word::Cluster);
            let to = memory::space(words, 0, context.entry).0;
            let op = AsyncOp::Reduce(atomic::update(words)?);
            Ok(Asynchronous { op, to, barrier: Some(2) })
        }
        _ => bulk(words, completes),
    }
}

fn bulk(words: &mut Reader<'_>, completes: bool) -> Result<Asynchronous, Unsupported> {
    words.need(&[(Word::Bulk, ())], "`.bulk`")?;
    let group = words.take(Word::BulkGroup);
    let (global, near) = (words.take(Word::Global), words.take(Word::SharedCta));
    let far = words.take(Word::SharedCluster);
    // The completion mechanism selects which space comes first: only copies to global memory are waited for in
    // groups.
    let (to, from) = match (global, group, completes) {
        (true, true, false) => (Space::Global, Space::Shared),
        (true, false, true) => (Space::Shared, Space::Global),
        (false, false, true) if near && far => (Space::Shared, Space::Shared),
        _ => return Err(words.wrong("these state spaces".into(), "a copy from one to another")),
    };
    words.take(Word::CacheHint);
    words.take(Word::Noftz);
    let multicast = words.take(Word::Multicast);
    let combine = match words.take(Word::Combine) {
        true => Some(atomic::update(words)?),
        false => None,
    };
    if combine.is_some_and(|update| update.ty().kind() == Kind::Packed) {
        return Err(words.wrong("a packed type".into(), "a type of one number"));
    }
    let barrier = completes.then_some(3);
    Ok(Asynchronous { op: AsyncOp::Copy { from, multicast, combine }, to, barrier })
}
