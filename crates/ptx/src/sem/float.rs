//! Floating-point arithmetic (PTX ISA 9, "Floating Point Instructions", "Half Precision").
//!
//! Owns the meaning of its words. [`crate::alu`] computes a lane's result. Must not know operands' values.

use super::reader::{Reader, Unsupported};
use crate::operand::Src;
use crate::soft::Round;
use crate::table::{Op, Word};
use crate::types::Scalar;

/// Arithmetic of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Float {
    /// What is computed.
    pub op: FloatOp,
    /// The format: `f16`, `bf16`, `f32`, `f64`.
    pub ty: Scalar,
    /// On both halves of a register, each by itself.
    pub packed: bool,
    /// How the result rounds.
    pub round: Round,
    /// No rounding is named: a sum or a product may become part of a fused multiply-add ([`crate::contract()`]).
    pub contract: bool,
    /// Subnormal operands and results become zeros.
    pub flush: bool,
    /// How values beyond a range are clamped.
    pub clamp: Clamp,
}

/// An operation on floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div(Precision),
    Rcp(Precision),
    Sqrt(Precision),
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
    Abs,
    Neg,
    Min(Extreme),
    Max(Extreme),
    Copysign,
}

/// How near a quotient or root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// As it rounds.
    Rounded,
    /// Within a bound, for all operands (`.full`).
    Full,
    /// Within a bound, for operands of some range (`.approx`).
    Approx,
}

/// How the lesser or greater of numbers is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extreme {
    /// NaN if an operand is NaN; otherwise the operand that is a number.
    pub nan: bool,
    /// On absolute values.
    pub absolute: bool,
    /// The result gets the signs' exclusive or.
    pub xorsign: bool,
    /// With three operands.
    pub three: bool,
}

impl Extreme {
    /// With two operands, unchanged; a number is preferred to a NaN.
    pub const fn is_plain(self) -> bool {
        !(self.nan || self.absolute || self.xorsign || self.three)
    }
}

impl Float {
    /// The other sign, and nothing else: of numbers of this type, packed ones too.
    pub fn negation(ty: Scalar) -> Float {
        let (ty, packed) = element(ty).unwrap_or((ty, false));
        let (round, clamp) = (Round::Nearest, Clamp::None);
        Float { op: FloatOp::Neg, ty, packed, round, contract: false, flush: false, clamp }
    }
}

/// The clamping of results to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// They stay.
    None,
    /// Into 0 to 1, NaN to 0 (`.sat`).
    Unit,
    /// Clamps negative values to 0 (`.relu`).
    Relu,
}

const ROUNDS: [(Word, Round); 4] = [
    (Word::Rn, Round::Nearest),
    (Word::Rz, Round::Zero),
    (Word::Rm, Round::Down),
    (Word::Rp, Round::Up),
];

pub(super) fn round(words: &mut Reader<'_>) -> Option<Round> {
    words.choice(&ROUNDS)
}

/// Where both are there, `.sat` says more.
pub(super) fn clamp(words: &mut Reader<'_>) -> Clamp {
    let (unit, relu) = (words.take(Word::Sat), words.take(Word::Relu));
    match (unit, relu) {
        (true, _) => Clamp::Unit,
        (false, true) => Clamp::Relu,
        (false, false) => Clamp::None,
    }
}

/// The format of a type's numbers, and whether there are two.
pub(super) fn element(ty: Scalar) -> Option<(Scalar, bool)> {
    match ty {
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => Some((ty, false)),
        Scalar::F16x2 => Some((Scalar::F16, true)),
        Scalar::Bf16x2 => Some((Scalar::Bf16, true)),
        _ => None,
    }
}

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Float, Unsupported> {
    let ty = words.ty(0, |ty| element(ty).is_some(), "a floating-point type")?;
    let (ty, packed) = element(ty).unwrap_or((ty, false));
    let precision = |words: &mut Reader<'_>| {
        let bounds = [(Word::Approx, Precision::Approx), (Word::Full, Precision::Full)];
        words.choice(&bounds).unwrap_or(Precision::Rounded)
    };
    let third = !matches!(words.inst.src.get(2), None | Some(Src::None));
    let op = match words.inst.op {
        Op::Add => FloatOp::Add,
        Op::Sub => FloatOp::Sub,
        Op::Mul => FloatOp::Mul,
        Op::Fma => FloatOp::Fma,
        Op::Div => FloatOp::Div(precision(words)),
        Op::Rcp => FloatOp::Rcp(precision(words)),
        Op::Min => FloatOp::Min(extreme(words, third)),
        Op::Max => FloatOp::Max(extreme(words, third)),
        Op::Abs => FloatOp::Abs,
        Op::Neg => FloatOp::Neg,
        Op::Copysign => FloatOp::Copysign,
        Op::Sqrt => FloatOp::Sqrt(precision(words)),
        op => {
            words.need(&[(Word::Approx, ())], "`.approx`")?;
            match op {
                Op::Rsqrt => FloatOp::Rsqrt,
                Op::Sin => FloatOp::Sin,
                Op::Cos => FloatOp::Cos,
                Op::Lg2 => FloatOp::Lg2,
                Op::Ex2 => FloatOp::Ex2,
                _ => FloatOp::Tanh,
            }
        }
    };
    let named = round(words);
    let contract = named.is_none() && matches!(op, FloatOp::Add | FloatOp::Sub | FloatOp::Mul);
    let round = named.unwrap_or(Round::Nearest);
    let flush = words.take(Word::Ftz);
    Ok(Float { op, ty, packed, round, contract, flush, clamp: clamp(words) })
}

fn extreme(words: &mut Reader<'_>, three: bool) -> Extreme {
    Extreme {
        nan: words.take(Word::Nan),
        absolute: words.take(Word::Abs),
        xorsign: words.take(Word::Xorsign),
        three,
    }
}
