//! JSON objects in one line.
//!
//! Owns how strings are escaped. Must not know the contents.

use std::fmt::{Display, Write};

/// An object in the making.
#[derive(Debug)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Object {
        Object("{".into())
    }
}

impl Object {
    /// Without fields.
    pub fn new() -> Object {
        Object::default()
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        let _ = write!(self.0, "\"{name}\":");
    }

    /// A text.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Object {
        self.name(name);
        self.0 += &quoted(value);
        self
    }

    /// A text, if there is one.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// What is JSON already, or a number.
    #[must_use]
    pub fn raw(mut self, name: &str, value: impl Display) -> Object {
        self.name(name);
        let _ = write!(self.0, "{value}");
        self
    }

    /// The object.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list of values that are already JSON.
pub fn list(all: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", all.into_iter().collect::<Vec<_>>().join(","))
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_one_line() {
        let inner = list(["1".to_owned(), Object::new().end()]);
        let all =
            Object::new().text("a", "x\"\\\n\u{1}é").maybe("b", None).raw("c", 5).raw("d", inner);
        assert_eq!(all.end(), "{\"a\":\"x\\\"\\\\\\n\\u0001é\",\"c\":5,\"d\":[1,{}]}");
    }
}
