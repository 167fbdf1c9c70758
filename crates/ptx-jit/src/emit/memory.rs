//! Loads and stores.
//!
//! If all lanes have one address, or addresses with known steps, the code accesses memory itself after one check of
//! the whole range. All other accesses, and those that fail the check, go lane by lane through a helper, which finds
//! the lane at fault.
use super::address::{Address, DEVICE, PAGE};
use super::emitter::{Emit, OWN};
use super::reach::Reach;
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::region::writes;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{INTERFACE, Which, at_once};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cushim_ptx::ir::{Base, Dst, Inst, Src, Symbol};
use cushim_ptx::sem::{IntegerOp, Operation};
use cushim_ptx::types::{Scalar, Space};

/// A load whose address is computed.
pub(super) struct Load<'a> {
    pub(super) inst: &'a Inst,
    pub(super) address: Address,
    /// Where it goes, if the code can do it itself.
    pub(super) reach: Option<Reach>,
    /// The classes of the results.
    pub(super) classes: Vec<Class>,
    /// The active lanes.
    pub(super) mask: Value,
    /// All lanes have one address.
    pub(super) uniform: bool,
    /// Bytes of each result.
    pub(super) width: i64,
}

impl Emit<'_> {
    pub(super) fn load(&mut self, inst: &Inst) {
        let ty = inst.sem.ty();
        let n = inst.dst.len();
        let width = i64::from(ty.bytes());
        let space = inst.space(0);
        let classes = self.results(inst);
        if space == Space::Param && self.param_load(inst, width)
            || self.symbol_load(inst, space, width)
            || self.load_whole(inst, &classes, width)
        {
            return;
        }
        let address = self.address_of(inst, 0);
        let own = space == Space::Generic && self.plan.local_is_generic;
        let uniform = address.base.uniform().is_some() && !own;
        let known = self.group_of.get(&self.at).is_some_and(|n| self.groups[*n].checked.is_some());
        let reach = self.reach(&address, space, width * n as i64);
        let reach = reach.filter(|r| self.can_load(inst, r, uniform));
        if let Some(r) = reach.as_ref().filter(|r| !known && !uniform && !r.shared) {
            self.look_ahead(inst, r, width * n as i64);
        }
        let mask = self.guard(inst).unwrap_or(self.act);
        self.tell(mask, space);
        let load = Load { inst, address, reach, classes, mask, uniform, width };
        if inst.guard.is_some() { self.load_guarded(&load) } else { self.load_some(&load) }
    }

    /// A load for lanes of a mask, which has some.
    pub(super) fn load_some(&mut self, load: &Load<'_>) {
        let Load { inst, address, reach, classes, mask, uniform, width } = load;
        let (mask, uniform, width) = (*mask, *uniform, *width);
        let Some(reach) = reach else {
            let uniform = uniform && inst.space(0) != Space::Local;
            return self.load_elsewhere(inst, address, classes, mask, uniform);
        };
        if let Some(bail) = self.fast_loop.as_ref().map(|s| s.bail) {
            let fast = self.b.create_block();
            self.b.ins().brif(reach.inside, fast, &[], bail, &[]);
            self.b.switch_to_block(fast);
            let values = self.load_here(inst, reach, uniform, width);
            self.put_loaded(inst, classes, uniform, values);
            return;
        }
        // Both paths leave packed values in memory; only the address differs, and that is the block's parameter.
        let packed = inst.dst.len() == 1 && self.is_packed(inst, reach, uniform);
        let merge = self.b.create_block();
        self.loaded_params(merge, classes, packed, uniform);
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        if packed && !uniform && reach.shared && self.has_part(address) {
            let near = self.b.create_block();
            self.b.set_cold_block(near);
            self.b.ins().brif(reach.inside, fast, &[], near, &[]);
            self.b.switch_to_block(near);
            let place = self.near(address, reach, mask, width, slow);
            self.jump(merge, &[place]);
        } else {
            self.choose_way(inst, reach, mask, uniform, fast, slow);
        }

        self.b.switch_to_block(fast);
        let values = if packed {
            vec![self.b.ins().iadd_imm_s(reach.pointer, reach.steps[0])]
        } else {
            self.load_here(inst, reach, uniform, width)
        };
        self.jump(merge, &values);

        self.b.switch_to_block(slow);
        let known = self.lanes_of.clone();
        if packed && !uniform {
            self.load_part(reach, mask, merge);
        }
        self.load_by_helper(inst, address, classes, mask, true);
        let values = self.received(classes, packed, uniform, mask);
        self.lanes_of = known;
        self.jump(merge, &values);

        self.b.switch_to_block(merge);
        let params = self.b.block_params(merge).to_vec();
        if packed {
            let c = classes[0];
            let v = if uniform {
                Self::known(self.b.ins().load(scalar(c), DEVICE, params[0], 0))
            } else {
                self.load_lanes(c, DEVICE, params[0], 0)
            };
            self.set(inst, inst.dst[0], v);
            return;
        }
        self.put_loaded(inst, classes, uniform, params);
    }

    /// In a version for whole warps: a load that is known to be in range.
    fn load_whole(&mut self, inst: &Inst, classes: &[Class], width: i64) -> bool {
        let Some((reach, _)) = self.whole.accesses.remove(&self.at) else { return false };
        self.tell(self.act, inst.space(0));
        let uniform = self.is_uniform_address(inst);
        let values = self.load_here(inst, &reach, uniform, width);
        self.put_loaded(inst, classes, uniform, values);
        true
    }

    /// Whether the register that an address is computed from has one value for all lanes.
    pub(super) fn is_uniform_address(&self, inst: &Inst) -> bool {
        matches!(inst.src.first(), Some(Src::Memory(Base::Reg(r, _), _))
            if self.plan.shapes[*r as usize] == Shape::Uniform(()))
    }

    /// Loads lane by lane, by a helper where that cannot be done here.
    fn load_elsewhere(
        &mut self,
        inst: &Inst,
        address: &Address,
        classes: &[Class],
        mask: Value,
        uniform: bool,
    ) {
        if !uniform && self.load_each(inst, address, classes, mask) {
            return;
        }
        self.load_by_helper(inst, address, classes, mask, false);
        for (k, (dst, c)) in inst.dst.iter().zip(classes).enumerate() {
            // The value is one: it is taken from the first active lane.
            let v = self.receive(k, *c, false);
            let v = if uniform { self.first_of(k, *c, mask) } else { v };
            self.set(inst, *dst, v);
        }
    }

    /// The parameters of the block after a load: the address of the values, or the values.
    fn loaded_params(&mut self, merge: Block, classes: &[Class], packed: bool, uniform: bool) {
        let regions: Vec<usize> =
            classes.iter().map(|c| if uniform { 1 } else { chunks(*c) }).collect();
        if packed {
            self.b.append_block_param(merge, types::I64);
        } else {
            for (c, n) in classes.iter().zip(&regions) {
                let ty = if uniform { scalar(*c) } else { vector(*c) };
                for _ in 0..*n {
                    self.b.append_block_param(merge, ty);
                }
            }
        }
    }

    /// What a helper has loaded: where it lies (`packed`), one value of each register (`uniform`), or those of all lanes.
    fn received(
        &mut self,
        classes: &[Class],
        packed: bool,
        uniform: bool,
        mask: Value,
    ) -> Vec<Value> {
        let mut values = Vec::new();
        for (k, c) in classes.iter().enumerate() {
            if packed {
                let at = if uniform { self.first_place(*c, mask) } else { self.warp };
                values.push(self.b.ins().iadd_imm_s(at, i64::from(super::pure::slot(k))));
            } else if uniform {
                let v = self.first_of(k, *c, mask);
                values.extend(v.uniform());
            } else {
                let v = self.receive(k, *c, false);
                values.extend(self.vectors(&v, *c).iter().copied());
            }
        }
        values
    }

    /// The loaded values go to the registers.
    pub(super) fn put_loaded(
        &mut self,
        inst: &Inst,
        classes: &[Class],
        uniform: bool,
        values: Vec<Value>,
    ) {
        let mut values = values.into_iter();
        for (dst, c) in inst.dst.iter().zip(classes) {
            let n = if uniform { 1 } else { chunks(*c) };
            let values: Vec<Value> = values.by_ref().take(n).collect();
            let v = if uniform { Self::known(values[0]) } else { Val::Lanes(values.into()) };
            self.set(inst, *dst, v);
        }
    }

    /// In a loop, prefetches the memory of a few rounds ahead: further by as much as this round's address is from the
    /// last one's. Threads of a grid stride too far for the processor's prefetcher.
    ///
    /// Without loops, prefetches what warps some blocks ahead will read: the processor predicts that within a page
    /// only. A prefetch is a call, so it must not need more than a line or two for a warp.
    ///
    /// A loop that reads on where the last round ended needs no prefetch: the processor predicts it, and a warp that
    /// runs its rounds alone reads one row of memory.
    pub(super) fn look_ahead(&mut self, inst: &Inst, reach: &Reach, bytes: i64) {
        /// A power of 2.
        const ROUNDS: i64 = 3;
        /// Two blocks of 256 threads; measured: 4 KiB and 8 KiB gain less.
        const BLOCKS: i64 = 2048;
        if !self.plan.regions[self.region].next.contains(&self.region) {
            let row = bytes <= 4 && reach.steps.windows(2).all(|s| s[1] - s[0] == bytes);
            if row && self.plan.steps().is_some() {
                let place = self.b.ins().iadd_imm_s(reach.pointer, reach.first + BLOCKS);
                let callee = self.constant_field(types::I64, INTERFACE.warp.touch);
                self.b.ins().call_indirect(self.touching, callee, &[place]);
            }
            return;
        }
        if self.reads_on(inst, reach) {
            return;
        }
        self.streams = true;
        let at = INTERFACE.frame as i32 + self.frame_size as i32;
        self.frame_size += 8;
        let now = self.b.ins().iadd_imm_s(reach.pointer, reach.first);
        // In the first iteration this is not initialised; a prefetch of any address is harmless.
        let last = self.b.ins().load(types::I64, OWN, self.warp, at);
        self.b.ins().store(OWN, now, self.warp, at);
        let step = self.b.ins().isub(now, last);
        let by = self.i32(ROUNDS);
        let far = self.b.ins().ishl(step, by);
        let place = self.b.ins().iadd(now, far);
        let callee = self.constant_field(types::I64, INTERFACE.warp.touch);
        self.b.ins().call_indirect(self.touching, callee, &[place]);
    }

    /// Whether each round of the present region, a loop, reads on where the last one ended, or overlaps that.
    fn reads_on(&self, inst: &Inst, reach: &Reach) -> bool {
        let Some(Src::Memory(Base::Reg(r, _), _)) = inst.src.first() else { return false };
        let region = &self.plan.regions[self.region];
        let code = &self.f.code[region.start..region.end];
        let mut steps = code.iter().filter(|i| writes(i).any(|w| w == *r));
        let (Some(step), None) = (steps.next(), steps.next()) else { return false };
        let by = match (step.sem, step.guard, step.src.as_slice()) {
            (Operation::Integer(what), None, [Src::Reg(from), Src::Imm(by)])
                if what.op == (IntegerOp::Add { saturate: false }) && from == r =>
            {
                if what.ty.bits() == 32 { i64::from(*by as i32) } else { by.cast_signed() }
            }
            _ => return false,
        };
        let group = self.group_of.get(&self.at).map_or(1, |n| self.groups[*n].count);
        by.unsigned_abs() <= reach.length.unsigned_abs().saturating_mul(group as u64)
    }

    /// Whether a helper would leave the values of the only result in memory in the same layout.
    fn is_packed(&self, inst: &Inst, reach: &Reach, uniform: bool) -> bool {
        let ty = inst.sem.ty();
        let Some(Dst::Reg(r, bits)) = inst.dst.first() else { return false };
        let run = (1..32).all(|l| {
            reach.steps[l]
                == reach.steps[0] + if uniform { 0 } else { l as i64 * i64::from(ty.bytes()) }
        });
        let same = *bits == ty.bits() && Class::of(ty) == self.class(*r);
        run && same && matches!(ty.bytes(), 4 | 8)
    }

    /// Goes on in `fast` where the code may do a load itself: where addresses of lanes that do not take part
    /// may be read, too. That is where all do, or where all are in one page, which some lane is to read.
    fn choose_way(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        mask: Value,
        uniform: bool,
        fast: Block,
        slow: Block,
    ) {
        let go = reach.inside;
        if uniform || reach.shared {
            self.b.ins().brif(go, fast, &[], slow, &[]);
            return;
        }
        let both = self.all_inside(inst, reach, mask, go);
        if reach.length > PAGE {
            self.b.ins().brif(both, fast, &[], slow, &[]);
            return;
        }
        let some = self.b.create_block();
        self.b.set_cold_block(some);
        self.b.ins().brif(both, fast, &[], some, &[]);
        self.b.switch_to_block(some);
        let first = self.b.ins().iadd_imm_s(reach.pointer, reach.first);
        let low = self.i64(PAGE - 1);
        let at = self.b.ins().band(first, low);
        let last = self.i64(PAGE - reach.length);
        let one = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, at, last);
        let go = self.b.ins().band(one, go);
        self.b.ins().brif(go, fast, &[], slow, &[]);
    }

    /// Whether all lanes of the warp take part, and `go`; once for a group.
    pub(super) fn all_inside(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        mask: Value,
        go: Value,
    ) -> Value {
        let number = self.group_of.get(&self.at).copied().filter(|n| {
            inst.guard.is_none() && self.groups[*n].checked.is_some_and(|c| c.1 == reach.inside)
        });
        if let Some(known) = number.and_then(|n| self.groups[n].whole) {
            return known;
        }
        let all = self.i32(-1);
        let full = self.b.ins().icmp(IntCC::Equal, mask, all);
        let both = self.b.ins().band(full, go);
        if let Some(n) = number {
            self.groups[n].whole = Some(both);
        }
        both
    }

    fn load_by_helper(
        &mut self,
        inst: &Inst,
        address: &Address,
        classes: &[Class],
        mask: Value,
        preserving: bool,
    ) {
        let addresses = self.pass_address(address);
        let site = self.site(inst, vec![address.class], classes.to_vec());
        self.sites[site as usize].addresses = addresses;
        if preserving {
            self.call_preserving(Which::Load, site, mask);
        } else {
            self.call(Which::Load, site, mask);
        }
    }

    /// Whether there is code for the steps of a load.
    pub(super) fn can_load(&self, inst: &Inst, reach: &Reach, uniform: bool) -> bool {
        let Operation::Load(access) = &inst.sem else { return false };
        let ty = access.element;
        if at_once(access) {
            return false;
        }
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

    pub(super) fn load_here(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        uniform: bool,
        width: i64,
    ) -> Vec<Value> {
        let (ty, flags) = (inst.sem.ty(), self.reading());
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
                    self.b.ins().load(vector(class), flags, reach.pointer, at(s[0]))
                } else if s.iter().all(|x| *x == s[0]) {
                    let v = self.b.ins().load(scalar(class), flags, reach.pointer, at(s[0]));
                    self.b.ins().splat(vector(class), v)
                } else {
                    let mut v = self.b.ins().load(scalar(class), flags, reach.pointer, at(s[0]));
                    v = self.b.ins().scalar_to_vector(vector(class), v);
                    for (j, x) in s.iter().enumerate().skip(1) {
                        self.lanes_from(c * per + j);
                        let e = self.b.ins().load(scalar(class), flags, reach.pointer, at(*x));
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
    pub(super) fn load_scalar(&mut self, pointer: Value, at: i64, ty: Scalar, dst: Dst) -> Value {
        let (class, bits) = match dst {
            Dst::Reg(r, bits) => (self.class(r), bits),
            Dst::Sink => (Class::Narrow, 32),
        };
        let (at, flags) = (at as i32, self.reading());
        let signed = ty.is_signed();
        let narrow = match (ty.bytes(), signed) {
            (1, false) => self.b.ins().uload8(types::I32, flags, pointer, at),
            (1, true) => self.b.ins().sload8(types::I32, flags, pointer, at),
            (2, false) => self.b.ins().uload16(types::I32, flags, pointer, at),
            (2, true) => self.b.ins().sload16(types::I32, flags, pointer, at),
            (8, _) => return self.b.ins().load(types::I64, flags, pointer, at),
            _ => self.b.ins().load(types::I32, flags, pointer, at),
        };
        if class == Class::Wide {
            return self.extend64(narrow, signed);
        }
        if signed && bits < 32 {
            return self.extend_part(narrow, bits, false, false);
        }
        narrow
    }

    /// A parameter at a known offset.
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
        let params = self.constant_field(types::I64, INTERFACE.warp.params);
        for (k, dst) in inst.dst.iter().enumerate() {
            let v = self.load_scalar(params, at + width * k as i64, inst.sem.ty(), *dst);
            self.set(inst, *dst, Self::known(v));
        }
        true
    }

    /// A variable of the module, which is there: nothing is to be checked.
    fn symbol_load(&mut self, inst: &Inst, space: Space, width: i64) -> bool {
        let Some(Src::Memory(Base::Symbol(symbol @ Symbol::Global(n)), offset)) = inst.src.first()
        else {
            return false;
        };
        let Some(&(size, align)) = self.globals.get(*n as usize) else { return false };
        let total = width * inst.dst.len() as i64;
        let end = offset.saturating_add(total);
        let inside = *offset >= 0 && end <= i64::from(i32::MAX) && end as u64 <= size;
        let aligned = offset % total == 0 && i64::from(align) % total == 0;
        if !matches!(space, Space::Global | Space::Const) || !inside || !aligned || width > 8 {
            return false;
        }
        let pointer = self.symbol(*symbol);
        for (k, dst) in inst.dst.iter().enumerate() {
            let at = offset + width * k as i64;
            let v = self.load_scalar(pointer, at, inst.sem.ty(), *dst);
            self.set(inst, *dst, Self::known(v));
        }
        true
    }
}
