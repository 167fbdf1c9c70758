//! `.file` and `.loc`, which give the source lines of PTX (PTX ISA, "Debugging Directives").
//!
//! Invalid ones are ignored, because they do not affect how a program runs.

use super::Parser;
use crate::lex::Token;
use crate::source::Mark;

impl Parser<'_> {
    /// At the directive. Both end with their line, without a semicolon.
    pub(super) fn place(&mut self, word: &str) {
        let line = self.pos().line;
        self.at += 1;
        if word == "file" {
            let number = self.number(line);
            if let (Some(number), Token::Str(name)) = (number, self.peek()) {
                self.sources.file(number, name);
            }
        } else if let Some(mark) = self.mark(line) {
            let called = self.called(line);
            self.sources.loc(line, mark, called);
        }
        while self.on(line) {
            self.at += 1;
        }
    }

    /// Whether the next token is on this line.
    fn on(&self, line: u32) -> bool {
        self.peek() != Token::End && self.pos().line == line
    }

    fn number(&mut self, line: u32) -> Option<u32> {
        let Token::Int(v, _) = self.peek() else { return None };
        let v = u32::try_from(v).ok().filter(|_| self.on(line))?;
        self.at += 1;
        Some(v)
    }

    /// File, line, column.
    fn mark(&mut self, on: u32) -> Option<Mark> {
        let (file, line, column) = (self.number(on)?, self.number(on)?, self.number(on)?);
        Some(Mark { file, line, column })
    }

    /// `, function_name label + offset, inlined_at file line column`, in any order.
    fn called(&mut self, line: u32) -> Option<Mark> {
        while self.on(line) {
            if self.bump() == Token::Name("inlined_at") {
                return self.mark(line);
            }
        }
        None
    }
}
