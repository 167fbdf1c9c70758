//! Loads and stores.
//!
//! Where all lanes have one address, or addresses with known steps, the code
//! does the access itself after one check of the whole range; everything else,
//! and everything that fails the check, goes lane by lane through a helper,
//! which finds the lane to blame.

use super::value::{Val, chunks, scalar, vector};
use super::{Emit, OWN};
use crate::plan::form::{Class, Form};
use crate::run::{Warp, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cushim_ptx::ir::{Base, Dst, Inst, Src};
use cushim_ptx::types::{Scalar, Space};
use std::mem::offset_of;

/// Device and shared memory: any alignment, faults are not expected.
const DEVICE: MemFlagsData = MemFlagsData::new().with_notrap();
/// What a processor protects as a whole, in bytes.
const PAGE: i64 = 4096;
/// The least size of an arena: a checked range is no longer.
pub(crate) const LONGEST: i64 = 1 << 16;

/// Where an access goes that the code does itself.
struct Reach {
    /// The address in this process of what `steps` are added to.
    pointer: Value,
    /// Bytes that each lane adds.
    steps: [i64; 32],
    /// Whether all is inside and aligned.
    inside: Value,
    /// The lowest address, and how many bytes from there on are touched.
    first: Value,
    length: i64,
    shared: bool,
}

impl Emit<'_> {
    /// The addresses of a memory operand in its own space.
    pub(super) fn address(&mut self, inst: &Inst, n: usize) -> (Val, Class) {
        let Some(Src::Memory(base, offset)) = inst.src.get(n) else {
            return (Self::known(self.b.ins().iconst(types::I64, 0)), Class::Wide);
        };
        match base {
            Base::Reg(r, _) => {
                let class = self.class(*r);
                let v = self.raw(*r);
                (self.add_offset(v, class, *offset), class)
            }
            Base::Symbol(s) => {
                let a = self.symbol(*s);
                (Self::known(self.b.ins().iadd_imm_s(a, *offset)), Class::Wide)
            }
            Base::Zero => (Self::known(self.i64(*offset)), Class::Wide),
        }
    }

    fn add_offset(&mut self, v: Val, class: Class, offset: i64) -> Val {
        if offset == 0 {
            return v;
        }
        match v {
            Val::Known(Form::Uniform(u)) => Self::known(self.b.ins().iadd_imm_s(u, offset)),
            Val::Known(Form::Linear { base, steps, .. }) => {
                let base = self.b.ins().iadd_imm_s(base, offset);
                Val::Known(Form::Linear { base, steps, zeros: 0 })
            }
            Val::Known(Form::Extended { offset: o, base, steps, scale, signed }) => {
                let offset = self.b.ins().iadd_imm_s(o, offset);
                Val::Known(Form::Extended { offset, base, steps, scale, signed })
            }
            other => self.map(class, &[other], &mut |e, a, vec| {
                let c = e.all(class, vec, offset as u64);
                e.b.ins().iadd(a[0], c)
            }),
        }
    }

    /// What the code can do itself, if anything: `total` bytes per lane.
    fn reach(&mut self, address: &Val, class: Class, space: Space, total: i64) -> Option<Reach> {
        let shared = match space {
            Space::Shared => true,
            Space::Global | Space::Const | Space::Generic => false,
            _ => return None,
        };
        // The address of lane steps 0 as 64 bits, the steps, and a condition.
        let (start, steps, fits) = match address {
            Val::Known(Form::Uniform(u)) => {
                let u = if class == Class::Wide { *u } else { self.extend64(*u, false) };
                (u, [0; 32], None)
            }
            Val::Known(Form::Linear { base, steps, .. }) => {
                let b = if class == Class::Wide { *base } else { self.extend64(*base, false) };
                (b, **steps, None)
            }
            Val::Known(Form::Extended { offset, base, steps, scale, signed }) => {
                let wide = self.extend64(*base, *signed);
                let (low, high) = bounds(steps);
                let (least, most) = if *signed {
                    (i64::from(i32::MIN), i64::from(i32::MAX))
                } else {
                    (0, i64::from(u32::MAX))
                };
                let (from, to) = (self.i64(least - low), self.i64(most - high));
                let above = self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, wide, from);
                let below = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, wide, to);
                let fits = self.b.ins().band(above, below);
                let by = self.i64(*scale);
                let p = self.b.ins().imul(wide, by);
                let start = self.b.ins().iadd(*offset, p);
                (start, steps.map(|s| s.wrapping_mul(*scale)), Some(fits))
            }
            _ => return None,
        };
        let (low, high) = bounds(&steps);
        let span = high.checked_sub(low)?;
        if span + total > LONGEST || steps.iter().any(|s| (s - low) % total != 0) {
            return None;
        }
        let first = if low == 0 { start } else { self.b.ins().iadd_imm_s(start, low) };
        let (pointer, within) = if shared {
            let size = self.constant_field(types::I64, offset_of!(Warp, shared_size));
            let end = self.b.ins().iadd_imm_s(first, span + total);
            let a = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, size);
            // `first` may have gone below zero.
            let b = self.b.ins().icmp(IntCC::UnsignedLessThan, first, end);
            let within = if low < 0 { self.b.ins().band(a, b) } else { a };
            let memory = self.constant_field(types::I64, offset_of!(Warp, shared));
            (self.b.ins().iadd(memory, start), within)
        } else {
            let arena = self.constant_field(types::I64, offset_of!(Warp, arena));
            let size = self.constant_field(types::I64, offset_of!(Warp, arena_size));
            let from = self.b.ins().isub(first, arena);
            let limit = self.b.ins().iadd_imm_s(size, -(span + total));
            let within = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, from, limit);
            (start, within)
        };
        let mut inside = within;
        if let Some(fits) = fits {
            inside = self.b.ins().band(inside, fits);
        }
        if total > 1 {
            let low_bits = self.i64(total - 1);
            let rest = self.b.ins().band(first, low_bits);
            let zero = self.i64(0);
            let aligned = self.b.ins().icmp(IntCC::Equal, rest, zero);
            inside = self.b.ins().band(inside, aligned);
        }
        Some(Reach { pointer, steps, inside, first, length: span + total, shared })
    }

    pub(super) fn load(&mut self, inst: &Inst) {
        let ty = inst.types[0];
        let n = inst.dst.len();
        let width = i64::from(ty.bytes());
        let space = inst.space(0, self.f.entry);
        let classes = self.results(inst);
        let (address, class) = self.address(inst, 0);
        if space == Space::Param && self.param_load(inst, width) {
            return;
        }
        let uniform = address.uniform().is_some() && !matches!(space, Space::Generic);
        let reach = self.reach(&address, class, space, width * n as i64);
        let reach = reach.filter(|r| self.can_load(inst, r, uniform));
        let mask = self.guard(inst).unwrap_or(self.act);
        let Some(reach) = reach else {
            let uniform = uniform && space != Space::Local;
            self.load_by_helper(inst, &address, class, &classes, mask);
            for (k, (dst, c)) in inst.dst.iter().zip(&classes).enumerate() {
                // The first lane that took part has the one value.
                let v = self.receive(k, *c, false);
                let v = if uniform { self.first_of(k, *c, mask) } else { v };
                self.set(inst, *dst, v);
            }
            return;
        };
        let merge = self.b.create_block();
        let pieces: Vec<usize> =
            classes.iter().map(|c| if uniform { 1 } else { chunks(*c) }).collect();
        for (c, n) in classes.iter().zip(&pieces) {
            let ty = if uniform { scalar(*c) } else { vector(*c) };
            for _ in 0..*n {
                self.b.append_block_param(merge, ty);
            }
        }
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let mut go = self.may_read_all(&reach, mask, uniform);
        if inst.guard.is_some() {
            let zero = self.i32(0);
            let some = self.b.ins().icmp(IntCC::NotEqual, mask, zero);
            go = self.b.ins().band(go, some);
        }
        self.b.ins().brif(go, fast, &[], slow, &[]);

        self.b.switch_to_block(fast);
        let values = self.load_here(inst, &reach, uniform, width);
        self.jump(merge, &values);

        self.b.switch_to_block(slow);
        let known = self.lanes_of.clone();
        self.load_by_helper(inst, &address, class, &classes, mask);
        let mut values = Vec::new();
        for (k, c) in classes.iter().enumerate() {
            if uniform {
                let v = self.first_of(k, *c, mask);
                values.extend(v.uniform());
            } else {
                let v = self.receive(k, *c, false);
                values.extend(self.vectors(&v, *c).iter().copied());
            }
        }
        self.lanes_of = known;
        self.jump(merge, &values);

        self.b.switch_to_block(merge);
        let mut params = self.b.block_params(merge).to_vec().into_iter();
        for (dst, n) in inst.dst.iter().zip(pieces) {
            let values: Vec<Value> = params.by_ref().take(n).collect();
            let v = if uniform { Self::known(values[0]) } else { Val::Lanes(values.into()) };
            self.set(inst, *dst, v);
        }
    }

    /// Whether addresses of lanes that do not take part may be read, too: where
    /// all do, or where all are in one page, which some lane is to read.
    fn may_read_all(&mut self, reach: &Reach, mask: Value, uniform: bool) -> Value {
        if uniform || reach.shared {
            return reach.inside;
        }
        let all = self.i32(-1);
        let full = self.b.ins().icmp(IntCC::Equal, mask, all);
        let mut may = full;
        if reach.length <= PAGE {
            let low = self.i64(PAGE - 1);
            let at = self.b.ins().band(reach.first, low);
            let last = self.i64(PAGE - reach.length);
            let one = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, at, last);
            may = self.b.ins().bor(full, one);
        }
        self.b.ins().band(may, reach.inside)
    }

    /// The value of the first lane of a mask in a scratch slot.
    pub(super) fn first_of(&mut self, n: usize, class: Class, mask: Value) -> Val {
        let lane = self.b.ins().ctz(mask);
        let last = self.i32(31);
        let lane = self.b.ins().band(lane, last);
        let lane = self.b.ins().uextend(types::I64, lane);
        let by = self.i32(if class == Class::Wide { 3 } else { 2 });
        let at = self.b.ins().ishl(lane, by);
        let at = self.b.ins().iadd(self.warp, at);
        Self::known(self.b.ins().load(scalar(class), OWN, at, super::pure::slot(n)))
    }

    fn load_by_helper(
        &mut self,
        inst: &Inst,
        address: &Val,
        class: Class,
        classes: &[Class],
        mask: Value,
    ) {
        self.pass(0, &[(address.clone(), class)], false);
        let site = self.site(inst, vec![class], classes.to_vec());
        self.call(Which::Load, site, mask);
    }

    /// Whether there is code for the steps of a load.
    fn can_load(&self, inst: &Inst, reach: &Reach, uniform: bool) -> bool {
        let ty = inst.types[0];
        if uniform {
            return ty.bytes() <= 8;
        }
        let fits = inst.dst.iter().all(|d| match d {
            Dst::Reg(r, bits) => *bits == ty.bits() && Class::of(ty) == self.class(*r),
            Dst::Sink => true,
        });
        let same = reach.steps == [reach.steps[0]; 32];
        fits && matches!(ty.bytes(), 4 | 8) && (inst.dst.len() == 1 || same)
    }

    fn load_here(&mut self, inst: &Inst, reach: &Reach, uniform: bool, width: i64) -> Vec<Value> {
        let ty = inst.types[0];
        let mut out = Vec::new();
        for (k, dst) in inst.dst.iter().enumerate() {
            let more = k as i64 * width;
            if uniform {
                let at = more + reach.steps[0];
                out.push(self.load_scalar(reach.pointer, at, ty, *dst));
                continue;
            }
            let class = Class::of(ty);
            let per = 32 / chunks(class);
            for c in 0..chunks(class) {
                let s = &reach.steps[c * per..(c + 1) * per];
                self.lanes_from(c * per);
                let at = |s: i64| (s + more) as i32;
                let run = s.iter().enumerate().all(|(j, x)| *x == s[0] + width * j as i64);
                let v = if run {
                    self.b.ins().load(vector(class), DEVICE, reach.pointer, at(s[0]))
                } else if s.iter().all(|x| *x == s[0]) {
                    let v = self.b.ins().load(scalar(class), DEVICE, reach.pointer, at(s[0]));
                    self.b.ins().splat(vector(class), v)
                } else {
                    let mut v = self.b.ins().load(scalar(class), DEVICE, reach.pointer, at(s[0]));
                    v = self.b.ins().scalar_to_vector(vector(class), v);
                    for (j, x) in s.iter().enumerate().skip(1) {
                        self.lanes_from(c * per + j);
                        let e = self.b.ins().load(scalar(class), DEVICE, reach.pointer, at(*x));
                        v = self.b.ins().insertlane(v, e, j as u8);
                    }
                    v
                };
                out.push(v);
            }
        }
        out
    }

    /// One value from memory, extended as the register wants it.
    fn load_scalar(&mut self, pointer: Value, at: i64, ty: Scalar, dst: Dst) -> Value {
        let (class, bits) = match dst {
            Dst::Reg(r, bits) => (self.class(r), bits),
            Dst::Sink => (Class::Narrow, 32),
        };
        let at = at as i32;
        let signed = ty.is_signed();
        let narrow = match (ty.bytes(), signed) {
            (1, false) => self.b.ins().uload8(types::I32, DEVICE, pointer, at),
            (1, true) => self.b.ins().sload8(types::I32, DEVICE, pointer, at),
            (2, false) => self.b.ins().uload16(types::I32, DEVICE, pointer, at),
            (2, true) => self.b.ins().sload16(types::I32, DEVICE, pointer, at),
            (8, _) => return self.b.ins().load(types::I64, DEVICE, pointer, at),
            _ => self.b.ins().load(types::I32, DEVICE, pointer, at),
        };
        if class == Class::Wide {
            return self.extend64(narrow, signed);
        }
        if signed && bits < 32 {
            return self.extend_part(narrow, bits, false, false);
        }
        narrow
    }

    /// A parameter at a known place.
    fn param_load(&mut self, inst: &Inst, width: i64) -> bool {
        let Some(Src::Memory(base, offset)) = inst.src.first() else { return false };
        let at = match base {
            Base::Symbol(cushim_ptx::ir::Symbol::Param(at)) => i64::from(*at) + offset,
            Base::Zero => *offset,
            _ => return false,
        };
        let total = width * inst.dst.len() as i64;
        let size = i64::from(self.f.params_size);
        if at < 0 || at + total > size || at % total != 0 || width > 8 {
            return false;
        }
        let params = self.constant_field(types::I64, offset_of!(Warp, params));
        for (k, dst) in inst.dst.iter().enumerate() {
            let v = self.load_scalar(params, at + width * k as i64, inst.types[0], *dst);
            self.set(inst, *dst, Self::known(v));
        }
        true
    }

    pub(super) fn store(&mut self, inst: &Inst) {
        let ty = inst.types[0];
        let n = inst.src.len() - 2;
        let width = i64::from(ty.bytes());
        let space = inst.space(0, self.f.entry);
        let (address, class) = self.address(inst, 0);
        let mut values = Vec::new();
        for src in &inst.src[1..=n] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(ty),
            };
            values.push((self.operand(src, c), c));
        }
        let mask = self.guard(inst).unwrap_or(self.act);
        let reach = self.reach(&address, class, space, width * n as i64);
        let reach = reach.filter(|r| {
            let fits = values.iter().all(|(_, c)| *c == Class::of(ty));
            let distinct = (1..32).all(|l| r.steps[l] == r.steps[0] + l as i64 * width);
            n == 1 && fits && distinct && matches!(width, 4 | 8)
        });
        let Some(reach) = reach else {
            self.store_by_helper(inst, &address, class, &values, mask);
            return;
        };
        let all = self.i32(-1);
        let full = self.b.ins().icmp(IntCC::Equal, mask, all);
        let go = self.b.ins().band(full, reach.inside);
        let (fast, slow, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        self.b.ins().brif(go, fast, &[], slow, &[]);
        let known = self.lanes_of.clone();
        self.b.switch_to_block(fast);
        let (v, c) = &values[0];
        for (k, x) in self.vectors(v, *c).iter().enumerate() {
            self.lanes_from(k * 32 / chunks(*c));
            let at = reach.steps[0] as i32 + 16 * k as i32;
            self.b.ins().store(DEVICE, *x, reach.pointer, at);
        }
        self.jump(next, &[]);
        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        self.store_by_helper(inst, &address, class, &values, mask);
        self.lanes_of = known;
        self.jump(next, &[]);
        self.b.switch_to_block(next);
    }

    fn store_by_helper(
        &mut self,
        inst: &Inst,
        address: &Val,
        class: Class,
        values: &[(Val, Class)],
        mask: Value,
    ) {
        let mut args = vec![(address.clone(), class)];
        args.extend(values.iter().cloned());
        self.pass(0, &args, false);
        let classes = args.iter().map(|(_, c)| *c).collect();
        let site = self.site(inst, classes, Vec::new());
        self.call(Which::Store, site, mask);
    }

    pub(super) fn atom(&mut self, inst: &Inst) {
        let (address, class) = self.address(inst, 0);
        let mut args = vec![(address, class)];
        for src in &inst.src[1..inst.src.len() - 1] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(inst.types[0]),
            };
            args.push((self.operand(src, c), c));
        }
        let mask = self.guard(inst).unwrap_or(self.act);
        self.pass(0, &args, false);
        let results = self.results(inst);
        let operands = args.iter().map(|(_, c)| *c).collect();
        let site = self.site(inst, operands, results.clone());
        self.call(Which::Atom, site, mask);
        for (n, (dst, class)) in inst.dst.iter().zip(results).enumerate() {
            let v = self.receive(n, class, false);
            self.set(inst, *dst, v);
        }
    }

    /// `cp.async`: the copy is done at once, so waiting for it is nothing.
    pub(super) fn copy_async(&mut self, inst: &Inst) {
        let mut args = vec![self.address(inst, 0), self.address(inst, 1)];
        for src in inst.src.iter().skip(2) {
            let class = match src {
                Src::Reg(r) | Src::Not(r) => self.class(*r),
                _ => Class::Narrow,
            };
            args.push((self.operand(src, class), class));
        }
        self.pass(0, &args, false);
        let classes = args.iter().map(|(_, c)| *c).collect();
        let site = self.site(inst, classes, Vec::new());
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(Which::CopyAsync, site, mask);
    }
}

fn bounds(steps: &[i64; 32]) -> (i64, i64) {
    (steps.iter().copied().min().unwrap_or(0), steps.iter().copied().max().unwrap_or(0))
}
