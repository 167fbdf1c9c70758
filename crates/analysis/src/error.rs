//! Reasons why traces cannot be read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use cushim_names::Foreign as _;

/// Why traces cannot be read, or an expression not be used. One line each; foreign text in it is escaped.
#[derive(Debug)]
pub enum Error {
    /// A system call failed.
    Io {
        /// What was being done, as a verb phrase ("open", "read the folder").
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is no trace, or one of another version.
    Trace(cushim_trace::Error),
    /// There is no trace file in this folder, nor in those below it.
    NoTrace(PathBuf),
    /// An invalid regular expression.
    Expression {
        /// The expression.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The receiver of the events could not take one.
    Taken(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => {
                write!(f, "cannot {doing} {}: {source}", path.shown())
            }
            // It contains the raw file name.
            Error::Trace(error) => error.to_string().shown().fmt(f),
            Error::NoTrace(folder) => {
                let folder = folder.shown();
                write!(f, "{folder}: no trace file in this folder (*.cushim, *.cushim.zst)")
            }
            Error::Expression { text, why } => {
                write!(f, "{text:?} is not a regular expression: {why}")
            }
            Error::Taken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Taken(source) => Some(source),
            Error::Trace(error) => Some(error),
            Error::NoTrace(_) | Error::Expression { .. } => None,
        }
    }
}

impl From<cushim_trace::Error> for Error {
    fn from(error: cushim_trace::Error) -> Self {
        Error::Trace(error)
    }
}
