//! What goes wrong below the driver.
//!
//! Must not know: what CUDA calls it.

use std::fmt;

/// What went wrong below the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No memory of that size.
    OutOfMemory,
    /// An address that nothing is at.
    InvalidAddress(u64),
    /// The code cannot be used on this device.
    NoImage(String),
    /// The code is damaged or not understood.
    InvalidImage(String),
    /// What the accelerator does not do; the text names it.
    NotSupported(String),
    /// A kernel touched what is not its own (700).
    IllegalAddress(String),
    /// A kernel touched memory misaligned (716).
    Misaligned(String),
    /// A failed `assert` (710).
    Assert(String),
    /// An instruction with operands that it must not have (715).
    IllegalInstruction(String),
    /// Any other end of a kernel before its end: trap, bad instruction (719).
    Launch(String),
    /// What the device's own software refused, for which CUDA has no name (999).
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
