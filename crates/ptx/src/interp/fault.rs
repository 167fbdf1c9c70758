//! Why a launch ended before its end.

use crate::Pos;
use std::fmt;

/// Nothing is mapped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadAddress;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An address outside all memory (CUDA error 700).
    Address {
        /// The address.
        address: u64,
        /// How many bytes were accessed.
        bytes: u32,
        /// The space that was named.
        space: &'static str,
    },
    /// An address that is no multiple of the access size (CUDA error 716).
    Misaligned {
        /// The address.
        address: u64,
        /// The access size.
        bytes: u32,
    },
    /// `trap` (CUDA error 719).
    Trap,
    /// A failed `assert` (CUDA error 710).
    Assert,
    /// Local memory is used up (CUDA error 719).
    Stack {
        /// The limit in bytes.
        limit: u32,
    },
    /// A call through a pointer to no function (CUDA error 718).
    FunctionPointer {
        /// The pointer.
        value: u64,
    },
    /// A call of a function that nobody defines.
    Undefined {
        /// Its name.
        function: String,
    },
    /// An instruction that is not run (CUDA error 801).
    Refused {
        /// The instruction.
        instruction: String,
        /// The function it stands in.
        function: String,
        /// Why.
        reason: String,
    },
    /// The kernel takes more parameter bytes than were given.
    Parameters {
        /// How many were given.
        found: usize,
        /// How many it takes.
        expected: u32,
    },
    /// Every thread waits for another one.
    Deadlock,
    /// The host asked for an end.
    Interrupted,
}

/// A launch that failed: what, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub cause: Box<Cause>,
    /// The kernel.
    pub kernel: String,
    /// Where in the PTX, if at an instruction.
    pub pos: Option<Pos>,
    /// The block.
    pub block: [u32; 3],
    /// The thread in it.
    pub thread: [u32; 3],
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Address { address, bytes, space } => {
                write!(
                    f,
                    "access of {bytes} bytes at {address:#x} ({space}), expected an address inside an allocation"
                )
            }
            Cause::Misaligned { address, bytes } => {
                write!(f, "access of {bytes} bytes at {address:#x}, expected a multiple of {bytes}")
            }
            Cause::Trap => write!(f, "trap"),
            Cause::Assert => write!(f, "assertion failed"),
            Cause::Stack { limit } => {
                write!(f, "the local memory of a thread exceeds {limit} bytes")
            }
            Cause::FunctionPointer { value } => {
                write!(f, "call of {value:#x}, expected a pointer to a function")
            }
            Cause::Undefined { function } => {
                write!(f, "call of `{function}`, which is declared and nowhere defined")
            }
            Cause::Refused { instruction, function, reason } => {
                write!(f, "`{instruction}` in {function}: {reason}")
            }
            Cause::Parameters { found, expected } => {
                write!(f, "{found} bytes of parameters, expected {expected}")
            }
            Cause::Deadlock => write!(f, "every thread waits for another one"),
            Cause::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", self.kernel)?;
        if let Some(pos) = self.pos {
            write!(f, ", PTX {pos}")?;
        }
        write!(f, ", block {:?}, thread {:?}: {}", self.block, self.thread, self.cause)
    }
}

impl std::error::Error for Fault {}
