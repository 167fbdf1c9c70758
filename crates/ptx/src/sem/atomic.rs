//! Atomic operations on memory: the update, its state space and its order (PTX ISA 9, `atom`, `red`).
//!
//! Owns the list of updates, also for `redux`, which combines the values of lanes by them. [`crate::alu::atomic`]
//! computes them. Must not know addresses.

use super::memory::{self, Access, Cache, Order, Scope};
use super::reader::{Context, Reader, Unsupported};
use crate::table::Word;
use crate::types::{Kind, Scalar};

/// An atomic operation on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atomic {
    /// The update of the value.
    pub update: Update,
    /// Where, and in which order; its element is that of the update.
    pub access: Access,
}

/// How a value and an operand become a new value. For integers the type is `b32`, `u64` and so on; only
/// [`Update::Min`] and [`Update::Max`] depend on the sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Update {
    /// Sum of integers, which wraps.
    Add(Scalar),
    /// The lesser integer.
    Min(Scalar),
    /// The greater integer.
    Max(Scalar),
    /// Bits of both.
    And(Scalar),
    /// Bits of either.
    Or(Scalar),
    /// Bits of one of them.
    Xor(Scalar),
    /// The operand.
    Exchange(Scalar),
    /// One more of 32 bits; 0 from the operand on.
    Increment,
    /// One less of 32 bits; the operand from 0, and from above the operand.
    Decrement,
    /// The second operand where the value is the first.
    CompareExchange(Scalar),
    /// Sum of floating-point numbers, or of both halves.
    FloatAdd(Scalar),
    /// The lesser number, or of both halves.
    FloatMin(Scalar),
    /// The greater number, or of both halves.
    FloatMax(Scalar),
    /// The operand, a pair of 64 bits each: both at once.
    ExchangePair,
    /// The second operand where the value is the first; all are such pairs.
    CompareExchangePair,
}

/// An update of integers, and of floating-point numbers where there is one.
type Kinds = (fn(Scalar) -> Update, Option<fn(Scalar) -> Update>);

const UPDATES: [(Word, Kinds); 10] = [
    (Word::Add, (Update::Add, Some(Update::FloatAdd))),
    (Word::Min, (Update::Min, Some(Update::FloatMin))),
    (Word::Max, (Update::Max, Some(Update::FloatMax))),
    (Word::And, (Update::And, None)),
    (Word::Or, (Update::Or, None)),
    (Word::Xor, (Update::Xor, None)),
    (Word::Exch, (Update::Exchange, None)),
    (Word::Inc, (|_| Update::Increment, None)),
    (Word::Dec, (|_| Update::Decrement, None)),
    (Word::Cas, (Update::CompareExchange, None)),
];

impl Update {
    /// The type of the value, of a pair's parts.
    pub const fn ty(self) -> Scalar {
        use Update::*;
        match self {
            Add(ty) | Min(ty) | Max(ty) | And(ty) | Or(ty) | Xor(ty) | Exchange(ty) => ty,
            CompareExchange(ty) | FloatAdd(ty) | FloatMin(ty) | FloatMax(ty) => ty,
            Increment | Decrement => Scalar::U32,
            ExchangePair | CompareExchangePair => Scalar::B64,
        }
    }

    /// How many operands it has beside the value.
    pub const fn operands(self) -> usize {
        use Update::*;
        if matches!(self, CompareExchange(_) | CompareExchangePair) { 2 } else { 1 }
    }

    /// Whether the value is a pair, done at once, and so is each operand.
    pub const fn is_pair(self) -> bool {
        matches!(self, Update::ExchangePair | Update::CompareExchangePair)
    }

    /// The same of a pair; `None` where there is none.
    const fn of_pair(self) -> Option<Update> {
        match self {
            Update::Exchange(Scalar::B64) => Some(Update::ExchangePair),
            Update::CompareExchange(Scalar::B64) => Some(Update::CompareExchangePair),
            _ => None,
        }
    }
}

/// The update that words name, of type 0.
pub(super) fn update(words: &mut Reader<'_>) -> Result<Update, Unsupported> {
    let (integer, float) = words.need(&UPDATES, "an atomic operation")?;
    let ty = words.ty(0, |ty| (16..=64).contains(&ty.bits()), "a type of 16 to 64 bits")?;
    let found = match ty.kind() {
        Kind::Bits | Kind::Unsigned | Kind::Signed => Some(integer(ty)),
        Kind::Float | Kind::Packed => float.map(|float| float(ty)),
        _ => None,
    };
    let found = found.filter(|update| update.ty().bits() == ty.bits());
    found.ok_or_else(|| words.wrong(format!("`.{}`", ty.name()), "a type that this operation has"))
}

/// Operands: the address, values, and a cache policy or none. Relaxed, for the whole device, where words say nothing
/// (ISA, `atom`).
pub(super) fn lower(words: &mut Reader<'_>, context: Context<'_>) -> Result<Atomic, Unsupported> {
    let mut update = update(words)?;
    // Whether subnormal numbers are kept the type says alone; sums round to nearest.
    words.take(Word::Noftz);
    words.take(Word::Rn);
    let given = words.inst.src.len().saturating_sub(2);
    let pair = update.of_pair().filter(|_| words.take(Word::V2));
    update = pair.unwrap_or(update);
    let parts = match update.operands() {
        n if update.is_pair() && given == 2 * n => 2,
        1 => memory::parts(words, given)?,
        n if n == given => 1,
        _ => {
            return Err(
                words.wrong(format!("{given} values"), "a value to compare with and a new value")
            );
        }
    };
    let (space, constant) = memory::space(words, 0, context.entry);
    let access = Access {
        space,
        constant,
        read_only: false,
        element: update.ty(),
        parts,
        order: memory::order(words, Order::Relaxed(Scope::Gpu)),
        cache: Cache::Default,
        policy: words.take(Word::CacheHint),
    };
    Ok(Atomic { update, access })
}
