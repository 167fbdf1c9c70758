//! Single and double precision, rounded to nearest, in native code.
//!
//! [`crate::simt::nan`] determines which registers may hold any NaN. That concerns singles; for doubles the processor
//! propagates an operand's NaN, as a GPU does, though not always the same operand's.

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::Which;
use crate::warp::task::{self, Halves};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cushim_ptx::ir::{Dst, Inst, Src};
use cushim_ptx::sem::{Clamp, Float, FloatOp, Precision};
use cushim_ptx::soft::Round;
use cushim_ptx::types::Scalar;

pub(super) fn float_type(ty: Scalar, vec: bool) -> Type {
    match (ty, vec) {
        (Scalar::F64, false) => types::F64,
        (Scalar::F64, true) => types::F64X2,
        (_, false) => types::F32,
        (_, true) => types::F32X4,
    }
}

fn int_type(ty: Scalar, vec: bool) -> Type {
    match (ty, vec) {
        (Scalar::F64, false) => types::I64,
        (Scalar::F64, true) => types::I64X2,
        (_, false) => types::I32,
        (_, true) => types::I32X4,
    }
}

/// The bits of a format: infinity, sign, canonical NaN, one.
fn bits(ty: Scalar) -> (u64, u64, u64, u64) {
    if ty == Scalar::F64 {
        let nan = cushim_ptx::alu::canonical(f64::NAN.to_bits(), cushim_ptx::soft::Format::F64);
        (f64::INFINITY.to_bits(), 1 << 63, nan, 1f64.to_bits())
    } else {
        (f32::INFINITY.to_bits().into(), 1 << 31, 0x7fff_ffff, 1f32.to_bits().into())
    }
}

impl Emit<'_> {
    pub(super) fn float_op(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let what = inst.sem.float()?;
        let Float { op, ty, flush: ftz, .. } = what;
        if what.packed || !matches!(ty, Scalar::F32 | Scalar::F64) {
            let operands = if op == FloatOp::Fma { 3 } else { 2 };
            let packed = if what.packed { task::PACKED } else { 0 };
            return self.halves_helper(Halves::of(what)?, packed, &args[..operands]);
        }
        let function = match op {
            FloatOp::Ex2 | FloatOp::Lg2 | FloatOp::Tanh | FloatOp::Sin | FloatOp::Cos => true,
            FloatOp::Rsqrt => true,
            FloatOp::Rcp(how) | FloatOp::Sqrt(how) | FloatOp::Div(how) => how != Precision::Rounded,
            FloatOp::Fma => !self.has_fma,
            _ => false,
        };
        if function || what.round != Round::Nearest {
            return self.vector_helper(what, args);
        }
        let class = Class::of(ty);
        let n = match op {
            FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Div(_) => 2,
            FloatOp::Copysign => 2,
            FloatOp::Min(how) | FloatOp::Max(how) if how.is_plain() => 2,
            FloatOp::Fma => 3,
            FloatOp::Rcp(_) if ty == Scalar::F32 => 1,
            FloatOp::Sqrt(_) | FloatOp::Neg | FloatOp::Abs => 1,
            _ => return None,
        };
        let keep = inst.dst.iter().all(|d| match d {
            Dst::Reg(r, _) => self.clean[*r as usize].is_some(),
            Dst::Sink => true,
        });
        let sat = what.clamp == Clamp::Unit;
        Some(self.map(class, &args[..n], &mut |e, a, vec| {
            let a: Vec<Value> =
                a.iter().map(|v| if ftz { e.flush_bits(*v, ty, vec) } else { *v }).collect();
            let out = e.arithmetic(op, ty, vec, &a);
            if op == FloatOp::Copysign {
                return out;
            }
            let mut out = if ty == Scalar::F64 {
                e.double_nan(inst, op, out, vec, &a)
            } else if keep || sat {
                out
            } else {
                e.canonical_bits(out, ty, vec)
            };
            if ftz {
                out = e.flush_bits(out, ty, vec);
            }
            if sat {
                out = e.saturate(out, ty, vec);
            }
            out
        }))
    }

    /// What all lanes do at once in a helper (`run/vector_float.rs`), if it is that.
    fn vector_helper(&mut self, what: Float, args: &[Val]) -> Option<Val> {
        if what.ty != Scalar::F32 || what.clamp != Clamp::None {
            return None;
        }
        if args.iter().all(|a| a.uniform().is_some()) {
            // One value: the helper for any operation does as well.
            return None;
        }
        let (one, sign) = (Self::known(self.i32(0x3f80_0000)), 1u64 << 31);
        let (which, args) = match what.op {
            FloatOp::Ex2 => (Which::Ex2, vec![args[0].clone()]),
            FloatOp::Lg2 => (Which::Lg2, vec![args[0].clone()]),
            FloatOp::Tanh => (Which::Tanh, vec![args[0].clone()]),
            FloatOp::Sin => (Which::Sin, vec![args[0].clone()]),
            FloatOp::Cos => (Which::Cos, vec![args[0].clone()]),
            FloatOp::Rsqrt => (Which::Rsqrt, vec![args[0].clone()]),
            FloatOp::Sqrt(Precision::Approx) => (Which::Sqrt, vec![args[0].clone()]),
            FloatOp::Rcp(Precision::Approx) => (Which::Rcp, vec![args[0].clone()]),
            FloatOp::Div(Precision::Approx) => (Which::DivApprox, args[..2].to_vec()),
            FloatOp::Div(Precision::Full) => (Which::DivFull, args[..2].to_vec()),
            FloatOp::Fma if what.round == Round::Nearest => (Which::Fused, args[..3].to_vec()),
            FloatOp::Fma => (Which::Directed, args[..3].to_vec()),
            FloatOp::Add => (Which::Directed, vec![args[0].clone(), one, args[1].clone()]),
            FloatOp::Sub => {
                let minus = self.map(Class::Narrow, &args[1..2], &mut |e, a, vec| {
                    let s = e.all(Class::Narrow, vec, sign);
                    e.b.ins().bxor(a[0], s)
                });
                (Which::Directed, vec![args[0].clone(), one, minus])
            }
            FloatOp::Mul => {
                // Plus a zero of the product's sign, which changes nothing.
                let zero = self.map(Class::Narrow, &args[..2], &mut |e, a, vec| {
                    let s = e.all(Class::Narrow, vec, sign);
                    let x = e.b.ins().bxor(a[0], a[1]);
                    e.b.ins().band(x, s)
                });
                (Which::Directed, vec![args[0].clone(), args[1].clone(), zero])
            }
            _ => return None,
        };
        let rounding = match what.round {
            Round::Down => task::DOWN,
            Round::Up => task::UP,
            _ => 0,
        };
        let mut flags = rounding | if what.flush { task::FTZ } else { 0 };
        for (n, a) in args.into_iter().enumerate() {
            if a.uniform().is_some() {
                flags |= task::SAME << n;
            }
            self.pass(n, &[(a, Class::Narrow)], true);
        }
        self.call_raw(which, flags, self.act);
        Some(self.receive(0, Class::Narrow, false))
    }

    /// What all lanes do at once with halves in a helper (`run/vector_half.rs`).
    pub(super) fn halves_helper(&mut self, task: Halves, more: u32, args: &[Val]) -> Option<Val> {
        if args.iter().all(|a| a.uniform().is_some()) {
            // One value: the helper for any operation does as well.
            return None;
        }
        let mut flags = (task as u32 * task::HALVES) | more;
        for (n, a) in args.iter().enumerate() {
            if a.uniform().is_some() {
                flags |= task::SAME << n;
            }
            self.pass(n, &[(a.clone(), Class::Narrow)], true);
        }
        self.call_raw(Which::Halves, flags, self.act);
        Some(self.receive(0, Class::Narrow, false))
    }

    fn arithmetic(&mut self, op: FloatOp, ty: Scalar, vec: bool, a: &[Value]) -> Value {
        let (_, sign, _, one) = bits(ty);
        let class = Class::of(ty);
        match op {
            FloatOp::Neg => {
                let s = self.all(class, vec, sign);
                return self.b.ins().bxor(a[0], s);
            }
            FloatOp::Abs => {
                let s = self.all(class, vec, sign - 1);
                return self.b.ins().band(a[0], s);
            }
            FloatOp::Copysign => {
                // PTX: the sign of the first, the magnitude of the second.
                let s = self.all(class, vec, sign);
                let (s, m) = (self.b.ins().band(a[0], s), self.b.ins().band_not(a[1], s));
                return self.b.ins().bor(s, m);
            }
            FloatOp::Min(_) => return self.float_extreme(false, ty, vec, a[0], a[1]),
            FloatOp::Max(_) => return self.float_extreme(true, ty, vec, a[0], a[1]),
            _ => {}
        }
        let t = float_type(ty, vec);
        let f: Vec<Value> = a.iter().map(|v| self.cast(t, *v)).collect();
        let one = |e: &mut Self| {
            let v = e.all(class, vec, one);
            e.cast(t, v)
        };
        let v = match op {
            // Of two NaNs the processor returns the first, PTX the second.
            FloatOp::Add => self.b.ins().fadd(f[1], f[0]),
            FloatOp::Sub => self.b.ins().fsub(f[0], f[1]),
            FloatOp::Mul => self.b.ins().fmul(f[1], f[0]),
            FloatOp::Fma => self.b.ins().fma(f[0], f[1], f[2]),
            FloatOp::Div(_) => self.b.ins().fdiv(f[0], f[1]),
            FloatOp::Sqrt(_) => self.b.ins().sqrt(f[0]),
            _ => {
                let one = one(self);
                self.b.ins().fdiv(one, f[0])
            }
        };
        self.cast(int_type(ty, vec), v)
    }

    /// Minimum or maximum; a number is preferred to a NaN; zeros by sign.
    fn float_extreme(&mut self, max: bool, ty: Scalar, vec: bool, a: Value, b: Value) -> Value {
        let t = float_type(ty, vec);
        let (x, y) = (self.cast(t, a), self.cast(t, b));
        let cc = if max { FloatCC::GreaterThan } else { FloatCC::LessThan };
        let first = self.fcmp_mask(cc, x, y, ty, vec);
        let v = self.b.ins().bitselect(first, a, b);
        let equal = self.fcmp_mask(FloatCC::Equal, x, y, ty, vec);
        let v = if max {
            let other = self.b.ins().bnot(equal);
            let other = self.b.ins().bor(a, other);
            self.b.ins().band(v, other)
        } else {
            let other = self.b.ins().band(a, equal);
            self.b.ins().bor(v, other)
        };
        let lost = self.fcmp_mask(FloatCC::Unordered, y, y, ty, vec);
        self.b.ins().bitselect(lost, a, v)
    }

    /// A comparison as a mask of the numbers' width.
    pub(super) fn fcmp_mask(
        &mut self,
        cc: FloatCC,
        x: Value,
        y: Value,
        ty: Scalar,
        vec: bool,
    ) -> Value {
        let c = self.b.ins().fcmp(cc, x, y);
        if vec {
            return c;
        }
        let t = int_type(ty, false);
        let wide = self.b.ins().uextend(t, c);
        self.b.ins().ineg(wide)
    }

    /// Subnormal numbers become zeros.
    pub(super) fn flush_bits(&mut self, v: Value, ty: Scalar, vec: bool) -> Value {
        if ty != Scalar::F32 {
            return v;
        }
        let (infinity, sign, ..) = bits(ty);
        let exponent = self.all(Class::Narrow, vec, infinity);
        let e = self.b.ins().band(v, exponent);
        let zero = self.all(Class::Narrow, vec, 0);
        let small = self.b.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::Equal, e, zero);
        let s = self.all(Class::Narrow, vec, sign);
        let flushed = self.b.ins().band(v, s);
        if vec {
            self.b.ins().bitselect(small, flushed, v)
        } else {
            self.b.ins().select(small, flushed, v)
        }
    }

    pub(super) fn canonical_bits(&mut self, v: Value, ty: Scalar, vec: bool) -> Value {
        let t = float_type(ty, vec);
        let f = self.cast(t, v);
        let c = self.b.ins().fcmp(FloatCC::Unordered, f, f);
        let nan = self.all(Class::of(ty), vec, bits(ty).2);
        if vec { self.b.ins().bitselect(c, nan, v) } else { self.b.ins().select(c, nan, v) }
    }

    /// Puts right which NaN a double's result is, where the machine has it otherwise than
    /// the interpreter ([`cushim_ptx::alu`]).
    fn double_nan(&mut self, inst: &Inst, op: FloatOp, v: Value, vec: bool, a: &[Value]) -> Value {
        let number = |n: usize| matches!(inst.src[n], Src::Imm(v) if !f64::from_bits(v).is_nan());
        let (x, y) = match op {
            // Order in which NaNs win: second, third, first; the processor's is second, first, third.
            FloatOp::Fma if number(0) || number(2) => return v,
            FloatOp::Fma => (a[1], a[2]),
            // Of two NaNs the second.
            FloatOp::Min(_) | FloatOp::Max(_) => (v, a[1]),
            FloatOp::Neg | FloatOp::Abs => (a[0], a[0]),
            _ => return v,
        };
        let t = float_type(Scalar::F64, vec);
        let (first, second) = (self.cast(t, x), self.cast(t, y));
        let quiet = match op {
            // The processor's result is the first operand if that is a NaN, else the second if that is one.
            FloatOp::Fma => {
                let sum = self.b.ins().fadd(first, second);
                self.cast(int_type(Scalar::F64, vec), sum)
            }
            _ => {
                let bit = self.all(Class::Wide, vec, 1 << 51);
                self.b.ins().bor(y, bit)
            }
        };
        let second = if matches!(op, FloatOp::Min(_) | FloatOp::Max(_)) { first } else { second };
        let nan = self.b.ins().fcmp(FloatCC::Unordered, first, second);
        if vec { self.b.ins().bitselect(nan, quiet, v) } else { self.b.ins().select(nan, quiet, v) }
    }

    pub(super) fn canonical(&mut self, v: &Val, ty: Scalar) -> Val {
        let one = std::slice::from_ref(v);
        self.map(Class::of(ty), one, &mut |e, a, vec| e.canonical_bits(a[0], ty, vec))
    }

    /// Into 0 to 1; NaN to 0.
    pub(super) fn saturate(&mut self, v: Value, ty: Scalar, vec: bool) -> Value {
        let class = Class::of(ty);
        let t = float_type(ty, vec);
        let (zero, one) = (self.all(class, vec, 0), self.all(class, vec, bits(ty).3));
        let (x, z) = (self.cast(t, v), self.cast(t, zero));
        let above = self.fcmp_mask(FloatCC::GreaterThan, x, z, ty, vec);
        let v = self.b.ins().band(v, above);
        let (x, o) = (self.cast(t, v), self.cast(t, one));
        let below = self.fcmp_mask(FloatCC::LessThan, x, o, ty, vec);
        self.b.ins().bitselect(below, v, one)
    }
}
