//! Operands of instructions.

use super::Parser;
use crate::ast::{Address, Const, Operand, OperandKind};
use crate::error::Error;
use crate::lex::Token;

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self) -> Result<Operand<'a>, Error> {
        self.enter()?;
        let pos = self.pos();
        let first = self.simple()?;
        let mut operand = Operand { pos, kind: first };
        if self.eat("|") {
            let second = self.operand()?;
            operand = Operand { pos, kind: OperandKind::Pair(operand.into(), second.into()) };
        }
        self.leave();
        Ok(operand)
    }

    fn operands_until(&mut self, close: &str) -> Result<Vec<Operand<'a>>, Error> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(self.operand()?);
            if self.eat(close) {
                return Ok(out);
            }
            if !self.eat(",") {
                return self.unexpected(format!("`,` or `{close}`"));
            }
        }
    }

    fn simple(&mut self) -> Result<OperandKind<'a>, Error> {
        Ok(match self.peek() {
            Token::Name("_") => {
                self.at += 1;
                OperandKind::Sink
            }
            Token::Name("WARP_SZ") => OperandKind::Const(self.constant()?),
            Token::Name(name) => {
                self.at += 1;
                if let Token::Dot(member) = self.peek() {
                    self.at += 1;
                    OperandKind::Member(name, member)
                } else {
                    OperandKind::Name(name, self.addend()?)
                }
            }
            Token::Punct("{") => {
                self.at += 1;
                OperandKind::Vector(self.operands_until("}")?)
            }
            Token::Punct("[") => {
                self.at += 1;
                self.memory()?
            }
            Token::Punct("!") => {
                self.at += 1;
                match self.peek() {
                    Token::Name(name) => {
                        self.at += 1;
                        OperandKind::Not(name)
                    }
                    _ => {
                        self.at -= 1;
                        OperandKind::Const(self.constant()?)
                    }
                }
            }
            Token::Punct("-") if matches!(self.peek_at(1), Token::Name(n) if n != "WARP_SZ") => {
                self.at += 1;
                let name = self.name("a register")?;
                let selector = match self.peek() {
                    Token::Dot(text) => {
                        self.at += 1;
                        Some(text)
                    }
                    _ => None,
                };
                OperandKind::Negated(name, selector)
            }
            Token::Punct("(") if !self.constant_in_parentheses() => {
                self.at += 1;
                OperandKind::List(self.operands_until(")")?)
            }
            _ => OperandKind::Const(self.constant()?),
        })
    }

    /// Whether `(` begins a constant expression rather than a call's list: a cast, or a parenthesised number followed
    /// by an operator.
    fn constant_in_parentheses(&self) -> bool {
        if matches!(self.peek_at(1), Token::Dot("s64" | "u64")) {
            return true;
        }
        let mut open = 0;
        for ahead in 0.. {
            match self.peek_at(ahead) {
                Token::Punct("(") => open += 1,
                Token::Punct(")") => {
                    open -= 1;
                    if open == 0 {
                        let Token::Punct(next) = self.peek_at(ahead + 1) else { return false };
                        return !matches!(next, "," | ";" | ")") || self.in_list();
                    }
                }
                Token::Name(_) | Token::End | Token::Punct("," | ";" | "{" | "[") => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether the current operand follows another one of an instruction that is no call: then parentheses contain a
    /// number.
    fn in_list(&self) -> bool {
        for (token, ..) in self.tokens.iter().take(self.at).rev() {
            match token {
                Token::Punct(";" | "}") => break,
                Token::Name("call") => return false,
                _ => {}
            }
        }
        true
    }

    fn memory(&mut self) -> Result<OperandKind<'a>, Error> {
        let address = match self.peek() {
            Token::Name(name) if name != "WARP_SZ" => {
                self.at += 1;
                Address { base: Some(name), offset: self.addend()? }
            }
            _ => {
                let pos = self.pos();
                match self.constant()? {
                    Const::Int { value, .. } => Address { base: None, offset: value as i64 },
                    _ => {
                        return Err(Error::Syntax {
                            pos,
                            found: "a floating-point number".into(),
                            expected: "an address".into(),
                        });
                    }
                }
            }
        };
        let rest = if self.eat(",") {
            self.operands_until("]")?
        } else {
            self.expect("]")?;
            Vec::new()
        };
        Ok(OperandKind::Memory(address, rest))
    }
}
