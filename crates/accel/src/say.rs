//! Messages to the user.
//!
//! Owns that each is one line in one write, so that lines of several threads do not mix. Must not know: their
//! content.

use cushim_process::limit::without_signal;

/// Writes one line to standard error, in one write.
pub fn say(text: &str) {
    let line = format!("cushim: {text}\n");
    // SAFETY: a buffer of that length; a failing write has nowhere to be reported.
    without_signal(|| unsafe { libc::write(2, line.as_ptr().cast(), line.len()) });
}
