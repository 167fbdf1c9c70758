//! Registers and operands of a function.

use super::function::Emitter;
use super::globals;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Dst, Sense, Src, Symbol};

impl Emitter<'_> {
    /// What a register holds.
    pub(super) fn register(&mut self, r: u32) -> Value {
        let bits = self.register_bits(r);
        let text = format!("load i{bits}, ptr addrspace(5) %r{r}");
        self.b.result(Type::Int(bits), &text)
    }

    /// How many bits a register has.
    pub(super) fn register_bits(&self, r: u32) -> u32 {
        self.f.registers.get(r as usize).map_or(32, |ty| ty.bits())
    }

    /// Writes a register: its lowest bits, or zero-extended. If the instruction's guard is a value, the register
    /// keeps its old value where the guard is false.
    pub(super) fn write(&mut self, dst: Dst, v: Value) {
        let Dst::Reg(r, _) = dst else { return };
        let bits = self.register_bits(r);
        let v = self.b.fit(v, bits);
        let v = match self.chosen {
            Some(guard) => {
                let old = self.register(r);
                self.b.select(guard, v, old)
            }
            None => v,
        };
        let text = format!("store {}, ptr addrspace(5) %r{r}", self.b.typed(v));
        self.b.line(&text);
    }

    /// Whether an instruction with this guard is done.
    pub(super) fn guard(&mut self, guard: Option<(u32, Sense)>) -> Option<Value> {
        let (r, sense) = guard?;
        let v = self.register(r);
        let v = self.b.fit(v, 1);
        Some(match sense {
            Sense::True => v,
            Sense::False => self.b.not(v),
        })
    }

    /// A value operand: an integer of any width.
    pub(super) fn operand(&mut self, src: &Src) -> Result<Value, Refused> {
        Ok(match src {
            Src::Reg(r) => self.register(*r),
            Src::Not(r) => {
                let v = self.register(*r);
                let v = self.b.fit(v, 1);
                self.b.not(v)
            }
            Src::Imm(bits) => Value::int(64, (*bits).into()),
            Src::Special(s) => self.special(*s)?,
            Src::Address(symbol, addend) => {
                let at = self.address_of(*symbol)?;
                if *addend == 0 { at } else { self.b.with("add", at, *addend as i128 as u128) }
            }
            Src::None => Value::int(64, 0),
            _ => return Err(self.refused("an operand that is no value")),
        })
    }

    /// A symbol's address in its own space, in 64 bits.
    fn address_of(&mut self, symbol: Symbol) -> Result<Value, Refused> {
        if let Symbol::Param(offset) = symbol {
            return Ok(Value::int(64, offset.into()));
        }
        let (pointer, wide) = self.pointer_to(symbol)?;
        let ty = Type::Int(if wide { 64 } else { 32 });
        let v = self.b.result(ty, &format!("ptrtoint {pointer} to {}", ty.text()));
        Ok(self.b.fit(v, 64))
    }

    /// A symbol's pointer with its type, and whether it has 64 bits.
    pub(super) fn pointer_to(&mut self, symbol: Symbol) -> Result<(String, bool), Refused> {
        Ok(match symbol {
            Symbol::Global(n) => {
                let Some(global) = self.module.globals.get(n as usize) else {
                    return Err(self.refused("a variable that is not there"));
                };
                if let Some(why) = globals::missing(self.module, global) {
                    return Err(self.refused(format!("`{}`: {why}", global.name)));
                }
                if let Some(prefix) = globals::indirect(global) {
                    let holder = globals::holder(self.names, prefix, n);
                    let text = format!("load i64, ptr addrspace(1) {holder}, align 8");
                    let at = self.b.result(Type::Int(64), &text);
                    let (at, p) = (self.b.typed(at), self.b.number());
                    self.b.line(&format!("%p{p} = inttoptr {at} to ptr addrspace(1)"));
                    return Ok((format!("ptr addrspace(1) %p{p}"), true));
                }
                (format!("ptr addrspace(1) {}", self.names.global(n)), true)
            }
            Symbol::Shared(n) => (format!("ptr addrspace(3) {}", self.names.shared(n)), false),
            Symbol::Function(n) => {
                if !self.module.functions.get(n as usize).is_some_and(|f| f.defined && !f.entry) {
                    return Err(self.refused("a pointer to a function that no module defines"));
                }
                (format!("ptr {}", self.names.function(n)), true)
            }
            Symbol::Local(offset) => {
                let Some(part) = self.locals.part(offset) else {
                    return Err(self.refused("local memory that is not there"));
                };
                let base = format!("%local{}", part.number);
                (
                    self.moved(
                        "ptr addrspace(5)",
                        &base,
                        i64::from(offset) - i64::from(part.start),
                    ),
                    false,
                )
            }
            Symbol::Param(offset) => {
                if !self.f.entry {
                    return Err(self.refused("a kernel's parameter in a function"));
                }
                (self.moved("ptr addrspace(4)", "%args", offset.into()), true)
            }
        })
    }

    /// A pointer with its type, so many bytes further.
    pub(super) fn moved(&mut self, ty: &str, pointer: &str, by: i64) -> String {
        if by == 0 {
            return format!("{ty} {pointer}");
        }
        let n = self.b.number();
        self.b.line(&format!("%p{n} = getelementptr i8, {ty} {pointer}, i64 {by}"));
        format!("{ty} %p{n}")
    }
}
