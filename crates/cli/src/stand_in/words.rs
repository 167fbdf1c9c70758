//! What all stand-ins do with words.

use std::ffi::OsStr;

/// Prints to stderr as it is; a closed one is nobody's concern.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A word as text; what is no UTF-8 cannot be one of an option's.
pub fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
