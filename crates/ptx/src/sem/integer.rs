//! Integer arithmetic (PTX ISA 9, "Integer Arithmetic Instructions", "Extended-Precision").
//!
//! Owns the meaning of its words and types. [`crate::alu`] computes a lane's result. Must not know operands' values.

use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// Arithmetic of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Integer {
    /// What is computed.
    pub op: IntegerOp,
    /// The type.
    pub ty: Scalar,
    /// On both halves of a register, each by itself.
    pub packed: bool,
}

/// Integer operations. A result wraps around unless stated otherwise; `saturate` clamps it to the type's range,
/// `relu` clamps negative results to 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum IntegerOp {
    Add {
        saturate: bool,
    },
    Sub {
        saturate: bool,
    },
    /// The carry goes to the second result, and comes from the last operand.
    AddCarry {
        carry_in: bool,
    },
    SubCarry {
        carry_in: bool,
    },
    MadCarry {
        half: Half,
        carry_in: bool,
    },
    Mul(Half),
    /// The whole product.
    MulWide,
    Mad {
        half: Half,
        saturate: bool,
    },
    MadWide,
    /// On 24 bits: the lower 32 bits of 48, or the upper.
    Mul24(Half),
    Mad24 {
        half: Half,
        saturate: bool,
    },
    Sad,
    Div,
    Rem,
    Abs,
    Neg,
    Min {
        relu: bool,
    },
    Max {
        relu: bool,
    },
    /// Four products of bytes, and whether those of each operand are signed.
    Dot4 {
        signed: [bool; 2],
    },
    /// Two products of a half and a byte, the upper two of the second operand or the lower.
    Dot2 {
        signed: [bool; 2],
        upper: bool,
    },
}

/// The part of a product that is twice as wide as its factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// `.lo`.
    Low,
    /// `.hi`.
    High,
}

impl IntegerOp {
    /// Whether a result may differ from the bits of the plain sum, difference or selection.
    pub const fn clamps(self) -> bool {
        use IntegerOp::*;
        match self {
            Add { saturate } | Sub { saturate } => saturate,
            Mad { saturate, .. } | Mad24 { saturate, .. } => saturate,
            Min { relu } | Max { relu } => relu,
            _ => false,
        }
    }
}

/// Whether a type is one of integers; with what packs two of them.
pub(super) fn is_integer(ty: Scalar) -> bool {
    matches!(ty.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed) && ty.bits() <= 64
        || matches!(ty, Scalar::U16x2 | Scalar::S16x2)
}

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Integer, Unsupported> {
    use IntegerOp::*;
    let ty = words.ty(0, is_integer, "an integer type")?;
    let given = words.inst.src.len();
    let half = |words: &mut Reader<'_>| {
        words.need(&[(Word::Lo, Half::Low), (Word::Hi, Half::High)], "`.lo` or `.hi`")
    };
    let second = words.inst.types[1].is_signed();
    let signed = [ty.is_signed(), second];
    let op = match words.inst.op {
        Op::Add => Add { saturate: words.take(Word::Sat) },
        Op::Sub => Sub { saturate: words.take(Word::Sat) },
        Op::Mul => Mul(half(words)?),
        Op::Mad => Mad { half: half(words)?, saturate: words.take(Word::Sat) },
        Op::Mul24 => Mul24(half(words)?),
        Op::Mad24 => Mad24 { half: half(words)?, saturate: words.take(Word::Sat) },
        // The number of results says whether the flag is one; as an operand it follows the others.
        Op::AddCarry => AddCarry { carry_in: given > 2 },
        Op::SubCarry => SubCarry { carry_in: given > 2 },
        Op::MadCarry => MadCarry { half: half(words)?, carry_in: given > 3 },
        Op::MulWide | Op::MadWide => {
            words.need(&[(Word::Wide, ())], "`.wide`")?;
            if words.inst.op == Op::MulWide { MulWide } else { MadWide }
        }
        Op::Min => Min { relu: words.take(Word::Relu) },
        Op::Max => Max { relu: words.take(Word::Relu) },
        Op::Dp4a => Dot4 { signed },
        Op::Dp2a => Dot2 { signed, upper: half(words)? == Half::High },
        Op::Sad => Sad,
        Op::Div => Div,
        Op::Rem => Rem,
        Op::Abs => Abs,
        _ => Neg,
    };
    if matches!(op, AddCarry { .. } | SubCarry { .. } | MadCarry { .. }) {
        words.take(Word::Cc);
    }
    Ok(match ty {
        Scalar::U16x2 => Integer { op, ty: Scalar::U16, packed: true },
        Scalar::S16x2 => Integer { op, ty: Scalar::S16, packed: true },
        ty => Integer { op, ty, packed: false },
    })
}
