//! Video instructions (PTX ISA 9, "Scalar Video Instructions", "SIMD Video Instructions").
//!
//! Owns the operation on parts of words, and the second operation. The fourth operand selects the parts
//! ([`crate::alu::Selectors`]). Must not know operands' values.

use super::compare::Outcomes;
use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::Scalar;

/// A video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Video {
    /// What is done with two parts.
    pub op: VideoOp,
    /// The result and the operands are signed.
    pub signed: [bool; 3],
    /// A result is taken into the range of its type.
    pub saturate: bool,
    /// What is done with it and the third operand.
    pub then: Option<Then>,
}

/// What is done with two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum VideoOp {
    Add,
    Sub,
    AbsoluteDifference,
    Average,
    Min,
    Max,
    /// By an amount that wraps at 32 or stops there.
    Shl {
        wrap: bool,
    },
    Shr {
        wrap: bool,
    },
    /// One where it holds, else zero.
    Compare(Outcomes),
    /// A product and the third operand, with one more, shifted to the right.
    Mad {
        plus_one: bool,
        shift: u8,
    },
}

/// A second operation, with the third operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum Then {
    Add,
    Min,
    Max,
}

const COMPARISONS: [(Word, Outcomes); 6] = [
    (Word::Eq, Outcomes(0b010)),
    (Word::Ne, Outcomes(0b101)),
    (Word::Lt, Outcomes(0b001)),
    (Word::Le, Outcomes(0b011)),
    (Word::Gt, Outcomes(0b100)),
    (Word::Ge, Outcomes(0b110)),
];

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Video, Unsupported> {
    let [first, second, third, _] = words.inst.types;
    let wrap = |words: &mut Reader<'_>| {
        words.need(&[(Word::Wrap, true), (Word::Clamp, false)], "`.wrap` or `.clamp`")
    };
    let op = match words.inst.op {
        Op::Vadd => VideoOp::Add,
        Op::Vsub => VideoOp::Sub,
        Op::Vabsdiff => VideoOp::AbsoluteDifference,
        Op::Vavrg => VideoOp::Average,
        Op::Vmin => VideoOp::Min,
        Op::Vmax => VideoOp::Max,
        Op::Vshl => VideoOp::Shl { wrap: wrap(words)? },
        Op::Vshr => VideoOp::Shr { wrap: wrap(words)? },
        Op::Vset => VideoOp::Compare(words.need(&COMPARISONS, "a comparison")?),
        _ => VideoOp::Mad {
            plus_one: words.take(Word::Po),
            shift: words.choice(&[(Word::Shr7, 7), (Word::Shr15, 15)]).unwrap_or(0),
        },
    };
    // A comparison has no type for its result, which is a count.
    let types = match op {
        VideoOp::Compare(_) => [Scalar::U32, first, second],
        _ => [first, second, third],
    };
    Ok(Video {
        op,
        signed: types.map(Scalar::is_signed),
        saturate: words.take(Word::Sat),
        then: words.choice(&[
            (Word::Add, Then::Add),
            (Word::Min, Then::Min),
            (Word::Max, Then::Max),
        ]),
    })
}
