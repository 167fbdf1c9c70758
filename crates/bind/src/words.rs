//! A PTX text as a list of words.
//!
//! Owns: looking ahead and finding ends. Must not know: what the words mean.

use cushim_image::ptx::{Lexer, Token};

use crate::error::Error;

/// The words of a text, which ends at a NUL.
pub struct Words<'a> {
    /// The text.
    pub text: &'a [u8],
    tokens: Vec<Token<'a>>,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let text = text.get(..end).unwrap_or(text);
        Words { text, tokens: Lexer::new(text).collect() }
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Word `i`; empty after the end.
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.tokens.get(i).map_or(b"", |token| token.text)
    }

    /// Word `i` as text.
    pub fn name(&self, i: usize) -> String {
        String::from_utf8_lossy(self.get(i)).into_owned()
    }

    /// The start of word `i`; the text's end after the last.
    pub fn at(&self, i: usize) -> usize {
        self.tokens.get(i).map_or(self.text.len(), |token| token.at)
    }

    /// Where word `i` ends.
    pub fn end(&self, i: usize) -> usize {
        self.at(i) + self.get(i).len()
    }

    /// The text of words `from..to`, with what is between them.
    pub fn slice(&self, from: usize, to: usize) -> String {
        if from >= to {
            return String::new();
        }
        let bytes = self.text.get(self.at(from)..self.end(to - 1)).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The first word from `from` on that is `wanted`, outside of brackets of any kind that begin there.
    pub fn find(&self, from: usize, wanted: &[u8]) -> Option<usize> {
        let mut depth = 0usize;
        for i in from..self.len() {
            match self.get(i) {
                word if depth == 0 && word == wanted => return Some(i),
                b"{" | b"(" | b"[" => depth += 1,
                b"}" | b")" | b"]" => depth = depth.checked_sub(1)?,
                _ => {}
            }
        }
        None
    }

    /// The `}` of the `{` at `open`.
    pub fn closing(&self, open: usize) -> Result<usize, Error> {
        let mut depth = 0usize;
        for i in open..self.len() {
            match self.get(i) {
                b"{" => depth += 1,
                b"}" if depth == 1 => return Ok(i),
                b"}" => depth -= 1,
                _ => {}
            }
        }
        Err(self.error(open, "`{` without its `}`"))
    }

    /// The first word after the line of word `i`.
    pub fn next_line(&self, i: usize) -> usize {
        let rest = self.text.get(self.at(i)..).unwrap_or_default();
        let end =
            rest.iter().position(|byte| *byte == b'\n').map_or(self.text.len(), |n| self.at(i) + n);
        (i + 1..self.len()).find(|i| self.at(*i) > end).unwrap_or(self.len())
    }

    pub fn error(&self, i: usize, why: impl Into<String>) -> Error {
        Error::at(self.text, self.at(i), why)
    }
}

/// Whether a word can be a name.
pub fn is_name(word: &[u8]) -> bool {
    word.first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%'))
}

/// A whole number as PTX writes it, with its sign.
pub fn number(word: &[u8]) -> Option<u64> {
    let word = std::str::from_utf8(word).ok()?.trim_end_matches('U');
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    match digits {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if word.len() > 1 && word.starts_with('0') => u64::from_str_radix(word, 8).ok(),
        None => word.parse().ok(),
    }
}
