//! Barrier objects in memory (PTX ISA 9, `mbarrier`, `cp.async.mbarrier.arrive`).
//!
//! Owns an instruction's operation on such an object. [`crate::exec::barrier_object`] defines the object's 64 bits.
//! Orders and scopes have no effect: one thread of the process runs a whole block, and sees its own accesses in
//! order.

use super::memory;
use super::reader::{Context, Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::{Scalar, Space};

/// An instruction on a barrier object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mbarrier {
    /// What it does.
    pub op: MbarrierOp,
    /// Where the object is; generic where none is named, and for [`MbarrierOp::Pending`], which has none.
    pub space: Space,
}

/// What is done with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// It expects so many arrivals.
    Init,
    /// Arrivals; the state before them.
    Arrive {
        /// The operand is also a number of bytes to expect; one thread arrives.
        expect: bool,
        /// The arriving thread is not expected in later phases.
        drop: bool,
    },
    /// The thread's copies have arrived.
    CopiesArrive {
        /// One of those expected is for it.
        counted: bool,
    },
    /// So many bytes more are awaited.
    ExpectBytes,
    /// So many bytes have come.
    CompleteBytes,
    /// Whether a phase has ended.
    Test {
        /// The operand is its parity, and no state.
        parity: bool,
    },
    /// The arrivals that a state still awaits.
    Pending,
}

/// Operands: the address and a number or state, or a state alone.
pub(super) fn lower(words: &mut Reader<'_>, context: Context<'_>) -> Result<Mbarrier, Unsupported> {
    words.ty(0, |ty| ty == Scalar::B64, "`.b64`")?;
    let op = match words.inst.op {
        Op::MbarInit => {
            words.need(&[(Word::Init, ())], "`.init`")?;
            MbarrierOp::Init
        }
        Op::MbarArrive => {
            // Behind `.noComplete` the phase is not to end, which the program sees to.
            words.take(Word::NoComplete);
            let drop =
                words.need(&[(Word::Arrive, false), (Word::ArriveDrop, true)], "`.arrive`")?;
            MbarrierOp::Arrive { expect: words.take(Word::ExpectTx), drop }
        }
        Op::CpArrive => {
            for word in [Word::Async, Word::Mbarrier, Word::Arrive] {
                words.need(&[(word, ())], "`.async.mbarrier.arrive`")?;
            }
            MbarrierOp::CopiesArrive { counted: words.take(Word::Noinc) }
        }
        Op::MbarTx => {
            let bytes = [
                (Word::ExpectTx, MbarrierOp::ExpectBytes),
                (Word::CompleteTx, MbarrierOp::CompleteBytes),
            ];
            words.need(&bytes, "`.expect_tx` or `.complete_tx`")?
        }
        Op::MbarTest => {
            words.need(&[(Word::TestWait, ()), (Word::TryWait, ())], "`.test_wait`")?;
            MbarrierOp::Test { parity: words.take(Word::Parity) }
        }
        _ => {
            words.need(&[(Word::PendingCount, ())], "`.pending_count`")?;
            MbarrierOp::Pending
        }
    };
    words.choice(&[(Word::Release, ()), (Word::Acquire, ()), (Word::Relaxed, ())]);
    memory::scope(words);
    let space = match op {
        MbarrierOp::Pending => Space::Generic,
        _ => memory::space(words, 0, context.entry).0,
    };
    Ok(Mbarrier { op, space })
}
