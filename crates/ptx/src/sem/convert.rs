//! Conversions (PTX ISA 9, `cvt`, `cvt.pack`).
//!
//! Owns source and destination types, rounding and clamping. [`crate::alu`] computes a lane's result. Must not know
//! operands' values.

use super::float::{self, Clamp};
use super::reader::{Reader, Unsupported};
use crate::soft::Round;
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// A conversion. The result of one to signed integers has their sign in all bits of the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the types
pub enum Convert {
    /// Between integers: truncated or extended, or clamped to the type.
    Integer { from: Scalar, to: Scalar, saturate: bool },
    /// An integer to a number.
    FromInteger { from: Scalar, to: Scalar, round: Round, clamp: Clamp },
    /// A number to an integer, the nearest that the type has.
    ToInteger { from: Scalar, to: Scalar, round: Round, flush: bool },
    /// Between numbers.
    Float { from: Scalar, to: Scalar, mode: Mode },
    /// A single to TensorFloat-32.
    Tf32(Mode),
    /// Two singles to both halves of a register, the first to the upper.
    Halves { to: Scalar, mode: Mode },
    /// Two singles to two numbers of 8 bits, the first to the upper.
    SinglesToBytes { to: Scalar, relu: bool },
    /// Two halves to two numbers of 8 bits.
    HalvesToBytes { to: Scalar, relu: bool },
    /// Two numbers of 8 bits to two halves.
    BytesToHalves { from: Scalar, clamp: Clamp },
    /// Two integers, saturated, below the bits of the third operand.
    Pack { to: Scalar },
}

impl Convert {
    /// Whether the source is one register.
    pub const fn is_of_one(&self) -> bool {
        !matches!(
            self,
            Convert::Halves { .. } | Convert::SinglesToBytes { .. } | Convert::Pack { .. }
        )
    }
}

/// How a number becomes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    /// How it rounds.
    pub round: Round,
    /// To an integer, in the same format.
    pub whole: bool,
    /// Subnormal numbers become zeros.
    pub flush: bool,
    /// How values beyond the range are converted.
    pub clamp: Clamp,
    /// Infinity becomes the largest number.
    pub finite: bool,
}

impl Mode {
    /// Whether the number is rounded to nearest, and nothing else is done to it.
    pub fn is_plain(&self) -> bool {
        let changes = self.whole || self.flush || self.finite || self.clamp != Clamp::None;
        self.round == Round::Nearest && !changes
    }
}

const WHOLE: [(Word, Round); 4] = [
    (Word::Rni, Round::Nearest),
    (Word::Rzi, Round::Zero),
    (Word::Rmi, Round::Down),
    (Word::Rpi, Round::Up),
];

fn mode(words: &mut Reader<'_>) -> Mode {
    let whole = words.choice(&WHOLE);
    let away = words.take(Word::Rna);
    let named = float::round(words);
    let round = if away { Round::Away } else { whole.or(named).unwrap_or(Round::Nearest) };
    Mode {
        round,
        whole: whole.is_some(),
        flush: words.take(Word::Ftz),
        clamp: float::clamp(words),
        finite: words.take(Word::Satfinite),
    }
}

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Convert, Unsupported> {
    let [to, from, ..] = words.inst.types;
    let bytes = |ty| matches!(ty, Scalar::E4m3x2 | Scalar::E5m2x2);
    match words.inst.op {
        Op::CvtPack => {
            words.need(&[(Word::Pack, ())], "`.pack`")?;
            words.need(&[(Word::Sat, ())], "`.sat`")?;
            return Ok(Convert::Pack { to });
        }
        Op::Cvt2 if bytes(to) => {
            let mode = mode(words);
            return Ok(Convert::SinglesToBytes { to, relu: mode.clamp == Clamp::Relu });
        }
        Op::Cvt2 => return Ok(Convert::Halves { to, mode: mode(words) }),
        _ if bytes(to) => {
            let mode = mode(words);
            return Ok(Convert::HalvesToBytes { to, relu: mode.clamp == Clamp::Relu });
        }
        _ if bytes(from) => {
            return Ok(Convert::BytesToHalves { from, clamp: mode(words).clamp });
        }
        _ if to == Scalar::Tf32 => return Ok(Convert::Tf32(mode(words))),
        _ => {}
    }
    let integer = |ty: Scalar| matches!(ty.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed);
    let number = |ty: Scalar| ty.kind() == Kind::Float;
    match (to, from) {
        _ if integer(to) && integer(from) => {
            Ok(Convert::Integer { from, to, saturate: words.take(Word::Sat) })
        }
        _ if number(to) && integer(from) => {
            let round = float::round(words).unwrap_or(Round::Nearest);
            Ok(Convert::FromInteger { from, to, round, clamp: float::clamp(words) })
        }
        _ if integer(to) && number(from) => {
            let round = words.need(&WHOLE, "a rounding to integers such as `.rzi`")?;
            // Beyond the type's range it clamps in any case (ISA, `cvt`).
            words.take(Word::Sat);
            Ok(Convert::ToInteger { from, to, round, flush: words.take(Word::Ftz) })
        }
        _ if number(to) && number(from) => Ok(Convert::Float { from, to, mode: mode(words) }),
        _ => Err(words
            .wrong(format!("`.{}.{}`", to.name(), from.name()), "integer or floating-point types")),
    }
}
