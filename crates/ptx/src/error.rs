//! The crate's one error type, and positions in the text.

use std::fmt;

/// A position in PTX text: line and column, both counted from 1, columns in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in bytes.
    pub column: u32,
}

impl fmt::Display for Pos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why text was not accepted. Every variant says where, what was found, and
/// what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not PTX here.
    #[error("{pos}: found {found}, expected {expected}")]
    Syntax {
        /// Where.
        pos: Pos,
        /// What is there.
        found: String,
        /// What was expected there.
        expected: String,
    },
    /// A name is used and nowhere declared.
    #[error("{pos}: `{name}` is not declared, expected {expected}")]
    Undeclared {
        /// Where it is used.
        pos: Pos,
        /// The name.
        name: String,
        /// What kind of thing was expected to have that name.
        expected: &'static str,
    },
    /// A name is declared twice in one scope.
    #[error("{pos}: `{name}` is declared again, expected one declaration")]
    Redeclared {
        /// The second declaration.
        pos: Pos,
        /// The name.
        name: String,
    },
    /// Two modules that are linked define one name.
    #[error("{pos}: `{name}` is defined in two modules, expected one definition")]
    Defined {
        /// The second definition; 0:0 for a variable.
        pos: Pos,
        /// The name.
        name: String,
    },
    /// An instruction is known, but not used as the ISA allows.
    #[error("{pos}: `{instruction}`: found {found}, expected {expected}")]
    Instruction {
        /// Where the instruction begins.
        pos: Pos,
        /// Its opcode with all modifiers.
        instruction: String,
        /// What is wrong.
        found: String,
        /// What the instruction takes.
        expected: String,
    },
    /// A declaration asks for more than any device has.
    #[error("{pos}: {what} is {found}, expected at most {limit}")]
    TooLarge {
        /// Where.
        pos: Pos,
        /// Which quantity.
        what: &'static str,
        /// The requested amount.
        found: u64,
        /// How much is allowed.
        limit: u64,
    },
}

impl Error {
    /// The position of the fault in the text.
    pub fn pos(&self) -> Pos {
        match self {
            Error::Syntax { pos, .. }
            | Error::Undeclared { pos, .. }
            | Error::Redeclared { pos, .. }
            | Error::Defined { pos, .. }
            | Error::Instruction { pos, .. }
            | Error::TooLarge { pos, .. } => *pos,
        }
    }
}
