//! Values of registers, in SSA values and in the frame, and conversions between both; writing results.

use super::emitter::{Emit, OWN};
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::shape::{Arithmetic, Class, Shape};
use crate::warp::INTERFACE;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, InstructionData, MemFlagsData, Opcode, Type, Value, types,
};
use cushim_ptx::ir::{Dst, Inst, Sense};
use std::rc::Rc;

impl Emit<'_> {
    /// A vector constant of 16 bytes.
    pub(super) fn constant_vector(&mut self, ty: Type, bytes: [u8; 16]) -> Value {
        let c = self.b.func.dfg.constants.insert(bytes.to_vec().into());
        self.b.ins().vconst(ty, c)
    }

    pub(super) fn vector_of(&mut self, v: [u32; 4]) -> Value {
        let mut bytes = [0; 16];
        for (to, from) in bytes.chunks_exact_mut(4).zip(v) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        self.constant_vector(types::I32X4, bytes)
    }

    /// A constant in every lane of a vector, or the scalar.
    pub(super) fn all(&mut self, class: Class, vec: bool, v: u64) -> Value {
        match (class, vec) {
            (Class::Wide, false) => self.i64(v as i64),
            (_, false) => self.i32(v as i64),
            (Class::Wide, true) => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&v.to_le_bytes());
                bytes[8..].copy_from_slice(&v.to_le_bytes());
                self.constant_vector(types::I64X2, bytes)
            }
            (_, true) => self.vector_of([v as u32; 4]),
        }
    }

    /// The bits of one type seen as another of the same size.
    pub(super) fn cast(&mut self, ty: Type, v: Value) -> Value {
        if self.b.func.dfg.value_type(v) == ty {
            return v;
        }
        let flags = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        self.b.ins().bitcast(ty, flags, v)
    }

    /// A value as vectors.
    pub(super) fn vectors(&mut self, v: &Val, class: Class) -> Rc<[Value]> {
        match v {
            Val::Lanes(l) => l.clone(),
            Val::Mask { .. } => self.mask_lanes(v),
            Val::Known(Shape::Uniform(u)) => self.copies(*u, class),
            Val::Known(Shape::Affine { base, steps, .. }) => {
                let splat = self.b.ins().splat(vector(class), *base);
                self.add_steps(splat, steps, class)
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }) => {
                let splat = self.b.ins().splat(types::I32X4, *base);
                let narrow = self.add_steps(splat, steps, Class::Narrow);
                let wide = self.widen(&narrow, *signed);
                let offset = self.b.ins().splat(types::I64X2, *offset);
                let shift = (*scale > 0 && scale.count_ones() == 1).then(|| scale.trailing_zeros());
                let by = match shift {
                    Some(k) => self.i32(k.into()),
                    None => self.all(Class::Wide, true, *scale as u64),
                };
                wide.iter()
                    .map(|v| {
                        let p = if shift.is_some() {
                            self.b.ins().ishl(*v, by)
                        } else {
                            self.b.ins().imul(*v, by)
                        };
                        self.b.ins().iadd(p, offset)
                    })
                    .collect()
            }
            Val::Known(Shape::Varying) => unreachable!("vectors are `Val::Lanes`"),
        }
    }

    /// The number that a value is, if the code has it as a constant.
    pub(super) fn number_of(&self, v: Value) -> Option<u64> {
        match self.b.func.dfg.insts[self.b.func.dfg.value_def(v).inst()?] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    /// One value in all lanes. A constant is loaded from memory at each use, which keeps a register free.
    fn copies(&mut self, u: Value, class: Class) -> Rc<[Value]> {
        let n = chunks(class);
        let Some(v) = self.number_of(u) else {
            let one = self.b.ins().splat(vector(class), u);
            return vec![one; n].into();
        };
        let all = (0..n).map(|k| {
            self.lanes_from(k * 32 / n);
            self.all(class, true, v)
        });
        let all = all.collect();
        self.lanes_from(0);
        all
    }

    fn add_steps(&mut self, splat: Value, steps: &[i64; 32], class: Class) -> Rc<[Value]> {
        let all = (0..chunks(class))
            .map(|k| {
                self.lanes_from(k * 32 / chunks(class));
                let c = if class == Class::Wide {
                    let mut bytes = [0; 16];
                    bytes[..8].copy_from_slice(&steps[2 * k].to_le_bytes());
                    bytes[8..].copy_from_slice(&steps[2 * k + 1].to_le_bytes());
                    self.constant_vector(types::I64X2, bytes)
                } else {
                    self.vector_of(std::array::from_fn(|j| steps[4 * k + j] as u32))
                };
                self.b.ins().iadd(splat, c)
            })
            .collect();
        self.lanes_from(0);
        all
    }

    /// 8 vectors of 4 to 16 of 2.
    pub(super) fn widen(&mut self, narrow: &[Value], signed: bool) -> Rc<[Value]> {
        let mut out = Vec::with_capacity(16);
        for v in narrow {
            if signed {
                out.push(self.b.ins().swiden_low(*v));
                out.push(self.b.ins().swiden_high(*v));
            } else {
                out.push(self.b.ins().uwiden_low(*v));
                out.push(self.b.ins().uwiden_high(*v));
            }
        }
        out.into()
    }

    /// The lower halves of 16 vectors of 2, as 8 of 4.
    pub(super) fn narrow(&mut self, wide: &[Value], upper: bool) -> Rc<[Value]> {
        let o = if upper { 4 } else { 0 };
        let bytes: [u8; 16] = std::array::from_fn(|i| (i / 4 * 8 + i % 4 + o) as u8);
        let mask = self.b.func.dfg.immediates.push(bytes.to_vec().into());
        wide.chunks_exact(2)
            .map(|p| {
                let (x, y) = (self.cast(types::I8X16, p[0]), self.cast(types::I8X16, p[1]));
                let v = self.b.ins().shuffle(x, y, mask);
                self.cast(types::I32X4, v)
            })
            .collect()
    }

    /// A predicate as one bit per lane.
    pub(super) fn bits(&mut self, v: &Val) -> Value {
        match v {
            Val::Known(Shape::Uniform(u)) => *u,
            Val::Mask { bits: Some(b), .. } => *b,
            Val::Mask { lanes: Some(l), .. } => {
                let l = l.clone();
                let half = |e: &mut Self, v: &[Value]| {
                    let a = e.b.ins().snarrow(v[0], v[1]);
                    let b = e.b.ins().snarrow(v[2], v[3]);
                    let c = e.b.ins().snarrow(a, b);
                    e.b.ins().vhigh_bits(types::I32, c)
                };
                let (low, high) = (half(self, &l[..4]), half(self, &l[4..]));
                let by = self.i32(16);
                let high = self.b.ins().ishl(high, by);
                let bits = self.b.ins().bor(low, high);
                self.lanes_of.insert(bits, l.to_vec());
                bits
            }
            _ => unreachable!("a predicate has bits or lanes"),
        }
    }

    /// A predicate as 8 vectors of 4 masks.
    pub(super) fn mask_lanes(&mut self, v: &Val) -> Rc<[Value]> {
        match v {
            Val::Mask { lanes: Some(l), .. } => l.clone(),
            Val::Mask { bits: Some(b), .. } => self.expand(*b).into(),
            Val::Known(Shape::Uniform(u)) => {
                let s = self.b.ins().splat(types::I32X4, *u);
                vec![s; 8].into()
            }
            _ => unreachable!("a predicate has bits or lanes"),
        }
    }

    /// A bit mask as 8 vectors of 4 masks.
    pub(super) fn expand(&mut self, bits: Value) -> Vec<Value> {
        if let Some(l) = self.lanes_of.get(&bits) {
            return l.clone();
        }
        let splat = self.b.ins().splat(types::I32X4, bits);
        let out: Vec<Value> = (0..8u32)
            .map(|k| {
                self.lanes_from(4 * k as usize);
                let c = self.vector_of(std::array::from_fn(|j| 1 << (4 * k + j as u32)));
                let hit = self.b.ins().band(splat, c);
                self.b.ins().icmp(IntCC::Equal, hit, c)
            })
            .collect();
        self.lanes_from(0);
        self.lanes_of.insert(bits, out.clone());
        out
    }

    /// Masks for vectors of a class.
    pub(super) fn masks_for(&mut self, lanes: &[Value], class: Class) -> Rc<[Value]> {
        if class == Class::Wide { self.widen(lanes, true) } else { lanes.into() }
    }

    // --- registers ---------------------------------------------------------

    pub(super) fn class(&self, register: u32) -> Class {
        self.plan.classes[register as usize]
    }

    /// The value of a register, with whatever NaNs the code keeps.
    pub(super) fn raw(&mut self, register: u32) -> Val {
        self.touched.touch(register, self.at);
        if let Some(v) = self.cache.get(&register) {
            return v.clone();
        }
        let v = self.load_slot(register);
        self.cache.insert(register, v.clone());
        v
    }

    fn load_slot(&mut self, register: u32) -> Val {
        let class = self.class(register);
        let Some(at) = self.plan.slots[register as usize] else {
            // Never written: zero, the initial value of every register.
            let zero = self.constant(class == Class::Wide, 0);
            return Self::known(zero);
        };
        let at = at as i32 + self.registers as i32;
        let ty = scalar(class);
        match self.plan.shapes[register as usize].clone() {
            Shape::Uniform(()) => Self::known(self.b.ins().load(ty, OWN, self.warp, at)),
            Shape::Affine { steps, .. } => {
                let base = self.b.ins().load(ty, OWN, self.warp, at);
                Val::Known(Shape::Affine { base, steps })
            }
            Shape::ScaledAffine { steps, scale, signed, .. } => {
                let offset = self.b.ins().load(types::I64, OWN, self.warp, at);
                let base = self.b.ins().load(types::I32, OWN, self.warp, at + 8);
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
            }
            Shape::Varying if class == Class::Predicate => {
                let bits = self.b.ins().load(types::I32, OWN, self.warp, at);
                Val::Mask { bits: Some(bits), lanes: None }
            }
            Shape::Varying => self.load_lanes(class, OWN, self.warp, at),
        }
    }

    /// Values of all lanes that are contiguous in memory.
    pub(super) fn load_lanes(
        &mut self,
        class: Class,
        flags: MemFlagsData,
        base: Value,
        at: i32,
    ) -> Val {
        let all = (0..chunks(class)).map(|k| {
            self.lanes_from(k * 32 / chunks(class));
            self.b.ins().load(vector(class), flags, base, at + 16 * k as i32)
        });
        let all = all.collect();
        self.lanes_from(0);
        Val::Lanes(all)
    }

    /// Stores a register's value to its slot in the frame.
    pub(super) fn store_slot(&mut self, register: u32, value: &Val) {
        let class = self.class(register);
        let Some(at) = self.plan.slots[register as usize] else { return };
        let at = at as i32 + self.registers as i32;
        match (&self.plan.shapes[register as usize], value) {
            (Shape::Uniform(()), Val::Known(Shape::Uniform(v)))
            | (Shape::Affine { .. }, Val::Known(Shape::Affine { base: v, .. })) => {
                self.b.ins().store(OWN, *v, self.warp, at);
            }
            (Shape::ScaledAffine { .. }, Val::Known(Shape::ScaledAffine { offset, base, .. })) => {
                self.b.ins().store(OWN, *offset, self.warp, at);
                self.b.ins().store(OWN, *base, self.warp, at + 8);
            }
            (Shape::Varying, v) if class == Class::Predicate => {
                let bits = self.bits(v);
                self.b.ins().store(OWN, bits, self.warp, at);
            }
            (Shape::Varying, v) => {
                let all = self.vectors(v, class);
                for (k, v) in all.iter().enumerate() {
                    self.b.ins().store(OWN, *v, self.warp, at + 16 * k as i32);
                }
            }
            (shape, value) => {
                unreachable!("r{register}: planned as {shape:?}, the code has {value:?}")
            }
        }
    }

    /// At the end of a region: what crosses goes to the frame.
    pub(super) fn flush(&mut self) {
        let written = std::mem::take(&mut self.written);
        self.write_back(written.into_iter().collect());
    }

    /// Stores those of these registers that are live after the region to the frame.
    pub(super) fn write_back(&mut self, written: Vec<u32>) {
        let k = self.region;
        let crosses = |r: &u32| self.plan.regions[k].live_out.has(*r as usize);
        let crossing: Vec<u32> = written.into_iter().filter(crosses).collect();
        let (mixed, own): (Vec<u32>, Vec<u32>) =
            crossing.into_iter().partition(|r| self.plan.blend[k].has(*r as usize));
        self.flush_registers(&own, false);
        if self.fast_loop.is_some() || self.whole.on {
            self.flush_registers(&mixed, false);
            return;
        }
        if mixed.is_empty() {
            return;
        }
        // Usually no lane waits in another region: then no old value has to be kept.
        let live = self.field(types::I32, INTERFACE.warp.live);
        let alone = self.b.ins().icmp(IntCC::Equal, live, self.act);
        let (plain, blend, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(blend);
        self.b.ins().brif(alone, plain, &[], blend, &[]);
        for (block, blends) in [(plain, false), (blend, true)] {
            self.b.switch_to_block(block);
            let known = self.lanes_of.clone();
            self.flush_registers(&mixed, blends);
            self.lanes_of = known;
            self.b.ins().jump(next, &[]);
        }
        self.b.switch_to_block(next);
    }

    fn flush_registers(&mut self, registers: &[u32], blends: bool) {
        for r in registers {
            let Some(mut v) = self.cache.get(r).cloned() else { continue };
            if blends {
                let old = self.load_slot(*r);
                v = self.blend(self.act, &v, &old, self.class(*r));
            }
            self.store_slot(*r, &v);
        }
    }

    /// Writes zero to registers that are read before they are written.
    pub(super) fn zero_entry(&mut self) {
        for r in self.plan.regions[0].live_in.iter() {
            let class = self.class(r as u32);
            let zero = self.constant(class == Class::Wide, 0);
            self.store_slot(r as u32, &Self::known(zero));
        }
    }

    /// The lanes for which an instruction runs: `None` if its guard is uniform and true for all active lanes, as a
    /// branch has determined.
    pub(super) fn guard(&mut self, inst: &Inst) -> Option<Value> {
        let (p, sense) = inst.guard?;
        let v = self.raw(p);
        let bits = self.bits(&v);
        Some(if sense == Sense::True {
            self.b.ins().band(self.act, bits)
        } else {
            self.b.ins().band_not(self.act, bits)
        })
    }

    /// Writes a result, where the guard says.
    pub(super) fn set(&mut self, inst: &Inst, dst: Dst, value: Val) {
        let Dst::Reg(r, _) = dst else { return };
        let class = self.class(r);
        let value = match inst.guard {
            None => value,
            Some((p, sense)) => {
                let old = self.raw(r);
                let guard = self.raw(p);
                match (guard.uniform(), value.shape(), old.shape()) {
                    (Some(g), new, old_form) if same_shape(&new, &old_form) => {
                        let (new, old) =
                            if sense == Sense::True { (new, old_form) } else { (old_form, new) };
                        Val::Known(self.choose(g, new, old))
                    }
                    (Some(g), ..) => {
                        let g = if sense == Sense::True { g } else { self.b.ins().bnot(g) };
                        self.blend(g, &value, &old, class)
                    }
                    _ => {
                        let bits = self.bits(&guard);
                        let (yes, no) =
                            if sense == Sense::True { (&value, &old) } else { (&old, &value) };
                        self.blend(bits, yes, no, class)
                    }
                }
            }
        };
        self.assign(r, value);
    }

    /// A register has a new value.
    pub(super) fn assign(&mut self, register: u32, value: Val) {
        self.touched.touch(register, self.at);
        self.cache.insert(register, value);
        self.written.insert(register);
    }

    fn choose(&mut self, g: Value, yes: Shape<Value>, no: Shape<Value>) -> Shape<Value> {
        match (yes, no) {
            (Shape::Uniform(y), Shape::Uniform(n)) => Shape::Uniform(self.b.ins().select(g, y, n)),
            (Shape::Affine { base: y, steps }, Shape::Affine { base: n, .. }) => {
                let base = self.b.ins().select(g, y, n);
                Shape::Affine { base, steps }
            }
            (
                Shape::ScaledAffine { offset: y, base: b, steps, scale, signed },
                Shape::ScaledAffine { offset: n, base: c, .. },
            ) => {
                let offset = self.b.ins().select(g, y, n);
                let base = self.b.ins().select(g, b, c);
                Shape::ScaledAffine { offset, base, steps, scale, signed }
            }
            _ => unreachable!("shapes with the same steps"),
        }
    }
}

fn same_shape(a: &Shape<Value>, b: &Shape<Value>) -> bool {
    match (a, b) {
        (Shape::Uniform(_), Shape::Uniform(_)) => true,
        (Shape::Affine { steps: s, .. }, Shape::Affine { steps: t, .. }) => s == t,
        (
            Shape::ScaledAffine { steps: s, scale: x, signed: g, .. },
            Shape::ScaledAffine { steps: t, scale: y, signed: h, .. },
        ) => s == t && x == y && g == h,
        _ => false,
    }
}
