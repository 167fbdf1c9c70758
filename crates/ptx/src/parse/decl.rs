//! Declarations of variables, parameters and registers.

use super::Parser;
use crate::ast::{Linkage, Variable};
use crate::error::Error;
use crate::lex::Token;
use crate::types::{Scalar, Space};

/// More registers than any function can have: bounds `%r<n>`.
const MAX_COUNT: u64 = 1 << 20;
/// The largest alignment CUDA uses anywhere, with a margin.
const MAX_ALIGN: u64 = 1 << 20;

impl<'a> Parser<'a> {
    /// `.global .align 4 .u32 a = 1, b;` and its kin, up to the semicolon.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        out: &mut Vec<Variable<'a>>,
    ) -> Result<(), Error> {
        let head = self.variable_head(linkage)?;
        loop {
            let mut v = head.clone();
            self.declarator(&mut v)?;
            v.init = self.initialiser()?;
            out.push(v);
            if !self.eat(",") {
                return self.expect(";");
            }
        }
    }

    /// `( .param .u64 a, .reg .u32 b )`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>, Error> {
        let mut out = Vec::new();
        self.expect("(")?;
        if self.eat(")") {
            return Ok(out);
        }
        loop {
            let mut v = self.variable_head(Linkage::Internal)?;
            self.declarator(&mut v)?;
            out.push(v);
            if self.eat(")") {
                return Ok(out);
            }
            self.expect(",")?;
        }
    }

    fn variable_head(&mut self, linkage: Linkage) -> Result<Variable<'a>, Error> {
        let mut space = None;
        let mut ty = None;
        let mut v = Variable {
            pos: self.pos(),
            linkage,
            space: Space::Generic,
            align: None,
            ty: Scalar::B8,
            vector: 1,
            name: "",
            dims: Vec::new(),
            count: None,
            init: None,
            managed: false,
            pointee: None,
        };
        while let Token::Dot(word) = self.peek() {
            match word {
                "align" => {
                    self.at += 1;
                    v.align = Some(self.alignment()?);
                    continue;
                }
                "v2" => v.vector = 2,
                "v4" => v.vector = 4,
                "v8" => v.vector = 8,
                "attribute" => {
                    self.attribute(&mut v)?;
                    continue;
                }
                "ptr" => {
                    self.at += 1;
                    self.pointee(&mut v)?;
                    continue;
                }
                _ => match (Space::from_name(word), Scalar::from_name(word)) {
                    (Some(s), _) if space.is_none() => space = Some(s),
                    (_, Some(t)) if ty.is_none() && t.is_fundamental() => ty = Some(t),
                    _ => break,
                },
            }
            self.at += 1;
        }
        match (space, ty) {
            (Some(space), Some(ty)) => Ok(Variable { space, ty, ..v }),
            (None, _) => self.unexpected("a state space such as `.global`"),
            (_, None) => self.unexpected("a type such as `.u32`"),
        }
    }

    fn alignment(&mut self) -> Result<u32, Error> {
        let pos = self.pos();
        let align = self.small("the alignment", MAX_ALIGN)?;
        if !align.is_power_of_two() {
            return Err(Error::Syntax {
                pos,
                found: format!("the number {align}"),
                expected: "a power of two".into(),
            });
        }
        Ok(align)
    }

    fn pointee(&mut self, v: &mut Variable<'a>) -> Result<(), Error> {
        let mut space = Space::Generic;
        if let Token::Dot(word) = self.peek()
            && let Some(s) = Space::from_name(word)
        {
            self.at += 1;
            space = s;
        }
        let mut align = 4;
        if self.peek() == Token::Dot("align") {
            self.at += 1;
            align = self.alignment()?;
        }
        v.pointee = Some((space, align));
        Ok(())
    }

    /// `.attribute(.managed, .unified(a, b))`.
    fn attribute(&mut self, v: &mut Variable<'a>) -> Result<(), Error> {
        self.at += 1;
        self.expect("(")?;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                Token::Punct("(") => open += 1,
                Token::Punct(")") => open -= 1,
                Token::Dot("managed") => v.managed = true,
                Token::Dot(_) | Token::Int(..) | Token::Punct(",") => {}
                _ => return self.unexpected("an attribute such as `.managed`"),
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The name with `<n>` or `[n][m]`.
    fn declarator(&mut self, v: &mut Variable<'a>) -> Result<(), Error> {
        v.pos = self.pos();
        v.name = self.name("a name")?;
        if self.eat("<") {
            v.count = Some(self.small("the number of registers", MAX_COUNT)?);
            self.expect(">")?;
        }
        while self.eat("[") {
            if self.eat("]") {
                v.dims.push(None);
                continue;
            }
            v.dims.push(Some(self.const_int()?));
            self.expect("]")?;
        }
        Ok(())
    }
}
