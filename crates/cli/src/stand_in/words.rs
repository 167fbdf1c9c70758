//! Handling of command-line words that all stand-ins share.

use std::ffi::OsStr;

/// Prints to stderr unchanged; a closed one is ignored.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A word as text; invalid UTF-8 is in no option's word.
pub fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
