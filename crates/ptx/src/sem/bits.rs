//! Bit operations: logic, shifts, fields, permutations (PTX ISA 9, "Logic and Shift Instructions", and the integer
//! instructions on bits).
//!
//! Owns the meaning of their words, and the table of `lop3`. [`crate::alu`] computes a lane's result. Must not know
//! operands' values.

use super::reader::{Reader, Unsupported};
use crate::operand::Src;
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// An operation on bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits {
    /// What is computed.
    pub op: BitOp,
    /// The type; a predicate has one bit. A shift to the right, `bfe`, `bfind` and `szext` depend on the sign.
    pub ty: Scalar,
}

/// An operation on bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum BitOp {
    And,
    Or,
    Xor,
    Not,
    /// Whether all are 0.
    Cnot,
    /// For each bit, bit `4a + 2b + c` of the table; whether any is set, combined with the fifth operand, is the second
    /// result.
    Lop3 {
        table: u8,
        then: Option<Logic>,
    },
    Shl,
    Shr,
    /// The upper word of a pair shifted to the left, or the lower of one shifted to the right, by an amount that wraps
    /// at 32 or stops there.
    Funnel {
        left: bool,
        wrap: bool,
    },
    Permute(Permute),
    Popc,
    Clz,
    Brev,
    /// The highest bit that differs from the sign: its number, or the distance by which it must be shifted left.
    Bfind {
        amount: bool,
    },
    Fns,
    Bfe,
    Bfi,
    Bmsk {
        wrap: bool,
    },
    Szext {
        wrap: bool,
    },
}

/// How two predicates are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    /// Its result.
    #[inline(always)]
    pub const fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

/// Which bytes of a pair of words the third operand of `prmt` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum Permute {
    /// Any, by four numbers; their highest bits ask for the sign.
    Any,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

impl BitOp {
    /// Whether operand `n` is a number of bits, which has 32 whatever the type.
    pub const fn is_amount(self, n: usize) -> bool {
        match self {
            BitOp::Shl | BitOp::Shr | BitOp::Szext { .. } => n == 1,
            BitOp::Bfe => n >= 1,
            BitOp::Bfi => n >= 2,
            BitOp::Funnel { .. } => n == 2,
            _ => false,
        }
    }
}

pub(super) const LOGIC: [(Word, Logic); 3] =
    [(Word::And, Logic::And), (Word::Or, Logic::Or), (Word::Xor, Logic::Xor)];

const PERMUTES: [(Word, Permute); 6] = [
    (Word::F4e, Permute::F4e),
    (Word::B4e, Permute::B4e),
    (Word::Rc8, Permute::Rc8),
    (Word::Ecl, Permute::Ecl),
    (Word::Ecr, Permute::Ecr),
    (Word::Rc16, Permute::Rc16),
];

pub(super) fn lower(words: &mut Reader<'_>) -> Result<Bits, Unsupported> {
    let bits = |ty: Scalar| {
        matches!(ty.kind(), Kind::Pred | Kind::Bits | Kind::Unsigned | Kind::Signed)
            && ty.bits() <= 64
    };
    let ty = words.ty(0, bits, "a bit or integer type")?;
    let wrap = |words: &mut Reader<'_>| {
        words.need(&[(Word::Wrap, true), (Word::Clamp, false)], "`.wrap` or `.clamp`")
    };
    let op = match words.inst.op {
        Op::And => BitOp::And,
        Op::Or => BitOp::Or,
        Op::Xor => BitOp::Xor,
        Op::Not => BitOp::Not,
        Op::Cnot => BitOp::Cnot,
        Op::Lop3 => {
            let Some(Src::Imm(table)) = words.inst.src.get(3) else {
                return Err(words.wrong("a table in a register".into(), "a constant"));
            };
            BitOp::Lop3 { table: *table as u8, then: words.choice(&LOGIC[..2]) }
        }
        Op::Shl => BitOp::Shl,
        Op::Shr => BitOp::Shr,
        Op::Shf => BitOp::Funnel {
            left: words.need(&[(Word::L, true), (Word::R, false)], "`.l` or `.r`")?,
            wrap: wrap(words)?,
        },
        Op::Prmt => BitOp::Permute(words.choice(&PERMUTES).unwrap_or(Permute::Any)),
        Op::Popc => BitOp::Popc,
        Op::Clz => BitOp::Clz,
        Op::Brev => BitOp::Brev,
        Op::Bfind => BitOp::Bfind { amount: words.take(Word::Shiftamt) },
        Op::Fns => BitOp::Fns,
        Op::Bfe => BitOp::Bfe,
        Op::Bfi => BitOp::Bfi,
        Op::Bmsk => BitOp::Bmsk { wrap: wrap(words)? },
        _ => BitOp::Szext { wrap: wrap(words)? },
    };
    Ok(Bits { op, ty })
}
