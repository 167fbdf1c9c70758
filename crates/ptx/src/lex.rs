//! Text -> tokens with positions.
//!
//! Owns the spelling of PTX: names, numbers, comments. A dotted word is one
//! token, because after a dot PTX has words no other place has (`.128B`,
//! `.L2::cache_hint`).

use crate::error::{Error, Pos};

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// A name, with its `%`, `$` or `_`.
    Name(&'a str),
    /// A word after a dot, without the dot.
    Dot(&'a str),
    /// An integer; the flag is its `U` suffix or a value above `i64::MAX`.
    Int(u64, bool),
    /// `0f...`.
    F32(u32),
    /// `0d...` or decimal.
    F64(u64),
    /// A string, without its quotes and with escapes as written.
    Str(&'a str),
    /// Punctuation or an operator.
    Punct(&'static str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token in words, for messages.
    pub fn describe(&self) -> String {
        match self {
            Token::Name(n) => format!("`{n}`"),
            Token::Dot(n) => format!("`.{n}`"),
            Token::Int(v, _) => format!("the number {v}"),
            Token::F32(v) => format!("the number 0f{v:08X}"),
            Token::F64(v) => format!("the number {}", f64::from_bits(*v)),
            Token::Str(_) => "a string".into(),
            Token::Punct(p) => format!("`{p}`"),
            Token::End => "the end of the text".into(),
        }
    }
}

const PUNCT: &[&str] = &[
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", "<", ">", ",",
    ";", ":", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "?", "@",
];

/// All tokens of `text`, the last one being [`Token::End`]. A zero byte ends
/// the text, since images store PTX that way.
pub fn tokens(text: &str) -> Result<Vec<(Token<'_>, Pos)>, Error> {
    let text = text.split('\0').next().unwrap_or("");
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1, line_start: 0 };
    let mut out = Vec::with_capacity(text.len() / 5);
    loop {
        lexer.skip_blank()?;
        let pos = lexer.pos();
        let token = lexer.next()?;
        out.push((token, pos));
        if token == Token::End {
            return Ok(out);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

impl<'a> Lexer<'a> {
    fn pos(&self) -> Pos {
        Pos { line: self.line, column: (self.at - self.line_start) as u32 + 1 }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn advance(&mut self) {
        if self.peek(0) == b'\n' {
            self.line += 1;
            self.line_start = self.at + 1;
        }
        self.at += 1;
    }

    fn error(&self, pos: Pos, found: impl Into<String>, expected: &str) -> Error {
        Error::Syntax { pos, found: found.into(), expected: expected.into() }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) -> Result<(), Error> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, _) => self.advance(),
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => {
                    let start = self.pos();
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        if self.at >= self.bytes.len() {
                            return Err(self.error(start, "an unterminated comment", "`*/`"));
                        }
                        self.advance();
                    }
                    self.at += 2;
                }
                // Preprocessor line markers, and the markers around DWARF text.
                (b'#', _) | (b'@', b'@') => self.skip_line(),
                _ => return Ok(()),
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn next(&mut self) -> Result<Token<'a>, Error> {
        let pos = self.pos();
        let c = self.peek(0);
        if self.at >= self.bytes.len() {
            return Ok(Token::End);
        }
        if c.is_ascii_digit() || (c == b'.' && self.peek(1).is_ascii_digit() && !self.dotted()) {
            return self.number();
        }
        if c.is_ascii_alphabetic() || c == b'_' || c == b'$' {
            return Ok(Token::Name(self.word()));
        }
        if c == b'%' && is_word(self.peek(1)) {
            let start = self.at;
            self.at += 1;
            self.word();
            return Ok(Token::Name(&self.text[start..self.at]));
        }
        if c == b'.' && is_word(self.peek(1)) {
            self.at += 1;
            let start = self.at;
            self.word();
            while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                self.at += 2;
                self.word();
            }
            return Ok(Token::Dot(&self.text[start..self.at]));
        }
        if c == b'"' {
            self.at += 1;
            let start = self.at;
            while self.peek(0) != b'"' {
                if self.at >= self.bytes.len() || self.peek(0) == b'\n' {
                    return Err(self.error(pos, "an unterminated string", "`\"`"));
                }
                self.at += if self.peek(0) == b'\\' && self.peek(1) != b'\n' { 2 } else { 1 };
            }
            let end = self.at.min(self.bytes.len());
            self.at += 1;
            return Ok(Token::Str(self.text.get(start..end).unwrap_or("")));
        }
        for p in PUNCT {
            if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(p.as_bytes())) {
                self.at += p.len();
                return Ok(Token::Punct(p));
            }
        }
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(ch) => format!("the character {ch:?}"),
            None => "a broken character".into(),
        };
        Err(self.error(pos, found, "a name, a number or punctuation"))
    }

    /// Whether the dot at hand belongs to the word before it (`.target.128B`).
    fn dotted(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
        before.is_some_and(|byte| is_word(*byte))
    }

    fn number(&mut self) -> Result<Token<'a>, Error> {
        let pos = self.pos();
        let (c, kind) = (self.peek(0), self.peek(1));
        if c == b'0' && matches!(kind, b'x' | b'X' | b'f' | b'F' | b'd' | b'D' | b'b' | b'B') {
            self.at += 2;
            let word = self.word();
            let unsigned = word.ends_with(['U', 'u']) && matches!(kind, b'x' | b'X' | b'b' | b'B');
            let digits = if unsigned { &word[..word.len() - 1] } else { word };
            let bad = |l: &Self, what: &str| {
                Err(l.error(pos, format!("`0{}{word}`", kind as char), what))
            };
            let radix = if matches!(kind, b'b' | b'B') { 2 } else { 16 };
            // `from_str_radix` takes a sign, which `word` never holds.
            let Ok(value) = u64::from_str_radix(digits, radix) else {
                return bad(self, "digits of a number of at most 64 bits");
            };
            return match kind {
                b'f' | b'F' if digits.len() == 8 => Ok(Token::F32(value as u32)),
                b'd' | b'D' if digits.len() == 16 => Ok(Token::F64(value)),
                b'f' | b'F' => bad(self, "eight hexadecimal digits"),
                b'd' | b'D' => bad(self, "sixteen hexadecimal digits"),
                _ => Ok(Token::Int(value, unsigned || value > i64::MAX as u64)),
            };
        }
        let start = self.at;
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
        let mut float = false;
        if self.peek(0) == b'.' && (self.peek(1).is_ascii_digit() || !is_word(self.peek(1))) {
            float = true;
            self.at += 1;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
        }
        let exponent = if matches!(self.peek(1), b'+' | b'-') { 2 } else { 1 };
        if matches!(self.peek(0), b'e' | b'E') && self.peek(exponent).is_ascii_digit() {
            float = true;
            self.at += exponent;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
        }
        let digits = &self.text[start..self.at];
        let expected = "a number of at most 64 bits";
        if float {
            let Ok(v) = digits.parse::<f64>() else {
                return Err(self.error(pos, format!("`{digits}`"), expected));
            };
            return Ok(Token::F64(v.to_bits()));
        }
        let octal = digits.len() > 1 && digits.starts_with('0');
        let suffix = self.word();
        let value = u64::from_str_radix(digits, if octal { 8 } else { 10 });
        match (value, suffix) {
            (Ok(v), "" | "U" | "u") => Ok(Token::Int(v, !suffix.is_empty() || v > i64::MAX as u64)),
            _ => Err(self.error(pos, format!("`{digits}{suffix}`"), expected)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token<'_>> {
        tokens(text).unwrap().into_iter().map(|t| t.0).collect()
    }

    #[test]
    fn words_numbers_and_comments() {
        use Token::*;
        let t = kinds("@%p1 ld.L2::128B.b32 /* x\n*/ %r1, 0x1fU; // c\n 0f3F800000 1.5 017 _");
        assert_eq!(
            t,
            [
                Punct("@"),
                Name("%p1"),
                Name("ld"),
                Dot("L2::128B"),
                Dot("b32"),
                Name("%r1"),
                Punct(","),
                Int(31, true),
                Punct(";"),
                F32(0x3f80_0000),
                F64(1.5f64.to_bits()),
                Int(15, false),
                Name("_"),
                End
            ]
        );
    }

    #[test]
    fn positions_count_lines_and_columns() {
        let t = tokens("a\n  b").unwrap();
        assert_eq!(t[1].1, Pos { line: 2, column: 3 });
    }

    #[test]
    fn what_is_not_ptx_is_named() {
        let text = tokens("a\n `").unwrap_err().to_string();
        assert_eq!(text, "2:2: found the character '`', expected a name, a number or punctuation");
        assert!(tokens("0f12").unwrap_err().to_string().contains("eight hexadecimal digits"));
        assert!(tokens("99999999999999999999").is_err());
        assert!(tokens("/* ").is_err());
        assert!(tokens("\"abc").is_err());
    }
}
