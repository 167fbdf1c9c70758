//! The crate's one error type.

use crate::packing::Codec;

/// A reader's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes could not be read. Offsets count from the start of the slice the
/// outermost reader was given, unless wrapped in [`Error::Inside`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end before the structure does.
    #[error("{what} at offset {at:#x}: needs {need} bytes, found {have}")]
    Truncated {
        /// The structure or field.
        what: &'static str,
        /// Where it begins.
        at: u64,
        /// Its length.
        need: u64,
        /// Bytes present.
        have: u64,
    },
    /// A field has an invalid value.
    #[error("{what} at offset {at:#x}: {field} is {found:#x}, expected {expected}")]
    Field {
        /// The structure.
        what: &'static str,
        /// The field in it.
        field: &'static str,
        /// Where the field is.
        at: u64,
        /// Its value.
        found: u64,
        /// What would have been right.
        expected: String,
    },
    /// A claimed size is over a limit.
    #[error("{what} at offset {at:#x}: {found} bytes or items, over the limit of {limit} ({name})")]
    TooBig {
        /// What is too big.
        what: &'static str,
        /// Where it is claimed.
        at: u64,
        /// The claim.
        found: u64,
        /// The bound it breaks.
        limit: u64,
        /// The field of [`Limits`](crate::limits::Limits) that holds the bound.
        name: &'static str,
    },
    /// Packed data that do not unpack as the header says.
    #[error("{codec} data at offset {at:#x}: {found}, expected {expected} bytes")]
    Packed {
        /// Their codec by the header.
        codec: Codec,
        /// Where they begin.
        at: u64,
        /// What the decoder found.
        found: String,
        /// Unpacked size by the header.
        expected: u64,
    },
    /// Invalid text.
    #[error("{what} at offset {at:#x}: found {found}, expected {expected}")]
    Syntax {
        /// The language.
        what: &'static str,
        /// Byte offset of the offending token.
        at: u64,
        /// The token.
        found: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// An ELF or archive structure that the `object` crate refused.
    #[error("{what} at offset {at:#x}: {found}, expected a well-formed file")]
    Object {
        /// The file kind.
        what: &'static str,
        /// Where the file begins.
        at: u64,
        /// The crate's message.
        found: String,
    },
    /// An error in something that lies within (or was unpacked from) a container; offsets in
    /// `source` count from the start of the inner data.
    #[error("in the {what} at offset {at:#x}: {source}")]
    Inside {
        /// The container or payload.
        what: &'static str,
        /// Where it begins in the outer bytes.
        at: u64,
        /// What went wrong in it.
        source: Box<Error>,
    },
}

impl Error {
    /// Adds the container, beginning at `at`, in which the error occurred.
    pub fn inside(self, what: &'static str, at: u64) -> Self {
        Self::Inside { what, at, source: Box::new(self) }
    }

    pub(crate) fn object(what: &'static str, at: u64, source: object::read::Error) -> Self {
        Self::Object { what, at, found: source.to_string() }
    }
}
