//! Stores, atomic operations and asynchronous copies.
//!
//! Owns when the code stores inline, and the arguments of the helper otherwise. Must not know the address of an
//! access ([`super::address`]).

use super::address::{Address, DEVICE};
use super::emitter::Emit;
use super::reach::Reach;
use super::val::{Val, chunks};
use crate::simt::plan::shape::Class;
use crate::warp::Which;
use cranelift_codegen::ir::{InstBuilder, Value};
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::types::Scalar;

impl Emit<'_> {
    pub(super) fn store(&mut self, inst: &Inst) {
        let ty = inst.sem.ty();
        let n = inst.src.len() - 2;
        let width = i64::from(ty.bytes());
        let space = inst.space(0);
        let address = self.address_of(inst, 0);
        let mut values = Vec::new();
        for src in &inst.src[1..=n] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(ty),
            };
            values.push((self.operand(src, c), c));
        }
        let mask = self.guard(inst).unwrap_or(self.act);
        self.tell(mask, space);
        if let Some((reach, _)) = self.whole.accesses.remove(&self.at) {
            self.store_row(&reach, &values[0]);
            return;
        }
        let reach = self.reach(&address, space, width * n as i64);
        let reach = reach.filter(|r| self.can_store(inst, r));
        self.unless_none(inst, mask, &mut |e| {
            e.store_some(inst, &address, &values, reach.as_ref(), mask);
        });
    }

    /// A store for lanes of a mask, which has some.
    fn store_some(
        &mut self,
        inst: &Inst,
        address: &Address,
        values: &[(Val, Class)],
        reach: Option<&Reach>,
        mask: Value,
    ) {
        let Some(reach) = reach else {
            if self.store_each(inst, address, values, mask) {
                return;
            }
            self.store_by_helper(inst, address, values, mask, false);
            return;
        };
        let go = self.all_inside(inst, reach, mask, reach.inside);
        let (fast, slow, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        if reach.shared && self.has_part(address) {
            let near = self.b.create_block();
            self.b.set_cold_block(near);
            self.b.ins().brif(go, fast, &[], near, &[]);
            self.b.switch_to_block(near);
            let place = self.near(address, reach, mask, i64::from(inst.sem.ty().bytes()), slow);
            self.store_parts(place, &values[0], mask);
            self.lanes_of.clone_from(&known);
            self.jump(next, &[]);
        } else {
            self.b.ins().brif(go, fast, &[], slow, &[]);
        }
        self.b.switch_to_block(fast);
        self.store_row(reach, &values[0]);
        self.jump(next, &[]);
        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        self.store_part(reach, &values[0], mask, next);
        self.store_by_helper(inst, address, values, mask, true);
        self.lanes_of = known;
        self.jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Whether there is code for the steps of a store.
    pub(super) fn can_store(&self, inst: &Inst, reach: &Reach) -> bool {
        let ty = inst.sem.ty();
        let width = i64::from(ty.bytes());
        let fits = match inst.src.as_slice() {
            [_, Src::Reg(r), _] => self.class(*r) == Class::of(ty),
            [_, _, _] => true,
            _ => false,
        };
        let distinct = (1..32).all(|l| reach.steps[l] == reach.steps[0] + l as i64 * width);
        fits && distinct && matches!(width, 4 | 8)
    }

    /// All lanes' values go to where they lie side by side.
    fn store_row(&mut self, reach: &Reach, (v, c): &(Val, Class)) {
        for (k, x) in self.vectors(v, *c).iter().enumerate() {
            self.lanes_from(k * 32 / chunks(*c));
            let at = reach.steps[0] as i32 + 16 * k as i32;
            self.b.ins().store(DEVICE, *x, reach.pointer, at);
        }
    }

    /// The low part of one lane's value goes to memory.
    pub(super) fn store_scalar(
        &mut self,
        v: Value,
        place: Value,
        at: i64,
        (ty, class): (Scalar, Class),
    ) {
        let at = at as i32;
        match ty.bytes() {
            1 => self.b.ins().istore8(DEVICE, v, place, at),
            2 => self.b.ins().istore16(DEVICE, v, place, at),
            4 if class == Class::Wide => self.b.ins().istore32(DEVICE, v, place, at),
            _ => self.b.ins().store(DEVICE, v, place, at),
        };
    }

    fn store_by_helper(
        &mut self,
        inst: &Inst,
        address: &Address,
        values: &[(Val, Class)],
        mask: Value,
        preserving: bool,
    ) {
        let addresses = self.pass_address(address);
        self.pass(1, values, false);
        let mut classes = vec![address.class];
        classes.extend(values.iter().map(|(_, c)| *c));
        let site = self.site(inst, classes, Vec::new());
        self.sites[site as usize].addresses = addresses;
        if preserving {
            self.call_preserving(Which::Store, site, mask);
        } else {
            self.call(Which::Store, site, mask);
        }
    }

    pub(super) fn atom(&mut self, inst: &Inst) {
        let (address, class) = self.address(inst, 0);
        let mut args = vec![(address, class)];
        for src in &inst.src[1..inst.src.len() - 1] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(inst.sem.ty()),
            };
            args.push((self.operand(src, c), c));
        }
        let mask = self.guard(inst).unwrap_or(self.act);
        self.tell(mask, inst.space(0));
        self.pass(0, &args, false);
        let results = self.results(inst);
        let operands: Vec<Class> = args.iter().map(|(_, c)| *c).collect();
        if self.atom_each(inst, &operands, &results, mask) {
            return;
        }
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
