//! Failures below the driver.
//!
//! Must not know: CUDA's error codes.

use std::fmt;

/// What went wrong below the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No memory of that size.
    OutOfMemory,
    /// An address without memory.
    InvalidAddress(u64),
    /// The code cannot be used on this device.
    NoImage(String),
    /// The code is damaged or not understood.
    InvalidImage(String),
    /// Not supported by the accelerator; the text says what.
    NotSupported(String),
    /// A kernel accessed memory that it may not (700).
    IllegalAddress(String),
    /// A misaligned access of a kernel (716).
    Misaligned(String),
    /// A failed `assert` (710).
    Assert(String),
    /// An instruction with operands that it must not have (715).
    IllegalInstruction(String),
    /// Any other abnormal end of a kernel: trap, bad instruction (719).
    Launch(String),
    /// Refused by the device's own software, with an error that CUDA has no name for (999).
    Device(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::OutOfMemory => f.write_str("out of memory"),
            Failure::InvalidAddress(at) => write!(f, "no memory is at address {at:#x}"),
            Failure::NoImage(why)
            | Failure::InvalidImage(why)
            | Failure::NotSupported(why)
            | Failure::IllegalAddress(why)
            | Failure::Misaligned(why)
            | Failure::Assert(why)
            | Failure::IllegalInstruction(why)
            | Failure::Launch(why)
            | Failure::Device(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}
