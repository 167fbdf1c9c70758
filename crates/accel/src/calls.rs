//! The number of the recorded CUDA call that submitted a piece of work, if calls are recorded.
//!
//! Owns the function that returns the number. Must not know who records, or why.

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
