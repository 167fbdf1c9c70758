//! Operands of instructions, and special registers.

use super::emitter::{Emit, Refused, Val};
use crate::simt::plan::shape::{Arithmetic, Bitwise, Class, Shape};
use crate::simt::plan::special;
use crate::warp::{INTERFACE, Uniform};
use cushim_ptx::exec::function_pointer;
use cushim_ptx::ir::{Inst, Special, Src, Symbol};
use cushim_ptx::sem::Outcomes;
use cushim_translate::llvm::{Type, Value};
use cushim_translate::ops;

impl Emit<'_> {
    /// An operand's register class.
    pub(super) fn class_of(&self, inst: &Inst, n: usize) -> Class {
        match &inst.src[n] {
            Src::Reg(r) | Src::Not(r) => self.class(*r),
            _ => Class::of(inst.sem.operand(n)),
        }
    }

    /// An operand with the exact bits that the register must show.
    pub(super) fn operand(&mut self, src: &Src, class: Class) -> Result<Val, Refused> {
        let v = self.operand_raw(src, class)?;
        match src {
            Src::Reg(r) if self.clean[*r as usize].is_some() => Ok(self.canonical(&v)),
            _ => Ok(v),
        }
    }

    fn canonical(&mut self, v: &Val) -> Val {
        match v.uniform() {
            Some(u) => Val::one(ops::canonical(self.scalar(), u)),
            None => {
                let v = self.lanes(v, 32);
                Val::Lanes(ops::canonical(self.vector(), v))
            }
        }
    }

    /// An operand whose NaNs may have any bits.
    pub(super) fn operand_raw(&mut self, src: &Src, class: Class) -> Result<Val, Refused> {
        let bits = match class {
            Class::Predicate => 1,
            Class::Narrow => 32,
            Class::Wide => 64,
        };
        Ok(match src {
            Src::Reg(r) => self.raw(*r),
            Src::Not(r) => {
                let v = self.raw(*r);
                self.not(v)
            }
            Src::Imm(v) => Val::one(Value::int(bits, (*v).into())),
            Src::Special(s) => self.special(*s, class)?,
            Src::Address(symbol, addend) => {
                let at = self.symbol(*symbol);
                let at = self.scalar().with("add", at, *addend as i128 as u128);
                Val::one(self.scalar().fit(at, bits))
            }
            _ => Val::one(Value::int(bits, 0)),
        })
    }

    /// A symbol's address in its own space, 64 bits.
    pub(super) fn symbol(&mut self, symbol: Symbol) -> Value {
        match symbol {
            Symbol::Global(n) => {
                let table = self.constant_pointer(INTERFACE.warp.globals);
                let p = self.offset_by(&table, n as usize * 8);
                let text = format!("load i64, ptr {p}, !invariant.load !0");
                self.scalar().result(Type::Int(64), &text)
            }
            Symbol::Shared(n) => {
                let at = self.shared.get(n as usize).copied().unwrap_or(0);
                Value::int(64, at.into())
            }
            Symbol::Function(n) => Value::int(64, function_pointer(n).into()),
            Symbol::Local(at) | Symbol::Param(at) => Value::int(64, at.into()),
        }
    }

    fn special(&mut self, s: Special, class: Class) -> Result<Val, Refused> {
        let v = match (s, special(s, self.plan.layout)) {
            (Special::Tid(axis), shape) if axis < 3 => {
                let at = INTERFACE.warp.tid + usize::from(axis) * 128;
                match shape {
                    Shape::Varying => {
                        let p = self.in_warp(at);
                        let text =
                            format!("load <32 x i32>, ptr {p}, align 16, !invariant.load !0");
                        Val::Lanes(self.vector().result(Type::Int(32), &text))
                    }
                    // Lane 0's step is 0.
                    Shape::Affine { steps, .. } => {
                        let base = self.constant(32, at);
                        Val::Known(Shape::Affine { base, steps })
                    }
                    _ => Val::one(self.constant(32, at)),
                }
            }
            (Special::LaneId, Shape::Affine { steps, .. }) => {
                Val::Known(Shape::Affine { base: Value::int(32, 0), steps })
            }
            (s, _) => Val::one(self.uniform_special(s)?),
        };
        Ok(match (class, &v) {
            // A narrow register read as a wide one is zero-extended.
            (Class::Wide, Val::Known(Shape::Uniform(u))) => Val::one(self.scalar().fit(*u, 64)),
            (Class::Wide, _) => Val::Lanes(self.lanes(&v, 64)),
            _ => v,
        })
    }

    fn uniform_special(&mut self, s: Special) -> Result<Value, Refused> {
        let at = |u: Uniform, k: u8| INTERFACE.warp.uniform + 4 * (u as usize + k as usize);
        let at = match s {
            Special::Ctaid(k) if k < 3 => {
                let loops = self.constant_pointer(INTERFACE.warp.warps);
                let p = self.offset_by(&loops, INTERFACE.warps.block + 4 * usize::from(k));
                return Ok(self.scalar().result(Type::Int(32), &format!("load i32, ptr {p}")));
            }
            Special::Ntid(k) if k < 3 => at(Uniform::Ntid, k),
            Special::Nctaid(k) if k < 3 => at(Uniform::Nctaid, k),
            Special::WarpId => at(Uniform::WarpId, 0),
            Special::NWarpId => at(Uniform::NWarpId, 0),
            Special::DynamicSharedSize => at(Uniform::Dynamic, 0),
            Special::TotalSharedSize => at(Uniform::Total, 0),
            _ => return Err("a special register that this emitter does not read"),
        };
        Ok(self.constant(32, at))
    }
}

/// Arithmetic of steps, on values of the IR.
impl Arithmetic<Value> for Emit<'_> {
    fn constant(&mut self, wide: bool, v: i64) -> Value {
        Value::int(if wide { 64 } else { 32 }, v as i128 as u128)
    }

    fn add(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.scalar().op("add", *a, *b)
    }

    fn sub(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.scalar().op("sub", *a, *b)
    }

    fn mul(&mut self, _: bool, a: &Value, by: i64) -> Value {
        self.scalar().with("mul", *a, by as i128 as u128)
    }

    fn product(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.scalar().op("mul", *a, *b)
    }

    fn shr(&mut self, _: bool, signed: bool, a: &Value, by: u32) -> Value {
        self.scalar().with(if signed { "ashr" } else { "lshr" }, *a, by.into())
    }

    fn extend(&mut self, signed: bool, a: &Value) -> Value {
        self.scalar().extended(*a, 64, signed)
    }

    fn bitwise(&mut self, op: Bitwise, a: &Value, b: &Value) -> Value {
        let name = match op {
            Bitwise::And => "and",
            Bitwise::Or => "or",
            Bitwise::Xor => "xor",
        };
        self.scalar().op(name, *a, *b)
    }

    fn holds(&mut self, _: bool, signed: bool, holds: Outcomes, a: &Value, b: &Value) -> Value {
        ops::integers(self.scalar(), holds, signed, *a, *b)
    }
}
