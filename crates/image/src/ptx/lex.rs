//! Words and punctuation of PTX text. Owns comments, strings and where tokens end; must not know any directive.

/// A token: its bytes and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The bytes of the token.
    pub text: &'a [u8],
    /// Byte offset in the PTX text.
    pub at: usize,
}

/// Reads tokens from PTX text. A word is a directive (`.entry`), an identifier
/// (`$L__BB0_2`, `%r1`) or a number (`0x10`, `9.5`); every other character is
/// a token of its own. Comments and space are skipped; strings are one token.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'@' | b'?')
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning; ends at a NUL byte.
    pub fn new(text: &'a [u8]) -> Self {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Self { text: text.get(..end).unwrap_or(text), at: 0 }
    }

    /// Offset of the next unread byte.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Moves past the first `needle`, or to the end.
    fn pass(&mut self, from: usize, needle: &[u8]) {
        let rest = self.text.get(from..).unwrap_or_default();
        let found = memchr::memmem::find(rest, needle);
        self.at = found.map_or(self.text.len(), |at| from + at + needle.len());
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at += space;
            let rest = rest.get(space..).unwrap_or_default();
            if rest.starts_with(b"//") {
                self.pass(self.at, b"\n");
            } else if rest.starts_with(b"/*") {
                self.pass(self.at + 2, b"*/");
            } else {
                return;
            }
        }
    }

    /// Having passed a `{`, moves past its `}`. Bodies hold nearly all of the
    /// text, so only the bytes that matter are looked at.
    pub fn skip_block(&mut self) {
        let mut depth = 1usize;
        while depth > 0 {
            let Some(at) = memchr::memchr3(b'{', b'}', b'/', self.rest()) else {
                self.at = self.text.len();
                return;
            };
            self.at += at + 1;
            match self.text.get(self.at - 1).copied().unwrap_or_default() {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ if self.rest().starts_with(b"/") => self.pass(self.at, b"\n"),
                _ if self.rest().starts_with(b"*") => self.pass(self.at + 1, b"*/"),
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        let (at, rest) = (self.at, self.rest());
        let first = *rest.first()?;
        let length = match first {
            b'"' => {
                let end = memchr::memchr(b'"', rest.get(1..).unwrap_or_default());
                end.map_or(rest.len(), |end| end + 2)
            }
            b'.' => 1 + rest.iter().skip(1).take_while(|&&byte| is_word(byte)).count(),
            b'0'..=b'9' => rest.iter().take_while(|&&byte| is_word(byte) || byte == b'.').count(),
            byte if is_word(byte) => rest.iter().take_while(|&&byte| is_word(byte)).count(),
            _ => 1,
        };
        self.at += length;
        Some(Token { text: rest.get(..length).unwrap_or(rest), at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Lexer::new(text.as_bytes())
            .map(|token| String::from_utf8_lossy(token.text).into_owned())
            .collect()
    }

    #[test]
    fn comments_strings_and_words() {
        let text = ".version 9.5 // } \n.file 1 \"a{//b\" /* \" */ .b8 x$1[0x10];\0junk";
        let expected =
            [".version", "9.5", ".file", "1", "\"a{//b\"", ".b8", "x$1", "[", "0x10", "]", ";"];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn blocks_are_skipped_whole() {
        let mut lexer = Lexer::new(b"{ a { // }\n b /* } */ } c / d } e");
        lexer.next();
        lexer.skip_block();
        assert_eq!(lexer.next().unwrap().text, b"e");
        let mut open = Lexer::new(b"{ a { b }");
        open.next();
        open.skip_block();
        assert_eq!(open.next(), None);
    }
}
