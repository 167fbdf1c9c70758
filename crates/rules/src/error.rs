//! An error in the text of a rule, and its position.

use std::fmt;
use std::path::PathBuf;

/// Why a text of rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The file cannot be read.
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The text is not what was expected.
    Syntax {
        /// The file, or the option that the text came from.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in characters.
        column: usize,
        /// What was found and what was expected.
        why: String,
    },
}

impl Error {
    /// At byte `at` of `text`.
    pub fn at(file: &std::path::Path, text: &str, at: usize, why: impl Into<String>) -> Self {
        let before = text.get(..at.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        Error::Syntax { file: file.to_owned(), line, column, why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { file, why } => write!(f, "cannot read {}: {why}", file.display()),
            Error::Syntax { file, line, column, why } => {
                write!(f, "{}:{line}:{column}: {why}", file.display())
            }
        }
    }
}

impl std::error::Error for Error {}
