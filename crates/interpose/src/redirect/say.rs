//! Messages about redirection.
//!
//! Must not know: rules.

use crate::layouts::Code;
use crate::log::{self, Level};

/// Says something on stderr.
pub fn say(text: std::fmt::Arguments<'_>) {
    log::line(Level::Error, format_args!("redirect: {text}"));
}

/// Where an image came from, in words.
pub fn owner(code: &Code) -> String {
    match code.owner() {
        owner if owner.is_empty() => "memory".to_owned(),
        owner => owner,
    }
}
