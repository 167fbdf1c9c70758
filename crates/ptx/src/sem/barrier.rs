//! Barriers of a block and of a cluster, and fences (PTX ISA 9, `bar`, `barrier`, `membar`, `fence`).
//!
//! Owns a barrier's results, and the strength of a fence. [`crate::fence`] defines which processor instruction a
//! fence needs.

use super::memory::{self, Scope};
use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};

/// A barrier of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// Wait until all have come.
    Sync,
    /// Arrive, and go on.
    Arrive,
    /// Wait, and learn what the predicates of all are together.
    Reduce(Reduction),
    /// Arrive at the barrier of the cluster, and go on.
    ClusterArrive,
    /// Wait until all live threads of the cluster have arrived.
    ClusterWait,
    /// Wait until the four warps have come that make a product together. Its number is theirs: warps `4n` to `4n + 3`.
    Warpgroup,
}

/// Barriers that programs name.
const NAMED: u32 = 16;

/// Barriers of a block: those that programs name, and one for each four of its warps, of which it has 32 at most.
pub const BARRIERS: u32 = NAMED + 8;

impl Barrier {
    /// Which of the block's barriers it is, by the value of its first operand.
    pub const fn number(self, operand: u32) -> u32 {
        match self {
            Barrier::Warpgroup => NAMED + (operand & 7),
            _ => operand & (NAMED - 1),
        }
    }
}

/// How a barrier reduces its threads' predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Whether all are true.
    And,
    /// Whether one is.
    Or,
    /// How many are.
    Count,
}

/// A fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fence {
    /// A fence in the one order that all threads of the scope see (`fence.sc`, `membar`).
    Sequential(Scope),
    /// Between acquire and release; or of accesses through other proxies, of which there are none here.
    AcquireRelease(Option<Scope>),
}

const REDUCTIONS: [(Word, Reduction); 3] =
    [(Word::And, Reduction::And), (Word::Or, Reduction::Or), (Word::Popc, Reduction::Count)];

/// What fences name that say less than [`Fence::Sequential`].
const WEAKER: [Word; 14] = [
    Word::AcqRel,
    Word::Acquire,
    Word::Release,
    Word::RestrictCta,
    Word::RestrictCluster,
    Word::MbarrierInit,
    Word::Proxy,
    Word::Alias,
    Word::Async,
    Word::Global,
    Word::SharedCta,
    Word::SharedCluster,
    Word::TensormapGeneric,
    Word::AsyncGeneric,
];

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Barrier, Unsupported> {
    words.take(Word::Cta);
    // Lanes that come apart are waited for in any case.
    words.take(Word::Aligned);
    if matches!(words.inst.op, Op::ClusterArrive | Op::ClusterWait) {
        // All blocks of a cluster run on one thread of the process, which sees its own accesses in order.
        for word in [Word::Release, Word::Relaxed, Word::Acquire] {
            words.take(word);
        }
        words.need(&[(Word::Cluster, ())], "`.cluster`")?;
        let ways = [(Word::Arrive, Barrier::ClusterArrive), (Word::Wait, Barrier::ClusterWait)];
        return words.need(&ways, "`.arrive` or `.wait`");
    }
    Ok(match words.inst.op {
        Op::BarSync => {
            words.need(&[(Word::Sync, ())], "`.sync`")?;
            Barrier::Sync
        }
        Op::BarArrive => {
            words.need(&[(Word::Arrive, ())], "`.arrive`")?;
            Barrier::Arrive
        }
        _ => {
            words.need(&[(Word::Red, ())], "`.red`")?;
            Barrier::Reduce(words.need(&REDUCTIONS, "`.and`, `.or` or `.popc`")?)
        }
    })
}

pub(super) fn fence(words: &mut Reader<'_>) -> Result<Fence, Unsupported> {
    let level = [(Word::Gl, Scope::Gpu)];
    let scope = words.choice(&level).or_else(|| memory::scope(words));
    if words.inst.op == Op::FenceSc {
        words.take(Word::Sc);
        let none = || words.wrong("no scope".into(), "a scope");
        return scope.map(Fence::Sequential).ok_or_else(none);
    }
    for word in WEAKER {
        words.take(word);
    }
    Ok(Fence::AcquireRelease(scope))
}
