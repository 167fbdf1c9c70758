//! Arithmetic on strides, as values of the generated code.

use super::emitter::Emit;
use crate::simt::plan::shape::{Arithmetic, Bitwise};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::sem::Outcomes;

impl Arithmetic<Value> for Emit<'_> {
    fn constant(&mut self, wide: bool, v: i64) -> Value {
        if wide { self.i64(v) } else { self.i32(v) }
    }

    fn add(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.b.ins().iadd(*a, *b)
    }

    fn sub(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.b.ins().isub(*a, *b)
    }

    fn mul(&mut self, wide: bool, a: &Value, by: i64) -> Value {
        let by = self.constant(wide, by);
        self.b.ins().imul(*a, by)
    }

    fn product(&mut self, _: bool, a: &Value, b: &Value) -> Value {
        self.b.ins().imul(*a, *b)
    }

    fn shr(&mut self, _: bool, signed: bool, a: &Value, by: u32) -> Value {
        let by = self.i32(by.into());
        if signed { self.b.ins().sshr(*a, by) } else { self.b.ins().ushr(*a, by) }
    }

    fn extend(&mut self, signed: bool, a: &Value) -> Value {
        if signed {
            self.b.ins().sextend(types::I64, *a)
        } else {
            self.b.ins().uextend(types::I64, *a)
        }
    }

    fn bitwise(&mut self, op: Bitwise, a: &Value, b: &Value) -> Value {
        match op {
            Bitwise::And => self.b.ins().band(*a, *b),
            Bitwise::Or => self.b.ins().bor(*a, *b),
            Bitwise::Xor => self.b.ins().bxor(*a, *b),
        }
    }

    fn holds(&mut self, wide: bool, signed: bool, holds: Outcomes, a: &Value, b: &Value) -> Value {
        self.holds_of_one(wide, signed, holds, *a, *b)
    }
}
