//! What can go wrong while a trace is written or read.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of the recorder or the reader: what was found, where, and what was expected.
#[derive(Debug)]
pub enum Error {
    /// A system call on the file failed.
    Io {
        /// What was being done, as a verb phrase ("open", "map a chunk of").
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a trace, or not one that this version reads.
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected there.
        expected: &'static str,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Error::Io { doing, path: path.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => {
                write!(f, "cannot {doing} {}: {source}", path.display())
            }
            Error::Foreign { path, found, expected } => {
                write!(f, "{}: found {found}, expected {expected}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Foreign { .. } => None,
        }
    }
}
