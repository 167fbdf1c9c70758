//! Output of kernels that has not been shown yet.
//!
//! Owns that text: CUDA shows it when the program synchronises or launches again, in the order in which it was
//! printed, through the C library's `stdout`, so that it comes in the right place among the program's own output.
//! Must not know: who printed it.

use std::sync::Mutex;

use crate::locks::lock;

/// The most buffered text: more is written at once. (CUDA's buffer is as large by default, and
/// overwrites what did not fit.)
const WAITING: usize = 1 << 20;

static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// The C library's stream.
    static stdout: *mut libc::FILE;
}

/// Appends text.
pub fn push(bytes: &[u8]) {
    let full = {
        let mut printed = lock(&PRINTED);
        printed.extend_from_slice(bytes);
        printed.len() > WAITING
    };
    if full {
        flush();
    }
}

/// Writes the buffered text.
pub fn flush() {
    let mut printed = lock(&PRINTED);
    if printed.is_empty() {
        return;
    }
    // SAFETY: the C library's own stream and a buffer of that length. The lock is held, so that texts
    // keep their order.
    unsafe { libc::fwrite(printed.as_ptr().cast(), 1, printed.len(), stdout) };
    printed.clear();
}

/// The message of a failed `assert`, which CUDA shows at once.
pub fn assertion(message: &str) {
    // SAFETY: a buffer of that length; nobody can be told of a failure.
    unsafe { libc::write(2, message.as_ptr().cast(), message.len()) };
}
