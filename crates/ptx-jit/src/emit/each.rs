//! Gathers and scatters: accesses in which each lane has its own address.
//!
//! Owns each lane's operation: loads, stores and atomic operations. Must not know: addresses with known strides
//! ([`super::memory`]), and the iteration over lanes ([`super::places`]).
//!
//! Addresses are in slot 0 of the scratch, where helpers expect them; helpers handle all unusual cases. A loop
//! handles as many lanes at once as a vector has, and stores its first lane, because its code cannot tell which lane
//! accesses unmapped memory.

use super::address::{Address, DEVICE};
use super::emitter::{Emit, OWN};
use super::places::{Each, Memory};
use super::pure::slot;
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Together, Which, at_once};
use cranelift_codegen::ir::{AtomicRmwOp, Block, InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};
use cushim_ptx::sem::{Access, Atomic, Operation, Update};
use cushim_ptx::types::Scalar;

/// The slots of loops' results: after the operands of everything that has loops.
const RESULTS: usize = Together::RESULTS;

impl Emit<'_> {
    /// Whether registers have just the bits of values in memory.
    pub(super) fn takes(&self, dst: &[Dst], ty: Scalar) -> bool {
        dst.iter().all(|d| match d {
            Dst::Reg(r, bits) => *bits == ty.bits() && Class::of(ty) == self.class(*r),
            Dst::Sink => true,
        })
    }

    /// The bytes of a lane, where loops do such an access, part by part.
    fn looped(access: &Access, class: Class) -> Option<(Memory, i64)> {
        let memory = Memory::of(access.space)?;
        let known =
            matches!(access.element.bytes(), 1 | 2 | 4 | 8) && matches!(access.parts, 1 | 2 | 4);
        let known = known && !at_once(access);
        let fits = memory != Memory::Device || class == Class::Wide;
        (known && fits).then(|| (memory, access.bytes().into()))
    }

    /// Addresses with a value for each lane, if loops are to iterate over them: other code handles known steps
    /// itself, except for small values and in the lanes' own memory.
    fn by_lane(&mut self, address: &Address, memory: Memory, ty: Scalar) -> Option<Address> {
        let base = match &address.base {
            Val::Lanes(_) => address.base.clone(),
            Val::Mask { .. } => return None,
            known if memory == Memory::Local || ty.bytes() < 4 => {
                Val::Lanes(self.vectors(known, address.class))
            }
            Val::Known(_) => return None,
        };
        Some(Address { base, class: address.class, offset: address.offset })
    }

    /// A load; whether there is code for it.
    pub(super) fn load_each(
        &mut self,
        inst: &Inst,
        address: &Address,
        classes: &[Class],
        mask: Value,
    ) -> bool {
        let Operation::Load(access) = &inst.sem else { return false };
        let (ty, n) = (access.element, inst.dst.len());
        let Some((memory, total)) = Self::looped(access, address.class) else { return false };
        let taken = inst.dst.iter().zip(classes).filter(|(d, _)| !matches!(d, Dst::Sink));
        let mut taken = taken.map(|(_, class)| *class);
        let Some(class) = taken.next() else { return false };
        if class == Class::Predicate || !taken.all(|other| other == class) {
            return false;
        }
        if memory == Memory::Local && self.load_own(inst, address, class, total, mask) {
            return true;
        }
        if self.load_by_function(inst, address, (memory, class), mask) {
            return true;
        }
        let Some(address) = self.by_lane(address, memory, ty) else { return false };
        self.pass_address(&address);
        let [fast, some, few, slow, merge] = [(); 5].map(|()| self.b.create_block());
        self.b.append_block_param(merge, types::I64);
        self.b.set_cold_block(some);
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let check = self.full_or(mask, some);
        self.b.switch_to_block(some);
        let many = self.few_or(mask, few);
        self.b.switch_to_block(many);
        // Lanes that do not take part read at the address of the first one that does.
        self.replace_others(address.class, mask, slow, check);
        self.b.switch_to_block(check);
        let each = self.check_each((address.class, memory), total, fast, slow);
        if n == 1 && memory != Memory::Local {
            self.load_beside(&inst.dst, &each, (ty, class, total), merge);
        }
        self.load_rows(&inst.dst, &each, (ty, class), merge);

        self.b.switch_to_block(few);
        self.lanes_of.clone_from(&known);
        self.over_set(mask, |e, lane, _| {
            let place = e.checked_place((address.class, memory), lane, total, (slow, None));
            let own = e.of_lane(lane, class);
            e.load_elements(&inst.dst, place, ty, |e, k, x| {
                e.b.ins().store(OWN, x, own, slot(RESULTS + k));
            });
        });
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        let zero = self.i32(0);
        self.set_field(zero, INTERFACE.warp.from);
        let site = self.site(inst, vec![address.class], classes.to_vec());
        self.call_preserving(Which::Load, site, mask);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(0)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(merge);
        self.lanes_of = known;
        let place = self.b.block_params(merge)[0];
        for (k, dst) in inst.dst.iter().enumerate().filter(|(_, d)| !matches!(d, Dst::Sink)) {
            let v = self.load_lanes(class, DEVICE, place, (k * INTERFACE.slot) as i32);
            self.set(inst, *dst, v);
        }
        true
    }

    /// The elements of one lane, except unused ones.
    fn load_elements(
        &mut self,
        to: &[Dst],
        place: Value,
        ty: Scalar,
        mut keep: impl FnMut(&mut Self, usize, Value),
    ) {
        for (k, dst) in to.iter().enumerate().filter(|(_, d)| !matches!(d, Dst::Sink)) {
            let x = self.load_scalar(place, k as i64 * i64::from(ty.bytes()), ty, *dst);
            keep(self, k, x);
        }
    }

    /// A load of all lanes, each at its address, as many at a time as a vector has.
    fn load_rows(&mut self, to: &[Dst], each: &Each, (ty, class): (Scalar, Class), merge: Block) {
        self.over_lanes(32 / chunks(class), |e, lane| {
            let places: Vec<Value> =
                (0..32 / chunks(class)).map(|j| e.place(each, lane, j)).collect();
            for (k, dst) in to.iter().enumerate() {
                if matches!(dst, Dst::Sink) {
                    continue;
                }
                let at = k as i64 * i64::from(ty.bytes());
                let mut v = None;
                for (j, place) in places.iter().enumerate() {
                    e.lanes_from(j);
                    let x = e.load_scalar(*place, at, ty, *dst);
                    v = Some(e.with_lane(v, x, j, class));
                }
                if let Some(v) = v {
                    e.keep(lane, RESULTS + k, v, class);
                }
            }
        });
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
        self.jump(merge, &[place]);
    }

    /// If the lanes' addresses are adjacent or equal, loads the whole row; continues where they are not.
    fn load_beside(
        &mut self,
        to: &[Dst],
        each: &Each,
        (ty, class, total): (Scalar, Class, i64),
        merge: Block,
    ) {
        let apart = self.b.create_block();
        if self.takes(to, ty) && ty.bytes() >= 4 {
            let found = self.side_by_side(each, total, apart);
            self.b.switch_to_block(found.run);
            // The values are already in memory as the loop over lanes would leave them.
            self.jump(merge, &[found.first]);
            self.b.switch_to_block(found.same);
            let x = self.b.ins().load(scalar(class), DEVICE, found.first, 0);
            let all = self.b.ins().splat(vector(class), x);
            for k in 0..chunks(class) {
                self.b.ins().store(OWN, all, self.warp, slot(RESULTS) + 16 * k as i32);
            }
            let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
            self.jump(merge, &[place]);
        } else {
            self.jump(apart, &[]);
        }
        self.b.switch_to_block(apart);
    }

    /// A store; whether there is code for it.
    pub(super) fn store_each(
        &mut self,
        inst: &Inst,
        address: &Address,
        values: &[(Val, Class)],
        mask: Value,
    ) -> bool {
        let Operation::Store(access) = &inst.sem else { return false };
        let ty = access.element;
        let Some((memory, total)) = Self::looped(access, address.class) else { return false };
        let Some(class) = values.first().map(|(_, class)| *class) else { return false };
        let same = values.iter().all(|(_, c)| *c == class);
        let wide = class == Class::Wide;
        if !same || class == Class::Predicate || (ty.bytes() == 8 && !wide) {
            return false;
        }
        if memory == Memory::Local && self.store_own(inst, address, values, total, mask) {
            return true;
        }
        if self.store_by_function(inst, address, (memory, values), mask) {
            return true;
        }
        let Some(address) = self.by_lane(address, memory, ty) else { return false };
        self.pass_address(&address);
        self.pass(1, values, false);
        let (fast, slow, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        self.b.append_block_param(slow, types::I32);
        let (some, outside) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(outside);
        let check = self.full_or(mask, some);
        self.b.switch_to_block(outside);
        self.jump(slow, &[mask]);
        self.b.switch_to_block(check);
        let each = self.check_each((address.class, memory), total, fast, outside);
        let store = |e: &mut Self, lane: Value, j: usize, place: Value| {
            e.lanes_from(j);
            for k in 0..values.len() {
                let v = e.kept(lane, 1 + k, j, class);
                e.store_scalar(v, place, k as i64 * i64::from(ty.bytes()), (ty, class));
            }
        };
        if values.len() == 1 && memory != Memory::Local && class == Class::of(ty) && ty.bytes() >= 4
        {
            self.store_beside(&each, class, total, next);
        }
        self.over_lanes(4, |e, lane| {
            for j in 0..4 {
                let place = e.place(&each, lane, j);
                store(e, lane, j, place);
            }
        });
        self.jump(next, &[]);
        self.b.switch_to_block(some);
        self.over_set(mask, |e, lane, left| {
            // From the first lane whose address is outside on, a helper does it.
            let how = (address.class, memory);
            let place = e.checked_place(how, lane, total, (slow, Some(left)));
            store(e, lane, 0, place);
        });
        self.jump(next, &[]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        let zero = self.i32(0);
        self.set_field(zero, INTERFACE.warp.from);
        let mut classes = vec![address.class];
        classes.extend(values.iter().map(|(_, c)| *c));
        let site = self.site(inst, classes, Vec::new());
        let left = self.b.block_params(slow)[0];
        self.call_preserving(Which::Store, site, left);
        self.jump(next, &[]);
        self.b.switch_to_block(next);
        self.lanes_of = known;
        true
    }

    /// If the lanes' addresses are adjacent, stores the whole row; continues where they are not.
    fn store_beside(&mut self, each: &Each, class: Class, total: i64, next: Block) {
        let apart = self.b.create_block();
        let found = self.side_by_side(each, total, apart);
        self.b.switch_to_block(found.run);
        for k in 0..chunks(class) {
            self.lanes_from(k * 32 / chunks(class));
            let at = 16 * k as i32;
            let v = self.b.ins().load(vector(class), OWN, self.warp, slot(1) + at);
            self.b.ins().store(DEVICE, v, found.first, at);
        }
        self.lanes_from(0);
        self.jump(next, &[]);
        // Lanes store in order, so the last lane's value remains.
        self.b.switch_to_block(found.same);
        self.jump(apart, &[]);
        self.b.switch_to_block(apart);
    }

    /// An atomic operation, with its address and operands in the scratch; whether there is code for it.
    pub(super) fn atom_each(
        &mut self,
        inst: &Inst,
        args: &[Class],
        results: &[Class],
        mask: Value,
    ) -> bool {
        let Operation::Atomic(Atomic { update, access }) = inst.sem else { return false };
        let ty = update.ty();
        let class = Class::of(ty);
        let Some((memory, total)) = Self::looped(&access, args[0]) else { return false };
        if memory == Memory::Local || ty.bytes() < 4 {
            return false;
        }
        let Some(op) = operation(update) else { return false };
        if args.len() != 2 || args[1] != class || !self.takes(&inst.dst, ty) {
            return false;
        }
        let wanted =
            inst.dst.iter().any(|d| matches!(d, Dst::Reg(r, _) if self.read.has(*r as usize)));
        let (fast, slow, merge) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.append_block_param(merge, types::I64);
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let check = self.check_part(args[0], mask, slow);
        self.b.switch_to_block(check);
        let each = self.check_each((args[0], memory), total, fast, slow);
        let shared = memory == Memory::Shared;
        let update = |e: &mut Self, lane: Value, j: usize| {
            let place = e.place(&each, lane, j);
            let operand = e.kept(lane, 1, j, class);
            e.lanes_from(j);
            e.update(op, class, place, operand, shared)
        };
        let (some, done) = (self.b.create_block(), self.b.create_block());
        let all = self.full_or(mask, some);
        self.b.switch_to_block(all);
        self.over_lanes(32 / chunks(class), |e, lane| {
            let mut v = None;
            for j in 0..32 / chunks(class) {
                let old = update(e, lane, j);
                if wanted {
                    v = Some(e.with_lane(v, old, j, class));
                }
            }
            if let Some(v) = v {
                e.keep(lane, RESULTS, v, class);
            }
        });
        self.jump(done, &[]);
        self.b.switch_to_block(some);
        self.over_set(mask, |e, lane, _| {
            let old = update(e, lane, 0);
            if wanted {
                e.keep(lane, RESULTS, old, class);
            }
        });
        self.jump(done, &[]);
        self.b.switch_to_block(done);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        let site = self.site(inst, args.to_vec(), results.to_vec());
        self.call_preserving(Which::Atom, site, mask);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(0)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(merge);
        self.lanes_of = known;
        let place = self.b.block_params(merge)[0];
        if let (true, Some(dst)) = (wanted, inst.dst.first()) {
            let v = self.load_lanes(class, DEVICE, place, 0);
            self.set(inst, *dst, v);
        }
        true
    }

    /// The value in memory before an operation changes it.
    fn update(
        &mut self,
        op: AtomicRmwOp,
        class: Class,
        place: Value,
        by: Value,
        shared: bool,
    ) -> Value {
        if !shared {
            return self.b.ins().atomic_rmw(scalar(class), DEVICE, op, place, by);
        }
        // Shared memory is one thread's while its block runs.
        let old = self.b.ins().load(scalar(class), DEVICE, place, 0);
        let new = self.apply(op, old, by);
        self.b.ins().store(DEVICE, new, place, 0);
        old
    }

    pub(super) fn with_lane(
        &mut self,
        v: Option<Value>,
        x: Value,
        j: usize,
        class: Class,
    ) -> Value {
        match v {
            None => self.b.ins().scalar_to_vector(vector(class), x),
            Some(v) => self.b.ins().insertlane(v, x, j as u8),
        }
    }

    fn apply(&mut self, op: AtomicRmwOp, old: Value, b: Value) -> Value {
        let ins = self.b.ins();
        match op {
            AtomicRmwOp::And => ins.band(old, b),
            AtomicRmwOp::Or => ins.bor(old, b),
            AtomicRmwOp::Xor => ins.bxor(old, b),
            AtomicRmwOp::Xchg => b,
            AtomicRmwOp::Umin => ins.umin(old, b),
            AtomicRmwOp::Umax => ins.umax(old, b),
            AtomicRmwOp::Smin => ins.smin(old, b),
            AtomicRmwOp::Smax => ins.smax(old, b),
            _ => ins.iadd(old, b),
        }
    }
}

/// The operation of the code generator for an update.
fn operation(update: Update) -> Option<AtomicRmwOp> {
    Some(match update {
        Update::Add(_) => AtomicRmwOp::Add,
        Update::And(_) => AtomicRmwOp::And,
        Update::Or(_) => AtomicRmwOp::Or,
        Update::Xor(_) => AtomicRmwOp::Xor,
        Update::Exchange(_) => AtomicRmwOp::Xchg,
        Update::Min(ty) if ty.is_signed() => AtomicRmwOp::Smin,
        Update::Max(ty) if ty.is_signed() => AtomicRmwOp::Smax,
        Update::Min(_) => AtomicRmwOp::Umin,
        Update::Max(_) => AtomicRmwOp::Umax,
        Update::Increment | Update::Decrement | Update::CompareExchange(_) => return None,
        Update::FloatAdd(_) | Update::FloatMin(_) | Update::FloatMax(_) => return None,
        Update::ExchangePair | Update::CompareExchangePair => return None,
    })
}
