//! Operands of instructions, as values of the code.

use super::emitter::{Emit, OWN};
use super::val::Val;
use crate::simt::plan::shape::{Arithmetic, Class, Shape};
use crate::warp::INTERFACE;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::exec::function_pointer;
use cushim_ptx::ir::{Src, Symbol};

impl Emit<'_> {
    /// An operand with exactly the bits the register is to show.
    pub(super) fn operand(&mut self, src: &Src, class: Class) -> Val {
        let v = self.operand_raw(src, class);
        match src {
            Src::Reg(r) => match self.clean[*r as usize] {
                Some(ty) => self.canonical(&v, ty),
                None => v,
            },
            _ => v,
        }
    }

    /// An operand whose NaNs may have any bits.
    pub(super) fn operand_raw(&mut self, src: &Src, class: Class) -> Val {
        match src {
            Src::Reg(r) => self.raw(*r),
            Src::Not(r) => match self.raw(*r) {
                Val::Known(Shape::Uniform(u)) => Self::known(self.b.ins().bnot(u)),
                Val::Mask { lanes: Some(l), bits: None } => {
                    let l = l.iter().map(|v| self.b.ins().bnot(*v)).collect();
                    Val::Mask { bits: None, lanes: Some(l) }
                }
                v => {
                    let bits = self.bits(&v);
                    Val::Mask { bits: Some(self.b.ins().bnot(bits)), lanes: None }
                }
            },
            Src::Imm(v) if class == Class::Predicate => {
                let v = if *v & 1 != 0 { -1 } else { 0 };
                Self::known(self.i32(v))
            }
            Src::Imm(v) => Self::known(self.constant(class == Class::Wide, *v as i64)),
            Src::Special(s) => self.special(*s, class),
            Src::Address(symbol, addend) => {
                let a = self.symbol(*symbol);
                let sum = self.b.ins().iadd_imm_s(a, *addend);
                Self::known(self.fit(sum, class))
            }
            _ => Self::known(self.constant(class == Class::Wide, 0)),
        }
    }

    /// 64 bits to the class's width.
    pub(super) fn fit(&mut self, v: Value, class: Class) -> Value {
        if class == Class::Wide { v } else { self.b.ins().ireduce(types::I32, v) }
    }

    /// A symbol's address in its own space, 64 bits.
    pub(super) fn symbol(&mut self, symbol: Symbol) -> Value {
        match symbol {
            Symbol::Global(n) => {
                let table = self.constant_field(types::I64, INTERFACE.warp.globals);
                let flags = OWN.with_readonly().with_can_move();
                self.b.ins().load(types::I64, flags, table, n as i32 * 8)
            }
            Symbol::Shared(n) => {
                let at = self.shared.get(n as usize).copied().unwrap_or(0);
                self.i64(at.into())
            }
            Symbol::Function(n) => self.i64(function_pointer(n) as i64),
            Symbol::Local(at) | Symbol::Param(at) => self.i64(at.into()),
        }
    }
}
