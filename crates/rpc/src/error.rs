//! Errors that stop the server.

use std::fmt;

/// The device did something that the protocol or the user does not allow: what, where, and what was
/// expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// Why a conversation ends before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The kernel ended, or died, in the middle of it.
    Gone,
    /// The program calls exit with this status.
    Exit(i32),
    /// The program calls abort.
    Abort,
    /// The device violated the protocol.
    Fault(Fault),
}

impl Stop {
    /// A fault with this text.
    pub fn fault(text: impl Into<String>) -> Self {
        Stop::Fault(Fault(text.into()))
    }
}
