//! Moves and control flow (PTX ISA 9, `mov`, "Control Flow Instructions", `activemask`, `nanosleep`).
//!
//! Owns the operations that have hardly any modifiers. Must not know operands: branch targets, called functions, and
//! the parts of a value are operands of the instruction.

use super::reader::{Reader, Unsupported};
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// Control flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Control {
    /// At the instruction that operand 0 names.
    Branch,
    /// Jumps to the instruction of operand 1's list that operand 0 selects; beyond the list it falls through.
    BranchTable,
    /// Continues in a function, and afterwards after the call.
    Call,
    /// Behind the call that the function was entered by; in a kernel nowhere.
    Return,
    /// Nowhere.
    Exit,
    /// Nowhere, and the launch has failed.
    Trap,
}

impl Control {
    /// Whether it ends a basic block: what follows it is reached only where its guard is false, or by a table's end.
    pub const fn ends_block(self) -> bool {
        !matches!(self, Control::Call)
    }
}

/// The type of a `mov`: its one value, or its parts together, have so many bits.
pub(super) fn moved(words: &mut Reader<'_>) -> Result<Scalar, Unsupported> {
    // Policies: the checker has replaced their operands by the values.
    for word in [Word::Fractional, Word::Range, Word::Cvt, Word::L2, Word::Global] {
        words.take(word);
    }
    words.ty(0, |ty| ty.kind() == Kind::Pred || ty.bits() <= 64, "a type of registers")
}

pub(super) fn lower(words: &mut Reader<'_>) -> Control {
    // That all lanes go the same way is found out, not believed.
    words.take(Word::Uni);
    words.take(Word::Idx);
    match words.inst.op {
        Op::Bra => Control::Branch,
        Op::BrxIdx => Control::BranchTable,
        Op::Call => Control::Call,
        Op::Ret => Control::Return,
        Op::Exit => Control::Exit,
        _ => Control::Trap,
    }
}
