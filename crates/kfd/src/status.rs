//! Status codes of the functions, and the conversion of panics to a status.

/// HSAKMT_STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Status {
    Success = 0,
    Error = 1,
    InvalidParameter = 3,
    InvalidHandle = 4,
    InvalidNode = 5,
    NoMemory = 6,
    NotImplemented = 10,
    NotSupported = 11,
    WaitTimeout = 31,
    NotRegistered = 36,
}

/// Runs the body of a function; a panic only becomes an error for its caller.
pub fn guarded(work: impl FnOnce() -> Status) -> Status {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(Status::Error)
}

/// Prints a line about an error for the user.
pub(crate) fn say(text: &str) {
    eprintln!("cushim gpu: {text}");
}
