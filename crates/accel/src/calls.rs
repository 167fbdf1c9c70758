//! The number of the program's call that work is for, where somebody records calls.
//!
//! Owns who is asked. Must not know who records, or why.

use std::sync::OnceLock;

static NUMBER: OnceLock<fn() -> u64> = OnceLock::new();

/// Sets the source of the numbers; only the first call counts.
pub fn number_with(number: fn() -> u64) {
    let _ = NUMBER.set(number);
}

/// The number of the call that this thread is in; 0 where it is not recorded.
#[inline]
pub fn number() -> u64 {
    NUMBER.get().map_or(0, |number| number())
}
