//! Brackets in demangled declarations.
//!
//! Owns: telling a template's `<` from `operator<` and from a comparison. Must not know: types.

/// Walks over a declaration and keeps the brackets that are open.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    open: Vec<u8>,
    /// Where the last operator's name ended.
    operator: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Scanner { text, at, open: Vec::new(), operator: usize::MAX }
    }

    /// The next byte and its position, its bracket already counted; `None` at the end. Stops with `Some(None)` if a
    /// bracket closes that was not open.
    #[expect(clippy::option_option, reason = "the end and a mismatch are different answers")]
    fn step(&mut self) -> Option<Option<(usize, u8)>> {
        let bytes = self.text.as_bytes();
        let at = self.at;
        let byte = *bytes.get(at)?;
        let before = at.checked_sub(1).and_then(|n| bytes.get(n)).copied().unwrap_or(b' ');
        self.at += operator(bytes.get(at..).unwrap_or(&[]), before);
        if self.at > at {
            self.operator = self.at;
            return Some(Some((at, b' ')));
        }
        self.at = at + 1;
        match byte {
            // `(3)<(2)`: how an expression in a template argument is written.
            b'<' if before == b')' && self.operator != at => {}
            b'(' | b'[' | b'{' | b'<' => self.open.push(byte),
            b'>' if self.open.is_empty() => return Some(None),
            b'>' if self.open.last() != Some(&b'<') => {}
            b')' | b']' | b'}' | b'>' => {
                let opened = self.open.pop();
                let fits = matches!(
                    (opened, byte),
                    (Some(b'('), b')')
                        | (Some(b'['), b']')
                        | (Some(b'{'), b'}')
                        | (Some(b'<'), b'>')
                );
                if !fits {
                    return Some(None);
                }
            }
            _ => {}
        }
        Some(Some((at, byte)))
    }
}

/// Length of an operator's name or an arrow at the start of `rest`, where `<` and `>` are no
/// brackets; else 0.
fn operator(rest: &[u8], before: u8) -> usize {
    if rest.starts_with(b"->") {
        return 2;
    }
    let in_word = before.is_ascii_alphanumeric() || before == b'_' || before >= 0x80;
    let Some(sign) = rest.strip_prefix(b"operator").filter(|_| !in_word) else { return 0 };
    const SIGNS: [&str; 12] =
        ["()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<"];
    let found = SIGNS.iter().find(|s| sign.starts_with(s.as_bytes()));
    8 + found.map_or(usize::from(sign.starts_with(b">")), |s| s.len())
}

/// The pieces of `text` between commas outside of brackets; `None` where brackets do not match. An
/// empty `text` has no pieces.
pub fn split(text: &str) -> Option<Vec<&str>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut scanner = Scanner::new(text, 0);
    while let Some(step) = scanner.step() {
        if let (at, b',') = step?
            && scanner.open.is_empty()
        {
            pieces.push(text.get(from..at)?.trim());
            from = at + 1;
        }
    }
    let last = text.get(from..)?.trim();
    if !(pieces.is_empty() && last.is_empty()) {
        pieces.push(last);
    }
    scanner.open.is_empty().then_some(pieces)
}

/// The position where the bracket at `open` is closed.
pub fn closing(text: &str, open: usize) -> Option<usize> {
    let mut scanner = Scanner::new(text, open);
    loop {
        let (at, _) = scanner.step()??;
        if scanner.open.is_empty() {
            return Some(at);
        }
    }
}

/// Where the `(` stands that the final `)` of `text` closes. Only round brackets are counted: they match
/// also where `<` is an operator.
pub fn parameters(text: &str) -> Option<usize> {
    if !text.ends_with(')') {
        return None;
    }
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_outside_brackets() {
        assert_eq!(split("int, a<b, c>, void (*)(int, d)").unwrap().len(), 3);
        assert_eq!(split("int (*) [3], t<((3)>(2)), ((3)<(2))>").unwrap().len(), 2);
        assert_eq!(
            split("A::operator<, A::operator()<int, x>, b->c, operator>>").unwrap().len(),
            4
        );
        assert_eq!(split("my_operator<int, x>").unwrap().len(), 1);
        assert_eq!(
            split("main::{lambda(int, int)#1}, q<void (int)>(int)::{lambda()#1}").unwrap().len(),
            2
        );
        assert_eq!(split("").unwrap().len(), 0);
        for bad in [")", "a>", "(", "a<b", "(]", "<)"] {
            assert!(split(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_last_list() {
        assert_eq!(parameters("k(int, f(x))"), Some(1));
        assert_eq!(parameters("operator()(int)"), Some(10));
        assert_eq!(parameters("plain"), None);
        assert_eq!(parameters(")"), None);
        assert_eq!(closing("a<b<c>>(d)", 1), Some(6));
        assert_eq!(closing("a<b", 1), None);
    }
}
