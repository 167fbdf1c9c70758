//! Foreign text, made safe to print.
//!
//! Owns: which characters are escaped for a terminal or a reader. Names of kernels, sections, files, modules,
//! processes and ranges, and pieces of source come from other people's programs; a terminal obeys control characters
//! in them, and a line break in them looks like a line of cushim's output. Must not know: where the text goes.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Foreign text that displays itself with escapes (`\u{1b}`, `\n`, `\xff`) for what is not plain: control
/// characters, line breaks, marks that change the direction of text, characters without a width, and
/// bytes that are no UTF-8. A format's width counts the characters that are shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(&'a [u8]);

impl<'a> Shown<'a> {
    /// Shows any bytes.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Shown(bytes)
    }

    /// The text itself where nothing in it needs an escape.
    pub fn text(self) -> Cow<'a, str> {
        match std::str::from_utf8(self.0) {
            Ok(text) if !text.contains(is_unsafe) => Cow::Borrowed(text),
            _ => {
                let mut out = String::with_capacity(self.0.len() + 16);
                for chunk in self.0.utf8_chunks() {
                    for c in chunk.valid().chars() {
                        match is_unsafe(c) {
                            true => out.extend(c.escape_default()),
                            false => out.push(c),
                        }
                    }
                    for byte in chunk.invalid() {
                        // A string takes everything.
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
                Cow::Owned(out)
            }
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.text())
    }
}

/// Types that hold foreign text and can be shown.
pub trait Foreign {
    /// With escapes for what is not plain.
    fn shown(&self) -> Shown<'_>;
}

impl Foreign for str {
    fn shown(&self) -> Shown<'_> {
        Shown(self.as_bytes())
    }
}

impl Foreign for OsStr {
    fn shown(&self) -> Shown<'_> {
        Shown(self.as_bytes())
    }
}

impl Foreign for Path {
    fn shown(&self) -> Shown<'_> {
        self.as_os_str().shown()
    }
}

// Implemented, not left to dereferencing: a method of `Path` would be found before one of a trait.
impl Foreign for PathBuf {
    fn shown(&self) -> Shown<'_> {
        self.as_path().shown()
    }
}

/// cushim's lines that may hold foreign text, with everything escaped except line breaks and tabs.
/// The last line of defence: foreign text inside should be a [`Shown`], which escapes those too.
pub fn lines(text: &str) -> Cow<'_, str> {
    let bad = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match bad(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal obeys the character, or a reader cannot see it.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Direction (Unicode Standard Annex 9), joiners and spaces without a width.
            '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            // Lines and paragraphs; soft hyphen; byte order mark; annotations; tags.
            | '\u{2028}' | '\u{2029}' | '\u{AD}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        for (text, shown) in [
            (&b"vecadd<float, 4>(int)"[..], "vecadd<float, 4>(int)"),
            ("noyau_é_核".as_bytes(), "noyau_é_核"),
            (b"\x1b[31mred\x1b]0;title\x07", "\\u{1b}[31mred\\u{1b}]0;title\\u{7}"),
            (b"two\nlines\r\tand \x00\x7f", "two\\nlines\\r\\tand \\u{0}\\u{7f}"),
            // C1: a terminal may take U+009B for the start of a sequence, and the bare byte, too.
            ("\u{9b}31m".as_bytes(), "\\u{9b}31m"),
            (b"\x9b31m\xff", "\\x9b31m\\xff"),
            ("a\u{202e}gpj.exe\u{2066}".as_bytes(), "a\\u{202e}gpj.exe\\u{2066}"),
            (
                "zero\u{200b}width\u{feff}\u{e0041}".as_bytes(),
                "zero\\u{200b}width\\u{feff}\\u{e0041}",
            ),
        ] {
            assert_eq!(Shown::bytes(text).to_string(), shown);
        }
        assert_eq!(format!("{:>8}|", "a\n".shown()), "     a\\n|");
        assert_eq!(Path::new("x\ny").shown().to_string(), "x\\ny");
    }

    #[test]
    fn lines_of_ours_keep_their_breaks() {
        assert_eq!(lines("a\n\tb"), "a\n\tb");
        assert_eq!(lines("a\x1b[2J\nb"), "a\\u{1b}[2J\nb");
    }
}
