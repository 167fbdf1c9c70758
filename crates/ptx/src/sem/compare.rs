//! Comparison and selection (PTX ISA 9, "Comparison and Selection Instructions", `testp`).
//!
//! Owns a comparison's relation, its type, and the predicate that it is combined with. [`crate::alu`] computes a
//! lane's result. Must not know operands' values.

use super::bits::{LOGIC, Logic};
use super::float;
use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compare {
    /// The outcomes for which it holds.
    pub holds: Outcomes,
    /// What is compared.
    pub of: Compared,
    /// Both halves of registers, each by itself.
    pub packed: bool,
    /// With the predicate operand.
    pub then: Option<Logic>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compared {
    /// Integers.
    Integers {
        /// The number of bits.
        bits: u32,
        /// As signed ones.
        signed: bool,
    },
    /// Numbers.
    Floats {
        /// The format.
        ty: Scalar,
        /// Subnormal ones are zeros.
        flush: bool,
    },
}

/// A set of what a comparison may find: a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcomes(pub u8);

impl Outcomes {
    /// The first is less.
    pub const LESS: u8 = 1;
    /// Both are equal.
    pub const EQUAL: u8 = 2;
    /// The first is greater.
    pub const GREATER: u8 = 4;
    /// One of them is a NaN.
    pub const UNORDERED: u8 = 8;

    /// Whether one of these is among them; `None`: one is a NaN.
    #[inline(always)]
    pub const fn holds(self, found: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let bit = match found {
            Some(Less) => Outcomes::LESS,
            Some(Equal) => Outcomes::EQUAL,
            Some(Greater) => Outcomes::GREATER,
            None => Outcomes::UNORDERED,
        };
        self.0 & bit != 0
    }
}

/// What a comparison sets a register to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Set {
    /// Asked of the operands.
    pub compare: Compare,
    /// True is all ones of an integer type, or one of a number's.
    pub truth: Scalar,
}

/// The type in which the third operand's sign is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Selector {
    /// An integer.
    Integer,
    /// A single; subnormal ones may be zeros.
    Single {
        /// They are.
        flush: bool,
    },
}

/// A test of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Test {
    /// The property to test.
    pub is: FloatClass,
    /// The number's format.
    pub ty: Scalar,
}

/// Classes of numbers. Zeros are normal (ISA, `testp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Which outcomes a word names, of integers taken as unsigned whatever their type, of numbers alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Any,
    Unsigned,
    Floats,
}

const COMPARISONS: [(Word, (u8, Of)); 18] = [
    (Word::Eq, (0b0010, Of::Any)),
    (Word::Ne, (0b0101, Of::Any)),
    (Word::Lt, (0b0001, Of::Any)),
    (Word::Le, (0b0011, Of::Any)),
    (Word::Gt, (0b0100, Of::Any)),
    (Word::Ge, (0b0110, Of::Any)),
    (Word::Lo, (0b0001, Of::Unsigned)),
    (Word::Ls, (0b0011, Of::Unsigned)),
    (Word::Hi, (0b0100, Of::Unsigned)),
    (Word::Hs, (0b0110, Of::Unsigned)),
    (Word::Equ, (0b1010, Of::Floats)),
    (Word::Neu, (0b1101, Of::Floats)),
    (Word::Ltu, (0b1001, Of::Floats)),
    (Word::Leu, (0b1011, Of::Floats)),
    (Word::Gtu, (0b1100, Of::Floats)),
    (Word::Geu, (0b1110, Of::Floats)),
    (Word::Num, (0b0111, Of::Floats)),
    (Word::CmpNan, (0b1000, Of::Floats)),
];

const CLASSES: [(Word, FloatClass); 6] = [
    (Word::Finite, FloatClass::Finite),
    (Word::Infinite, FloatClass::Infinite),
    (Word::Number, FloatClass::Number),
    (Word::Notanumber, FloatClass::NotANumber),
    (Word::Normal, FloatClass::Normal),
    (Word::Subnormal, FloatClass::Subnormal),
];

/// A comparison of operands of type `n`.
pub(super) fn compare(words: &mut Reader<'_>, n: usize) -> Result<Compare, Unsupported> {
    let ty = words.inst.types.get(n).copied().unwrap_or(Scalar::B32);
    let (holds, only) = words.need(&COMPARISONS, "a comparison such as `.eq`")?;
    let (of, packed) = match (float::element(ty), ty.kind()) {
        (Some((ty, packed)), _) if only != Of::Unsigned => {
            (Compared::Floats { ty, flush: words.take(Word::Ftz) }, packed)
        }
        (None, Kind::Bits | Kind::Unsigned | Kind::Signed) if only != Of::Floats => {
            // Integers have nothing to flush.
            words.take(Word::Ftz);
            let signed = ty.is_signed() && only != Of::Unsigned;
            (Compared::Integers { bits: ty.bits(), signed }, false)
        }
        _ => {
            return Err(
                words.wrong(format!("`.{}`", ty.name()), "a type that this comparison takes")
            );
        }
    };
    let then = words.choice(&LOGIC);
    Ok(Compare { holds: Outcomes(holds), of, packed, then })
}

pub(super) fn set(words: &mut Reader<'_>) -> Result<Set, Unsupported> {
    Ok(Set { compare: compare(words, 1)?, truth: words.inst.types[0] })
}

/// `slct`.
pub(super) fn selector(words: &mut Reader<'_>) -> Result<Selector, Unsupported> {
    let flush = words.take(Word::Ftz);
    match words.inst.types[1] {
        Scalar::F32 => Ok(Selector::Single { flush }),
        Scalar::S32 => Ok(Selector::Integer),
        ty => Err(words.wrong(format!("`.{}`", ty.name()), "`.s32` or `.f32`")),
    }
}

pub(super) fn test(words: &mut Reader<'_>) -> Result<Test, Unsupported> {
    debug_assert_eq!(words.inst.op, Op::Testp);
    let ty = words.ty(0, |ty| matches!(ty, Scalar::F32 | Scalar::F64), "`.f32` or `.f64`")?;
    Ok(Test { is: words.need(&CLASSES, "a class of numbers such as `.finite`")?, ty })
}
