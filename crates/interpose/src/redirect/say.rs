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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_an_owner_in_words() {
        // Memory is what no loaded file holds.
        let text = String::from(".version 7.0\n.target sm_52\n.address_size 64\n\0");
        // SAFETY: PTX text with its end, there for as long as `code`.
        let code = unsafe { Code::from_pointer(text.as_ptr().addr()) };
        assert_eq!(owner(&code), "memory");
        assert_eq!(owner(&code.of_file("new.ptx")), "new.ptx");
    }
}
