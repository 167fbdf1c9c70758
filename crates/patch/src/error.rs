//! Why a static runtime cannot be redirected.

use std::fmt;

/// What was found in a file, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are no ELF file for x86-64, or a broken one.
    File(&'static str),
    /// A runtime is there whose functions have no symbols.
    NoSymbols,
    /// Symbols that do not tell the major of the runtime.
    Major,
    /// Two functions begin at one address: they cannot be told apart.
    SharedEntry {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// A function with less room than a jump takes.
    NoRoom {
        /// The function.
        name: String,
        /// The bytes up to what follows it.
        room: u64,
    },
    /// A function that lies outside the executable parts of the file.
    NotCode {
        /// The function.
        name: String,
    },
    /// A function that an archive of a near version does not locate.
    Unknown {
        /// The function.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// No library offers the runtime's functions.
    NoTarget {
        /// The version node that was looked for.
        node: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File(what) => write!(f, "it is not a complete ELF file for x86-64: {what}"),
            Error::NoSymbols => f.write_str("its symbols are stripped"),
            Error::Major => f.write_str(
                "its symbols match no known CUDA runtime (11: __cudaRegisterTexture, 12: \
                 cudaGetDeviceProperties_v2, 13: __cudaLaunchKernel)",
            ),
            Error::SharedEntry { one, other } => {
                write!(f, "{one} and {other} begin at the same address")
            }
            Error::NoRoom { name, room } => {
                write!(f, "{name} has {room} bytes, too few for a jump of {}", crate::jump::JUMP)
            }
            Error::NotCode { name } => {
                write!(f, "{name} is not in an executable segment of the file")
            }
            Error::Unknown { name, count } => write!(
                f,
                "its symbols are stripped, and by the libcudart_static.a that is nearest to its version {count} of \
                 its functions are not found, such as {name}"
            ),
            Error::NoTarget { node } => {
                write!(f, "no preloaded library exports the functions of {node}")
            }
        }
    }
}

impl std::error::Error for Error {}
