//! Kernels, functions and the statements in them.

use super::Parser;
use crate::ast::{Function, Guard, Instruction, Linkage, Prototype, Statement};
use crate::error::Error;
use crate::lex::Token;
use crate::types::Space;

impl<'a> Parser<'a> {
    pub(super) fn function(&mut self, linkage: Linkage) -> Result<Function<'a>, Error> {
        let entry = self.bump() == Token::Dot("entry");
        let mut directives = Vec::new();
        while self.peek() == Token::Dot("attribute") {
            self.directive(&mut directives)?;
        }
        let returns =
            if self.peek() == Token::Punct("(") { self.parameters()? } else { Vec::new() };
        let pos = self.pos();
        let name = self.name("a function name")?;
        let params = if self.peek() == Token::Punct("(") { self.parameters()? } else { Vec::new() };
        while matches!(self.peek(), Token::Dot(_)) {
            self.directive(&mut directives)?;
        }
        let body = if self.eat(";") {
            None
        } else if self.peek() == Token::Punct("{") {
            Some(self.block()?)
        } else {
            return self.unexpected("`{` or `;`");
        };
        Ok(Function { pos, entry, linkage, name, returns, params, directives, body })
    }

    /// `.maxntid 256, 1, 1`, `.noreturn`, `.pragma "x";`, `.attribute(...)`.
    fn directive(&mut self, out: &mut Vec<(&'a str, Vec<u64>)>) -> Result<(), Error> {
        let Token::Dot(word) = self.peek() else { return self.unexpected("a directive") };
        if word == "pragma" {
            self.pragma()?;
            return Ok(());
        }
        if word == "loc" || word == "file" {
            self.place(word);
            return Ok(());
        }
        self.at += 1;
        let mut numbers = Vec::new();
        if self.eat("(") {
            while !self.eat(")") {
                match self.bump() {
                    Token::Int(v, _) => numbers.push(v),
                    Token::End => return self.unexpected("`)`"),
                    _ => {}
                }
            }
        } else {
            while let Token::Int(v, _) = self.peek() {
                numbers.push(v);
                self.at += 1;
                if !self.eat(",") {
                    break;
                }
            }
        }
        out.push((word, numbers));
        Ok(())
    }

    fn block(&mut self) -> Result<Vec<Statement<'a>>, Error> {
        self.enter()?;
        self.expect("{")?;
        let mut out = Vec::new();
        while !self.eat("}") {
            self.statement(&mut out)?;
        }
        self.leave();
        Ok(out)
    }

    fn statement(&mut self, out: &mut Vec<Statement<'a>>) -> Result<(), Error> {
        let pos = self.pos();
        match self.peek() {
            Token::Punct("{") => out.push(Statement::Block(self.block()?)),
            Token::Punct(";") => self.at += 1,
            Token::Dot(word @ ("loc" | "file")) => self.place(word),
            Token::Dot("section") => self.section()?,
            Token::Dot("pragma") => out.push(Statement::Pragma(self.pragma()?)),
            Token::Dot("maxnreg" | "noreturn" | "unified_syntax") => {
                self.directive(&mut Vec::new())?;
            }
            Token::Dot("extern") => {
                self.at += 1;
                self.local_variables(Linkage::Extern, out)?;
            }
            Token::Dot("weak" | "visible" | "common") => {
                self.at += 1;
                self.local_variables(Linkage::Internal, out)?;
            }
            Token::Dot(word)
                if Space::from_name(word).is_some() || matches!(word, "align" | "attribute") =>
            {
                self.local_variables(Linkage::Internal, out)?;
            }
            Token::Name(name) if self.peek_at(1) == Token::Punct(":") => {
                self.at += 2;
                self.labelled(name, pos, out)?;
            }
            Token::Name(_) | Token::Punct("@") => out.push(self.instruction()?),
            _ => return self.unexpected("an instruction, a declaration or `}`"),
        }
        Ok(())
    }

    fn local_variables(
        &mut self,
        linkage: Linkage,
        out: &mut Vec<Statement<'a>>,
    ) -> Result<(), Error> {
        let mut list = Vec::new();
        self.variables(linkage, &mut list)?;
        out.extend(list.into_iter().map(Statement::Variable));
        Ok(())
    }

    fn labelled(
        &mut self,
        name: &'a str,
        pos: crate::Pos,
        out: &mut Vec<Statement<'a>>,
    ) -> Result<(), Error> {
        out.push(match self.peek() {
            Token::Dot("branchtargets") => {
                self.at += 1;
                Statement::BranchTargets(name, self.names()?, pos)
            }
            Token::Dot("calltargets") => {
                self.at += 1;
                Statement::CallTargets(name, self.names()?, pos)
            }
            Token::Dot("callprototype") => {
                self.at += 1;
                let returns =
                    if self.peek() == Token::Punct("(") { self.parameters()? } else { Vec::new() };
                self.name("`_`")?;
                let params =
                    if self.peek() == Token::Punct("(") { self.parameters()? } else { Vec::new() };
                while matches!(self.peek(), Token::Dot(_)) {
                    self.directive(&mut Vec::new())?;
                }
                self.expect(";")?;
                Statement::Prototype(Prototype { name, pos, returns, params })
            }
            _ => Statement::Label(name, pos),
        });
        Ok(())
    }

    fn names(&mut self) -> Result<Vec<&'a str>, Error> {
        let mut out = vec![self.name("a name")?];
        while self.eat(",") {
            out.push(self.name("a name")?);
        }
        self.expect(";")?;
        Ok(out)
    }

    fn instruction(&mut self) -> Result<Statement<'a>, Error> {
        let pos = self.pos();
        let mut guard = None;
        if self.eat("@") {
            let negated = self.eat("!");
            let pos = self.pos();
            guard = Some(Guard { negated, name: self.name("a predicate")?, pos });
        }
        let opcode = self.name("an instruction")?;
        let mut modifiers = Vec::new();
        while let Token::Dot(word) = self.peek() {
            modifiers.push(word);
            self.at += 1;
        }
        let mut operands = Vec::new();
        if !self.eat(";") {
            loop {
                operands.push(self.operand()?);
                // `[tmem][desc]` stands without a comma.
                if self.eat(",") || self.peek() == Token::Punct("[") {
                    continue;
                }
                self.expect(";")?;
                break;
            }
        }
        Ok(Statement::Instruction(Instruction { pos, guard, opcode, modifiers, operands }))
    }
}
