//! Local memory at an address that is the same for all lanes, as for a thread's variables that have no register.
//!
//! Owns the check, and the stride from one lane's memory to the next one's. Must not know per-lane addresses
//! ([`super::each`]).
//!
//! Inactive lanes are read as well: each has its memory, and their values are not used.

use super::address::Address;
use super::emitter::Emit;
use super::places::Memory;
use super::val::{Val, chunks};
use crate::simt::plan::shape::Class;
use crate::warp::{Addresses, INTERFACE, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};

/// The memory of four lanes, one after the other, and the distance to that of the next four.
struct Lanes {
    at: [Value; 4],
    by: Value,
}

impl Emit<'_> {
    /// A load at one address; whether there is code for it.
    pub(super) fn load_own(
        &mut self,
        inst: &Inst,
        address: &Address,
        class: Class,
        total: i64,
        mask: Value,
    ) -> bool {
        let Some(base) = address.base.uniform() else { return false };
        let ty = inst.sem.ty();
        let [fast, slow, merge] = [(); 3].map(|()| self.b.create_block());
        self.b.set_cold_block(slow);
        let vector = super::val::vector(class);
        let taken = |d: &&Dst| !matches!(d, Dst::Sink);
        for _ in 0..inst.dst.iter().filter(taken).count() * chunks(class) {
            self.b.append_block_param(merge, vector);
        }
        let first = self.checked_own(base, address, total, (fast, slow));
        let mut lanes = self.lanes_at(first);
        let mut parts: Vec<Vec<Value>> = vec![Vec::new(); inst.dst.len()];
        let per = 32 / chunks(class);
        for lane in (0..32).step_by(per) {
            for (k, dst) in inst.dst.iter().enumerate().filter(|(_, d)| taken(d)) {
                let at = k as i64 * i64::from(ty.bytes());
                let mut v = None;
                for j in 0..per {
                    let x = self.load_scalar(lanes.at[(lane + j) % 4], at, ty, *dst);
                    v = Some(self.with_lane(v, x, j, class));
                }
                parts[k].extend(v);
            }
            if (lane + per).is_multiple_of(4) && lane + per < 32 {
                self.step(&mut lanes);
            }
        }
        self.jump(merge, &parts.concat());

        self.b.switch_to_block(slow);
        let known = self.lanes_of.clone();
        self.own_by_helper(inst, address, mask, Which::Load, &[]);
        let mut values = Vec::new();
        for (k, _) in inst.dst.iter().enumerate().filter(|(_, d)| taken(d)) {
            let v = self.receive(k, class, false);
            values.extend(self.vectors(&v, class).iter().copied());
        }
        self.jump(merge, &values);
        self.b.switch_to_block(merge);
        self.lanes_of = known;
        let params = self.b.block_params(merge).to_vec();
        let mut values = params.chunks(chunks(class));
        for dst in inst.dst.iter().filter(taken) {
            let v: Vec<Value> = values.next().unwrap_or_default().to_vec();
            self.set(inst, *dst, Val::Lanes(v.into()));
        }
        true
    }

    /// A store at one address; whether there is code for it.
    pub(super) fn store_own(
        &mut self,
        inst: &Inst,
        address: &Address,
        values: &[(Val, Class)],
        total: i64,
        mask: Value,
    ) -> bool {
        let Some(base) = address.base.uniform() else { return false };
        let ty = inst.sem.ty();
        let [fast, slow, next, some] = [(); 4].map(|()| self.b.create_block());
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let first = self.checked_own(base, address, total, (fast, slow));
        let all = self.full_or(mask, some);
        self.b.switch_to_block(all);
        let mut lanes = self.lanes_at(first);
        let columns: Vec<_> = values.iter().map(|(v, class)| self.lane_values(v, *class)).collect();
        for lane in 0..32 {
            for (k, ((_, class), column)) in values.iter().zip(&columns).enumerate() {
                let x = self.one_of(column, lane, *class);
                let at = k as i64 * i64::from(ty.bytes());
                self.store_scalar(x, lanes.at[lane % 4], at, (ty, *class));
            }
            if lane % 4 == 3 && lane < 31 {
                self.step(&mut lanes);
            }
        }
        self.jump(next, &[]);

        self.b.switch_to_block(some);
        self.lanes_of.clone_from(&known);
        self.pass(1, values, false);
        let stride = self.field(types::I64, INTERFACE.warp.local_stride);
        self.over_set(mask, |e, lane, _| {
            let skipped = e.b.ins().imul(lane, stride);
            let place = e.b.ins().iadd(first, skipped);
            for (k, (_, class)) in values.iter().enumerate() {
                let v = e.kept(lane, 1 + k, 0, *class);
                e.store_scalar(v, place, k as i64 * i64::from(ty.bytes()), (ty, *class));
            }
        });
        self.jump(next, &[]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        self.own_by_helper(inst, address, mask, Which::Store, values);
        self.jump(next, &[]);
        self.b.switch_to_block(next);
        self.lanes_of = known;
        true
    }

    /// The address in the first lane's memory, if all bytes are in range and aligned; continues in the second block
    /// otherwise.
    fn checked_own(
        &mut self,
        base: Value,
        address: &Address,
        total: i64,
        (fast, slow): (Block, Block),
    ) -> Value {
        let sum = self.b.ins().iadd_imm_s(base, address.offset);
        let first = if address.class == Class::Wide { sum } else { self.extend64(sum, false) };
        let mut go = self.within(first, total, Memory::Local);
        if total > 1 {
            let low = self.i64(total - 1);
            let odd = self.b.ins().band(first, low);
            let zero = self.i64(0);
            let aligned = self.b.ins().icmp(IntCC::Equal, odd, zero);
            go = self.b.ins().band(go, aligned);
        }
        self.b.ins().brif(go, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        let local = self.field(types::I64, INTERFACE.warp.local);
        self.b.ins().iadd(local, first)
    }

    /// The first four lanes.
    fn lanes_at(&mut self, first: Value) -> Lanes {
        let stride = self.field(types::I64, INTERFACE.warp.local_stride);
        let second = self.b.ins().iadd(first, stride);
        let third = self.b.ins().iadd(second, stride);
        let fourth = self.b.ins().iadd(third, stride);
        let two = self.i32(2);
        let by = self.b.ins().ishl(stride, two);
        Lanes { at: [first, second, third, fourth], by }
    }

    /// To the next four.
    fn step(&mut self, lanes: &mut Lanes) {
        let by = lanes.by;
        lanes.at = lanes.at.map(|at| self.b.ins().iadd(at, by));
    }

    /// One value, or vectors.
    fn lane_values(&mut self, v: &Val, class: Class) -> Val {
        match v.uniform() {
            Some(u) => Self::known(u),
            None => Val::Lanes(self.vectors(v, class)),
        }
    }

    /// A lane's value of these.
    fn one_of(&mut self, v: &Val, lane: usize, class: Class) -> Value {
        let per = 32 / chunks(class);
        match v {
            Val::Lanes(all) => self.b.ins().extractlane(all[lane / per], (lane % per) as u8),
            other => other.uniform().unwrap_or(self.act),
        }
    }

    /// The accesses of lanes that are out of range or not aligned.
    fn own_by_helper(
        &mut self,
        inst: &Inst,
        address: &Address,
        mask: Value,
        which: Which,
        values: &[(Val, Class)],
    ) {
        let addresses = self.pass_address(address);
        debug_assert!(matches!(addresses, Addresses::Steps { .. }));
        self.pass(1, values, false);
        let mut classes = vec![address.class];
        classes.extend(values.iter().map(|(_, c)| *c));
        let results = if which == Which::Load { self.results(inst) } else { Vec::new() };
        let site = self.site(inst, classes, results);
        self.sites[site as usize].addresses = addresses;
        self.call_preserving(which, site, mask);
    }
}
