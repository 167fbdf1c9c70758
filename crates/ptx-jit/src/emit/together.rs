//! Accesses of some lanes, or with per-lane addresses, by functions that preserve all registers.
//!
//! Owns calling them ([`Together`]), if the processor has AVX2: they handle as many lanes at once as fit, and leave
//! what they cannot handle to a helper. Must not know other kinds of accesses ([`super::each`], [`super::memory`]).

use super::address::{Address, DEVICE};
use super::emitter::{Emit, OWN};
use super::places::Memory;
use super::pure::slot;
use super::reach::Reach;
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Together, Which};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cushim_ptx::ir::Inst;

impl Emit<'_> {
    /// Calls a function; continues in `slow` if it did nothing.
    fn together(&mut self, what: Together, mask: Value, place: Option<Value>, slow: Block) {
        let Some(signature) = self.together else { return self.jump(slow, &[]) };
        let table = self.constant_field(types::I64, INTERFACE.warp.together);
        let flags = OWN.with_readonly().with_can_move();
        let callee = self.b.ins().load(types::I64, flags, table, 8 * what as i32);
        let place = place.unwrap_or(table);
        let (warp, mask) = (self.copied(self.warp), self.copied(mask));
        self.b.ins().call_indirect(signature, callee, &[warp, mask, place]);
        let undone = self.field(types::I32, INTERFACE.warp.answer);
        let done = self.b.create_block();
        self.b.ins().brif(undone, slow, &[], done, &[]);
        self.b.switch_to_block(done);
    }

    /// Loads some lanes' parts of a row, if all of it is in memory, and continues in `merge` with its address. The
    /// code that follows handles all other cases.
    pub(super) fn load_part(&mut self, reach: &Reach, mask: Value, merge: Block) {
        if self.together.is_none() {
            return;
        }
        let helper = self.b.create_block();
        self.b.set_cold_block(helper);
        let wide = reach.steps[1] - reach.steps[0] == 8;
        let what = if wide { Together::LoadRow8 } else { Together::LoadRow4 };
        self.part_of(reach, mask, what, helper);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(Together::RESULTS)));
        self.jump(merge, &[place]);
        self.b.switch_to_block(helper);
    }

    /// Stores values of some lanes to their parts of a row, likewise, and continues in `next`.
    pub(super) fn store_part(
        &mut self,
        reach: &Reach,
        value: &(Val, Class),
        mask: Value,
        next: Block,
    ) {
        if self.together.is_none() {
            return;
        }
        let helper = self.b.create_block();
        self.b.set_cold_block(helper);
        let wide = value.1 == Class::Wide;
        let what = if wide { Together::StoreRow8 } else { Together::StoreRow4 };
        let known = self.lanes_of.clone();
        self.pass(1, std::slice::from_ref(value), false);
        self.part_of(reach, mask, what, helper);
        self.jump(next, &[]);
        self.b.switch_to_block(helper);
        self.lanes_of = known;
    }

    fn part_of(&mut self, reach: &Reach, mask: Value, what: Together, slow: Block) {
        let inside = self.b.create_block();
        self.b.set_cold_block(inside);
        self.b.ins().brif(reach.inside, inside, &[], slow, &[]);
        self.b.switch_to_block(inside);
        let place = self.b.ins().iadd_imm_s(reach.pointer, reach.steps[0]);
        self.together(what, mask, Some(place), slow);
    }

    /// Which function does an access of one element for each lane.
    fn function(
        &self,
        (memory, class): (Memory, Class),
        bytes: u32,
        stores: bool,
    ) -> Option<Together> {
        self.together?;
        Some(match (memory, class, bytes, stores) {
            (Memory::Device, Class::Wide, 4, false) => Together::Load4,
            (Memory::Device, Class::Wide, 8, false) => Together::Load8,
            (Memory::Device, Class::Wide, 4, true) => Together::Store4,
            (Memory::Device, Class::Wide, 8, true) => Together::Store8,
            (Memory::Shared, Class::Narrow, 4, false) => Together::LoadShared4,
            (Memory::Shared, Class::Narrow, 4, true) => Together::StoreShared4,
            _ => return None,
        })
    }

    /// A load of one element for each lane by a function that does all at once, or else by a helper; whether there is one.
    pub(super) fn load_by_function(
        &mut self,
        inst: &Inst,
        address: &Address,
        (memory, class): (Memory, Class),
        mask: Value,
    ) -> bool {
        let (ty, kind) = (inst.sem.ty(), (memory, address.class));
        if inst.dst.len() != 1 || !self.takes(&inst.dst, ty) {
            return false;
        }
        let Some(what) = self.function(kind, ty.bytes(), false) else { return false };
        let (slow, merge) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(merge, types::I64);
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let place = self.load_together(what, address, mask, slow);
        self.jump(merge, &[place]);
        self.b.switch_to_block(slow);
        let site = self.site(inst, vec![address.class], vec![class]);
        self.call_preserving(Which::Load, site, mask);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(0)));
        self.jump(merge, &[place]);
        self.b.switch_to_block(merge);
        self.lanes_of = known;
        let place = self.b.block_params(merge)[0];
        let v = self.load_lanes(class, DEVICE, place, 0);
        self.set(inst, inst.dst[0], v);
        true
    }

    /// A store, likewise.
    pub(super) fn store_by_function(
        &mut self,
        inst: &Inst,
        address: &Address,
        (memory, values): (Memory, &[(Val, Class)]),
        mask: Value,
    ) -> bool {
        let (ty, kind) = (inst.sem.ty(), (memory, address.class));
        let [value] = values else { return false };
        if value.1 != Class::of(ty) {
            return false;
        }
        let Some(what) = self.function(kind, ty.bytes(), true) else { return false };
        let (slow, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        self.store_together(what, address, value, mask, slow);
        self.jump(next, &[]);
        self.b.switch_to_block(slow);
        let site = self.site(inst, vec![address.class, value.1], Vec::new());
        self.call_preserving(Which::Store, site, mask);
        self.jump(next, &[]);
        self.b.switch_to_block(next);
        self.lanes_of = known;
        true
    }

    /// Loads the values at the lanes' addresses; returns where they are. Continues in `slow` if that is impossible.
    fn load_together(
        &mut self,
        what: Together,
        address: &Address,
        mask: Value,
        slow: Block,
    ) -> Value {
        self.pass_lanes(address);
        self.together(what, mask, None, slow);
        self.b.ins().iadd_imm_s(self.warp, i64::from(slot(Together::RESULTS)))
    }

    /// Stores lanes' values at their addresses.
    fn store_together(
        &mut self,
        what: Together,
        address: &Address,
        value: &(Val, Class),
        mask: Value,
        slow: Block,
    ) {
        self.pass_lanes(address);
        self.pass(1, std::slice::from_ref(value), false);
        self.together(what, mask, None, slow);
    }

    /// Addresses by lane, also where their steps are known.
    fn pass_lanes(&mut self, address: &Address) {
        let v = self.add_offset(address.base.clone(), address.class, address.offset);
        let lanes = Val::Lanes(self.vectors(&v, address.class));
        self.pass(0, &[(lanes, address.class)], false);
    }
}
