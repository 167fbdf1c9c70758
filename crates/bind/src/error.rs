//! Reasons why a PTX text is not rewritten.

use std::fmt;

/// What could not be done, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Line of the PTX text, from 1.
    pub line: usize,
    /// What was found, and what was expected.
    pub why: String,
}

impl Error {
    pub(crate) fn at(text: &[u8], at: usize, why: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error { line, why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Error {}
