//! Errors of the program, and their exit codes.

use cushim_names::Foreign as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of a subcommand: its exit code, or why it failed.
pub type Outcome = Result<u8, Error>;

/// Exit code: cushim itself failed (as `env` and `timeout` have it).
pub const OWN_FAILURE: u8 = 125;
/// Exit code: the program was found but cannot be run.
pub const NOT_RUNNABLE: u8 = 126;
/// Exit code: the program was not found.
pub const NOT_FOUND: u8 = 127;

/// A failure of the program: what was found, where, and what was expected. One line each.
#[derive(Debug)]
pub enum Error {
    /// A system call failed.
    Io {
        /// What was being done, as a verb phrase ("open", "make the folder").
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An argument that is well formed but cannot be used.
    Usage(String),
    /// The preloaded library cannot be found or cannot be used.
    Library(String),
    /// The traced program cannot be started.
    Start {
        /// The program as it was given.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// A trace file cannot be read.
    Trace(cushim_trace::Error),
}

impl Error {
    /// A failed system call on `path`.
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Error::Io { doing, path: path.to_owned(), source }
    }

    /// Its exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Error::Start { .. } => NOT_RUNNABLE,
            _ => OWN_FAILURE,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => {
                write!(f, "cannot {doing} {}: {}", path.shown(), plain(source))
            }
            Error::Usage(what) | Error::Library(what) => f.write_str(what),
            Error::Start { program, source } => {
                write!(f, "cannot run {}: {}", program.shown(), plain(source))
            }
            Error::Foreign { path, found, expected } => {
                write!(f, "{}: found {}, expected {expected}", path.shown(), found.shown())
            }
            // Its text already names the file.
            Error::Trace(error) => words(error.to_string()).shown().fmt(f),
        }
    }
}

/// The system's words without Rust's ` (os error 2)`.
fn plain(error: &io::Error) -> String {
    words(error.to_string())
}

fn words(text: String) -> String {
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Start { source, .. } => Some(source),
            Error::Trace(error) => Some(error),
            _ => None,
        }
    }
}

impl From<cushim_analysis::Error> for Error {
    fn from(error: cushim_analysis::Error) -> Self {
        use cushim_analysis::Error as Found;
        match error {
            Found::Io { doing, path, source } => Error::Io { doing, path, source },
            Found::Trace(error) => Error::Trace(error),
            Found::Taken(source) => Error::io("write", Path::new("the output"), source),
            Found::NoTrace(_) | Found::Expression { .. } => Error::Usage(error.to_string()),
        }
    }
}

impl From<cushim_trace::Error> for Error {
    fn from(error: cushim_trace::Error) -> Self {
        Error::Trace(error)
    }
}
