//! Instructions that lanes of a warp execute together (PTX ISA 9, `shfl`, `vote`, `match`, `redux`, `bar.warp`).
//!
//! Owns what lanes exchange. Must not know which lanes take part, or how they wait.

use super::atomic::{self, Update};
use super::matrix::Multiply;
use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::Scalar;

/// A collective of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collective {
    /// Its results.
    pub op: CollectiveOp,
    /// The lanes named by the last operand wait for one another; otherwise all active lanes take part.
    pub sync: bool,
}

/// What a collective gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectiveOp {
    /// Another lane's value, and whether there is one.
    Shuffle(Way),
    /// What lanes say together.
    Vote(Vote),
    /// Which lanes have the same value of this type.
    Match {
        /// The type.
        ty: Scalar,
        /// Whether all lanes have the same value, and all their bits; else the lanes that have this lane's value.
        all: bool,
    },
    /// All lanes' values combined.
    Reduce {
        /// How two are combined.
        update: Update,
        /// On absolute values.
        absolute: bool,
        /// NaN where one of them is; else NaNs do not count.
        nan: bool,
    },
    /// Matrices multiplied, of which each lane has a part.
    Multiply(Multiply),
    /// Nothing: they meet.
    Barrier,
}

impl CollectiveOp {
    /// The number of operands of each lane, before the member mask.
    pub fn operands(self) -> usize {
        match self {
            CollectiveOp::Shuffle(_) => 3,
            CollectiveOp::Vote(_) | CollectiveOp::Match { .. } | CollectiveOp::Reduce { .. } => 1,
            CollectiveOp::Multiply(m) => m.operands(),
            CollectiveOp::Barrier => 0,
        }
    }

    /// How many results each lane gets.
    pub fn results(self) -> usize {
        match self {
            CollectiveOp::Shuffle(_) | CollectiveOp::Match { .. } => 2,
            CollectiveOp::Vote(_) | CollectiveOp::Reduce { .. } => 1,
            CollectiveOp::Multiply(m) => m.results(),
            CollectiveOp::Barrier => 0,
        }
    }
}

/// Which lane a shuffle reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// The lane whose number is lower by the operand.
    Up,
    /// The lane whose number is higher by the operand.
    Down,
    /// The lane whose number differs in the operand's bits.
    Butterfly,
    /// The lane with the operand's number, in its segment.
    Index,
}

/// The result of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vote {
    /// Whether all predicates are true.
    All,
    /// Whether any predicate is true.
    Any,
    /// Whether all predicates are equal.
    Uniform,
    /// The lanes with a true predicate, one bit each.
    Ballot,
}

const WAYS: [(Word, Way); 4] = [
    (Word::Up, Way::Up),
    (Word::Down, Way::Down),
    (Word::Bfly, Way::Butterfly),
    (Word::Idx, Way::Index),
];

const VOTES: [(Word, Vote); 4] = [
    (Word::All, Vote::All),
    (Word::Any, Vote::Any),
    (Word::Uni, Vote::Uniform),
    (Word::Ballot, Vote::Ballot),
];

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Collective, Unsupported> {
    let op = match words.inst.op {
        Op::Shfl => CollectiveOp::Shuffle(words.need(&WAYS, "`.up`, `.down`, `.bfly` or `.idx`")?),
        Op::Vote => CollectiveOp::Vote(words.need(&VOTES, "`.all`, `.any`, `.uni` or `.ballot`")?),
        Op::Match => CollectiveOp::Match {
            ty: words.ty(0, |ty| matches!(ty, Scalar::B32 | Scalar::B64), "`.b32` or `.b64`")?,
            all: words.need(&[(Word::Any, false), (Word::All, true)], "`.any` or `.all`")?,
        },
        Op::Redux => reduce(words)?,
        _ => {
            words.need(&[(Word::Warp, ())], "`.warp`")?;
            CollectiveOp::Barrier
        }
    };
    let sync = words.take(Word::Sync);
    let may_not = matches!(op, CollectiveOp::Shuffle(_) | CollectiveOp::Vote(_));
    if !sync && !may_not {
        return Err(words.wrong("no `.sync`".into(), "`.sync`"));
    }
    Ok(Collective { op, sync })
}

fn reduce(words: &mut Reader<'_>) -> Result<CollectiveOp, Unsupported> {
    let update = atomic::update(words)?;
    let (absolute, nan) = (words.take(Word::Abs), words.take(Word::Nan));
    let numbers = matches!(update, Update::FloatMin(Scalar::F32) | Update::FloatMax(Scalar::F32));
    let integers = {
        use Update::*;
        matches!(update, Add(_) | Min(_) | Max(_) | And(_) | Or(_) | Xor(_)) && !absolute && !nan
    };
    if numbers || integers && update.ty().bits() == 32 {
        return Ok(CollectiveOp::Reduce { update, absolute, nan });
    }
    Err(words
        .wrong(format!("`.{}`", update.ty().name()), "a 32-bit type that the operation combines"))
}
