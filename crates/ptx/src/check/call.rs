//! Calls: the function, its arguments and results (PTX ISA 9, `call`).
//!
//! Must not know what functions do.

use super::function::Lower;
use super::scope::Entity;
use crate::ast::{self, Linkage, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Arg, Call, Callee, Src, Symbol};

impl<'a> Lower<'a, '_> {
    pub(super) fn call(&mut self, i: &ast::Instruction<'a>) -> Result<Src, Error> {
        let mut operands = i.operands.iter().peekable();
        let mut returns = Vec::new();
        if let Some(ast::Operand { kind: Operand::List(list), .. }) = operands.peek() {
            for o in list {
                returns.push(self.argument(i, o)?);
            }
            operands.next();
        }
        let Some(ast::Operand { kind: Operand::Name(name, 0), pos }) = operands.next() else {
            return self.wrong(i, "no function", "a function's name or a register");
        };
        let mut args = Vec::new();
        if let Some(ast::Operand { kind: Operand::List(list), .. }) = operands.peek() {
            for o in list {
                args.push(self.argument(i, o)?);
            }
            operands.next();
        }
        let (callee, shape) = match (self.scopes.get(name), self.declared.get(name)) {
            (Some(Entity::Reg { first, .. }), _) => {
                self.out.calls_indirectly = true;
                let shape = match operands.next().map(|o| &o.kind) {
                    Some(Operand::Name(p, 0)) => match self.scopes.get(p) {
                        Some(Entity::Prototype(n)) => Some(self.prototypes[n as usize]),
                        // A table of functions: an initialised global.
                        _ if self.declared.get(p).is_some() => None,
                        _ => {
                            let (name, expected) = (p.to_string(), "a call prototype");
                            return Err(Error::Undeclared { pos: *pos, name, expected });
                        }
                    },
                    _ => return self.wrong(i, "no prototype", "a prototype or call targets"),
                };
                (Callee::Register(first), shape)
            }
            (_, Some(Symbol::Function(f))) => {
                self.out.callees.push(f);
                let g = &self.module.functions[f as usize];
                let shape = (g.returns.len(), g.params.len());
                if g.linkage != Linkage::Extern {
                    let shared = self.module_register_arguments();
                    returns.extend(shared.iter().cloned());
                    args.extend(shared);
                }
                (Callee::Direct(f), Some(shape))
            }
            _ => {
                let (name, expected) = (name.to_string(), "a function");
                return Err(Error::Undeclared { pos: *pos, name, expected });
            }
        };
        if let Some((r, p)) = shape
            && (r != returns.len() || p != args.len())
        {
            let found = format!("{} results and {} arguments", returns.len(), args.len());
            return self.wrong(i, found, format!("{r} and {p}"));
        }
        if let Some(extra) = operands.next()
            && matches!(callee, Callee::Direct(_))
            && !matches!(extra.kind, Operand::Name(..))
        {
            return self.wrong(i, "one operand too many", "`;`");
        }
        Ok(Src::Call(Box::new(Call { callee, args, returns })))
    }

    /// The registers of the module, as a call gives them and takes them back.
    fn module_register_arguments(&self) -> Vec<Arg> {
        let mut all = Vec::new();
        for v in &self.declared.registers {
            let name = if v.count.is_some() { format!("{}0", v.name) } else { v.name.to_string() };
            if let Some(Entity::Reg { first, ty, .. }) = self.scopes.outermost(&name) {
                let n = v.count.unwrap_or(v.vector);
                all.extend((first..first + n).map(|r| Arg::Reg(r, ty.bits())));
            }
        }
        all
    }

    fn argument(&mut self, i: &ast::Instruction<'a>, o: &ast::Operand<'a>) -> Result<Arg, Error> {
        Ok(match &o.kind {
            Operand::Sink => Arg::Sink,
            Operand::Const(ast::Const::Int { value, .. }) => Arg::Imm(*value),
            Operand::Const(ast::Const::F32(v)) => Arg::Imm((*v).into()),
            Operand::Const(ast::Const::F64(v)) => Arg::Imm(*v),
            Operand::Name(name, 0) => match self.scopes.get(name) {
                Some(Entity::Reg { first, ty, vector: 1 }) => Arg::Reg(first, ty.bits()),
                Some(Entity::Local { offset, size }) => Arg::Memory(offset, size),
                _ => {
                    let (pos, name) = (o.pos, name.to_string());
                    let expected = "a register or a parameter variable";
                    return Err(Error::Undeclared { pos, name, expected });
                }
            },
            _ => return self.wrong(i, "another operand", "a register or parameter variable"),
        })
    }
}
