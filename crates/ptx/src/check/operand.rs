//! Operands: registers, constants, special registers, addresses.

use super::function::Lower;
use super::globals::constant;
use super::scope::Entity;
use crate::ast::{self, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Base, Dst, Special, Src, Symbol};
use crate::types::Scalar;

impl<'a> Lower<'a, '_> {
    /// The declared type of a register operand.
    pub(super) fn register_type(&self, o: &ast::Operand<'_>) -> Option<Scalar> {
        match &o.kind {
            Operand::Name(name, 0) | Operand::Member(name, _) => match self.scopes.get(name) {
                Some(Entity::Reg { ty, .. }) => Some(ty),
                _ => None,
            },
            _ => None,
        }
    }

    fn find_register(&self, o: &ast::Operand<'_>) -> Option<(u32, Scalar)> {
        match &o.kind {
            Operand::Name(name, 0) => match self.scopes.get(name) {
                Some(Entity::Reg { first, ty, vector: 1 }) => Some((first, ty)),
                _ => None,
            },
            Operand::Member(name, member) => match self.scopes.get(name) {
                Some(Entity::Reg { first, ty, vector }) => {
                    let k = match *member {
                        "x" | "r" => 0,
                        "y" | "g" => 1,
                        "z" | "b" => 2,
                        "w" | "a" => 3,
                        _ => return None,
                    };
                    (k < vector).then_some((first + k, ty))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn fits(
        &self,
        i: &ast::Instruction<'_>,
        have: Scalar,
        want: Scalar,
        relaxed: bool,
    ) -> Result<(), Error> {
        let predicate = (have == Scalar::Pred) == (want == Scalar::Pred);
        let (h, w) = (have.bits().max(8), want.bits().max(8));
        if predicate && (h == w || relaxed && h > w) {
            return Ok(());
        }
        let more = if relaxed { " or wider" } else { "" };
        let expected = format!("one as wide as .{}{more}", want.name());
        self.wrong(i, format!("a register of type .{}", have.name()), expected)
    }

    /// A result register.
    pub(super) fn destination(
        &mut self,
        i: &ast::Instruction<'a>,
        o: &ast::Operand<'a>,
        ty: Scalar,
        relaxed: bool,
    ) -> Result<Dst, Error> {
        if o.kind == Operand::Sink {
            return Ok(Dst::Sink);
        }
        let Some((register, have)) = self.find_register(o) else {
            return match &o.kind {
                _ if self.wide_register(o).is_some() => self.too_wide(i, ty),
                Operand::Name(name, _) | Operand::Member(name, _) => Err(Error::Undeclared {
                    pos: o.pos,
                    name: name.to_string(),
                    expected: "a register",
                }),
                _ => self.wrong(i, "a result that is not a register", "a register"),
            };
        };
        self.fits(i, have, ty, relaxed)?;
        Ok(Dst::Reg(register, have.bits()))
    }

    /// A value of type `ty`.
    pub(super) fn value(
        &mut self,
        i: &ast::Instruction<'a>,
        o: &ast::Operand<'a>,
        ty: Scalar,
        relaxed: bool,
    ) -> Result<Src, Error> {
        if let Some((register, have)) = self.find_register(o) {
            self.fits(i, have, ty, relaxed)?;
            return Ok(Src::Reg(register));
        }
        match &o.kind {
            _ if self.wide_register(o).is_some() => self.too_wide(i, ty),
            Operand::Not(name) => match self.scopes.get(name) {
                Some(Entity::Reg { first, ty: Scalar::Pred, .. }) => Ok(Src::Not(first)),
                _ => {
                    let (name, expected) = (name.to_string(), "a predicate register");
                    Err(Error::Undeclared { pos: o.pos, name, expected })
                }
            },
            Operand::Const(c) => match constant(*c, ty) {
                Some(v) if ty == Scalar::Pred => Ok(Src::Imm(u64::from(v != 0))),
                Some(v) => Ok(Src::Imm(v & mask(ty.bits()))),
                None => {
                    let expected = format!("a constant of type .{}", ty.name());
                    self.wrong(i, "a floating-point constant", expected)
                }
            },
            Operand::Name(name, addend) => {
                if *addend == 0
                    && let Some(s) = Special::from_name(name, None)
                {
                    return Ok(Src::Special(s));
                }
                let symbol = self.symbol(name, o)?;
                Ok(Src::Address(symbol, *addend))
            }
            Operand::Member(name, member) => match Special::from_name(name, Some(member)) {
                Some(s) => Ok(Src::Special(s)),
                None => Err(Error::Undeclared {
                    pos: o.pos,
                    name: format!("{name}.{member}"),
                    expected: "a special register or a component",
                }),
            },
            _ => self.wrong(i, "another form of operand", "a register or a constant"),
        }
    }

    fn symbol(&mut self, name: &str, o: &ast::Operand<'_>) -> Result<Symbol, Error> {
        let symbol = match self.scopes.get(name) {
            Some(Entity::Local { offset, .. }) => Symbol::Local(offset),
            Some(Entity::Param { offset }) => Symbol::Param(offset),
            Some(Entity::Symbol(s)) => s,
            None => match self.declared.get(name) {
                Some(s) => s,
                None => {
                    let (pos, name) = (o.pos, name.to_string());
                    return Err(Error::Undeclared { pos, name, expected: "a variable" });
                }
            },
            Some(_) => {
                let (pos, name) = (o.pos, name.to_string());
                return Err(Error::Undeclared { pos, name, expected: "a variable" });
            }
        };
        if let Symbol::Shared(n) = symbol {
            self.out.shared_used.push(n);
        }
        Ok(symbol)
    }

    /// `[...]`.
    pub(super) fn memory(
        &mut self,
        i: &ast::Instruction<'a>,
        o: &ast::Operand<'a>,
    ) -> Result<Src, Error> {
        let Operand::Memory(a, rest) = &o.kind else {
            return self.wrong(i, "no address", "an address in brackets");
        };
        if !rest.is_empty() {
            return self.wrong(i, "several operands in brackets", "one address");
        }
        let Some(name) = a.base else {
            return Ok(Src::Memory(Base::Zero, a.offset));
        };
        let base = match self.scopes.get(name) {
            Some(Entity::Reg { first, ty, vector: 1 }) if matches!(ty.bits(), 32 | 64) => {
                Base::Reg(first, ty.bits())
            }
            Some(Entity::Reg { .. }) => {
                return self.wrong(i, format!("`{name}`"), "an address of 32 or 64 bits");
            }
            _ => Base::Symbol(self.symbol(name, o)?),
        };
        Ok(Src::Memory(base, a.offset))
    }
}

/// The lowest `bits` bits.
fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
