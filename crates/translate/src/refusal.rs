//! Constructs that are not translated, and why.

use cushim_ptx::Pos;
use std::fmt;

/// A kernel without code, and the first reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel.
    pub kernel: String,
    /// The function that contains it: the kernel itself, or one that it calls.
    pub function: String,
    /// Where in the PTX text.
    pub pos: Pos,
    /// What is not translated.
    pub what: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}: {}", self.kernel, self.pos.line, self.what)?;
        if self.function == self.kernel { Ok(()) } else { write!(f, " (in {})", self.function) }
    }
}

/// Something in a function that is not translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) pos: Pos,
    pub(crate) what: String,
}
