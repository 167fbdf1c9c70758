//! Registers: in the IR, in the frame, and conversions between shapes.
//!
//! Owns where a register is stored: in an alloca, which LLVM places where it likes; and, while the warp waits at a
//! barrier, in the frame. Must not know instructions.

use super::emitter::{Emit, LANES, Refused, Val};
use crate::simt::plan::shape::{Class, Shape};
use cushim_ptx::ir::{Dst, Sense};
use cushim_translate::llvm::{Type, Value};

/// The alloca of a register's value in the one lane of [`super::serial`]'s code.
pub(super) fn one_lane(r: u32) -> String {
    format!("%z{r}")
}

impl Emit<'_> {
    /// The alloca of a register.
    fn variable(&self, r: u32) -> String {
        match self.one_round {
            Some(_) => one_lane(r),
            None => format!("%r{r}"),
        }
    }

    /// The allocas of a register: names and types.
    pub(super) fn variables(&self, r: u32) -> Vec<(String, String)> {
        let (bits, name) = (self.bits_of(r), self.variable(r));
        match &self.plan.shapes[r as usize] {
            Shape::Varying if bits == 1 => {
                let mask = format!("{name}m");
                vec![(name, "<32 x i1>".into()), (mask, "i32".into())]
            }
            Shape::Varying => vec![(name, format!("<32 x i{bits}>"))],
            Shape::ScaledAffine { .. } => {
                let base = format!("{name}b");
                vec![(name, "i64".into()), (base, "i32".into())]
            }
            _ => vec![(name, format!("i{bits}"))],
        }
    }

    pub(super) fn declare_registers(&mut self) {
        for r in 0..self.f.registers.len() as u32 {
            for (name, ty) in self.variables(r) {
                self.b.variable(&format!("{name} = alloca {ty}"));
            }
        }
    }

    /// Sets all registers to zero, as when a thread begins.
    pub(super) fn zero_registers(&mut self) {
        for r in 0..self.f.registers.len() as u32 {
            for (name, ty) in self.variables(r) {
                self.b.line(&format!("store {ty} zeroinitializer, ptr {name}"));
            }
        }
    }

    /// Spills a register that crosses regions to the frame, or reloads it (`back`).
    pub(super) fn spill(&mut self, r: u32, back: bool) {
        let Some(at) = self.plan.slots[r as usize] else { return };
        let at = self.registers + at as usize;
        let (bits, class) = (self.bits_of(r), self.class(r));
        let varying = self.plan.shapes[r as usize] == Shape::Varying;
        if varying && class == Class::Predicate {
            return self.spill_mask(r, at, back);
        }
        for (k, (name, ty)) in self.variables(r).into_iter().enumerate() {
            let place = self.in_warp(at + 8 * k);
            // The frame has 32 bits for narrower values.
            let kept = match (varying, class) {
                (_, Class::Predicate) => "i8".to_owned(),
                (true, _) if bits < 32 => "<32 x i32>".to_owned(),
                (false, _) if bits < 32 => "i32".to_owned(),
                _ => ty.clone(),
            };
            let (from, to, source, target) = if back {
                (kept.as_str(), ty.as_str(), place.as_str(), name.as_str())
            } else {
                (ty.as_str(), kept.as_str(), name.as_str(), place.as_str())
            };
            let align = if varying { 16 } else { 4 };
            let (in_align, out_align) = match back {
                true => (format!(", align {align}"), String::new()),
                false => (String::new(), format!(", align {align}")),
            };
            let v = self.pointer();
            self.b.line(&format!("{v} = load {from}, ptr {source}{in_align}"));
            let how = if back { "trunc" } else { "zext" };
            let v = if from == to {
                v
            } else {
                let n = self.pointer();
                self.b.line(&format!("{n} = {how} {from} {v} to {to}"));
                n
            };
            self.b.line(&format!("store {to} {v}, ptr {target}{out_align}"));
        }
    }

    /// The same for a varying predicate: the frame has its mask.
    fn spill_mask(&mut self, r: u32, at: usize, back: bool) {
        let place = self.in_warp(at);
        if back {
            let bits = self.scalar().result(Type::Int(32), &format!("load i32, ptr {place}"));
            let v = self.lanes_of_mask(bits);
            return self.store_lanes(r, v);
        }
        let bits = self.load_variable(&format!("r{r}m"));
        let bits = self.scalar().typed(bits);
        self.b.line(&format!("store {bits}, ptr {place}"));
    }

    /// A register's value, whose NaNs may have any bits.
    pub(super) fn raw(&mut self, r: u32) -> Val {
        let bits = self.bits_of(r);
        let load = |e: &mut Self, name: String, bits: u32| {
            e.scalar().result(Type::Int(bits), &format!("load i{bits}, ptr {name}"))
        };
        match self.plan.shapes[r as usize].clone() {
            Shape::Uniform(()) => Val::one(load(self, self.variable(r), bits)),
            Shape::Affine { steps, .. } => {
                let base = load(self, self.variable(r), bits);
                Val::Known(Shape::Affine { base, steps })
            }
            Shape::ScaledAffine { steps, scale, signed, .. } => {
                let offset = load(self, self.variable(r), 64);
                let base = load(self, format!("{}b", self.variable(r)), 32);
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
            }
            Shape::Varying => Val::Lanes(self.load_lanes(r)),
        }
    }

    /// The lanes of a varying register.
    pub(super) fn load_lanes(&mut self, r: u32) -> Value {
        self.load_lanes_of(&self.variable(r), r)
    }

    /// The lanes of a variable of the same type as a varying register's.
    pub(super) fn load_lanes_of(&mut self, variable: &str, r: u32) -> Value {
        let bits = self.bits_of(r);
        let text = format!("load <32 x i{bits}>, ptr {variable}");
        let v = self.vector().result(Type::Int(bits), &text);
        if bits == 1 {
            let bits = self.load_variable(&format!("{}m", &variable[1..]));
            self.with_mask(v, bits);
        }
        v
    }

    pub(super) fn store_lanes(&mut self, r: u32, v: Value) {
        if v.ty == Type::Int(1) {
            let bits = self.mask(v);
            self.set_variable(&format!("r{r}m"), bits);
        }
        let v = self.vector().typed(v);
        let name = self.variable(r);
        self.b.line(&format!("store {v}, ptr {name}"));
    }

    fn store_one(&mut self, name: &str, v: Value, bits: u32) {
        let v = self.scalar().fit(v, bits);
        let v = self.b.typed(v);
        self.b.line(&format!("store {v}, ptr {name}"));
    }

    /// Writes a result under the guard.
    pub(super) fn set(&mut self, dst: Dst, v: Val) -> Result<(), Refused> {
        const MISMATCH: &str = "a value of another shape than was planned";
        let Dst::Reg(r, _) = dst else { return Ok(()) };
        let bits = self.bits_of(r);
        let guard = self.guard.clone();
        let shape = self.plan.shapes[r as usize].clone();
        if shape == Shape::Varying {
            let new = self.lanes(&v, bits);
            let new = match guard {
                None => new,
                Some(guard) => {
                    let (guard, old) = (self.lanes(&guard, 1), self.load_lanes(r));
                    self.choose(guard, new, old)
                }
            };
            self.store_lanes(r, new);
            return Ok(());
        }
        let old = if guard.is_some() { self.raw(r).shape() } else { Shape::Varying };
        let guard = match guard {
            None => None,
            Some(g) => Some(g.uniform().ok_or(MISMATCH)?),
        };
        let choose = |e: &mut Self, new: Value, old: Value, bits: u32| match guard {
            None => new,
            Some(g) => {
                let (new, old) = (e.scalar().fit(new, bits), e.scalar().fit(old, bits));
                e.scalar().select(g, new, old)
            }
        };
        match (v, shape, old) {
            (Val::Known(Shape::Uniform(new)), Shape::Uniform(()), old) => {
                let old = if let Shape::Uniform(old) = old { old } else { new };
                let v = choose(self, new, old, bits);
                self.store_one(&self.variable(r), v, bits);
            }
            (
                Val::Known(Shape::Affine { base: new, steps }),
                Shape::Affine { steps: planned, .. },
                old,
            ) if steps == planned => {
                let old = if let Shape::Affine { base, .. } = old { base } else { new };
                let v = choose(self, new, old, bits);
                self.store_one(&self.variable(r), v, bits);
            }
            (
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }),
                Shape::ScaledAffine { steps: planned, scale: by, signed: s, .. },
                old,
            ) if steps == planned && scale == by && signed == s => {
                let (x, y) = match old {
                    Shape::ScaledAffine { offset, base, .. } => (offset, base),
                    _ => (offset, base),
                };
                let (offset, base) = (choose(self, offset, x, 64), choose(self, base, y, 32));
                self.store_one(&self.variable(r), offset, 64);
                self.store_one(&format!("{}b", self.variable(r)), base, 32);
            }
            _ => return Err(MISMATCH),
        }
        Ok(())
    }

    /// Reads the guard of an instruction.
    pub(super) fn read_guard(&mut self, guard: Option<(u32, Sense)>) {
        self.guard = guard.map(|(r, sense)| {
            let v = self.raw(r);
            if sense == Sense::True { v } else { self.not(v) }
        });
    }

    /// The negation of a predicate.
    pub(super) fn not(&mut self, v: Val) -> Val {
        match v.uniform() {
            Some(u) => Val::one(self.scalar().not(u)),
            None => {
                let v = self.lanes(&v, 1);
                Val::Lanes(self.not_lanes(v))
            }
        }
    }

    /// One value in all lanes.
    pub(super) fn splat(&mut self, v: Value) -> Value {
        if v.constant().is_some() {
            return v;
        }
        let ty = v.ty.text();
        let v1 = self.scalar().typed(v);
        let n = self.pointer();
        self.b.line(&format!("{n} = insertelement <32 x {ty}> poison, {v1}, i32 0"));
        let zero = "<32 x i32> zeroinitializer";
        let text = format!("shufflevector <32 x {ty}> {n}, <32 x {ty}> poison, {zero}");
        self.vector().result(v.ty, &text)
    }

    /// Adds each lane's step.
    fn add_steps(&mut self, v: Value, steps: &[i64; 32]) -> Value {
        let bits = v.ty.bits();
        let all: Vec<String> = steps
            .iter()
            .map(|s| match bits {
                32 => format!("i32 {}", *s as i32),
                _ => format!("i64 {s}"),
            })
            .collect();
        let v1 = self.vector().typed(v);
        let text = format!("add {v1}, <{}>", all.join(", "));
        self.vector().result(v.ty, &text)
    }

    /// A value as a vector of elements of `bits`: truncated or zero-extended.
    pub(super) fn lanes(&mut self, v: &Val, bits: u32) -> Value {
        let all = match v {
            Val::Lanes(v) => *v,
            Val::Known(Shape::Uniform(u)) => {
                let u = self.scalar().fit(*u, bits);
                return if bits == 1 { self.uniform_predicate(u) } else { self.splat(u) };
            }
            Val::Known(Shape::Affine { base, steps }) => {
                let splat = self.splat(*base);
                self.add_steps(splat, steps)
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }) => {
                let splat = self.splat(*base);
                let narrow = self.add_steps(splat, steps);
                let wide = self.vector().extended(narrow, 64, *signed);
                let by = Value::int(64, *scale as i128 as u128);
                let product = self.vector().op("mul", wide, by);
                let offset = self.splat(*offset);
                self.vector().op("add", product, offset)
            }
            Val::Known(Shape::Varying) => Value::int(bits, 0),
        };
        debug_assert_eq!(LANES, 32);
        self.vector().fit(all, bits)
    }
}
