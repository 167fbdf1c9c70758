//! Contiguous accesses to shared memory in which only some lanes of a warp are active.
//!
//! Owns the check of those lanes' bytes, and writing them. Must not know: accesses in which all lanes are active
//! ([`super::memory`]).

use super::address::{Address, DEVICE};
use super::emitter::Emit;
use super::reach::Reach;
use super::val::{Val, chunks, vector};
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::INTERFACE;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};

impl Emit<'_> {
    /// Whether an access of some lanes gets inline code. In a long series of accesses, as of an unrolled loop, it
    /// would take registers from the case of all lanes: matmul took 8 % longer.
    pub(super) fn has_part(&self, address: &Address) -> bool {
        const MOST: usize = 4;
        let group = self.group_of.get(&self.at).map(|n| &self.groups[*n]);
        let few = group.is_none_or(|g| g.count <= MOST);
        few && matches!(address.base, Val::Known(Shape::Affine { .. }))
    }

    /// The start of a row of shared memory of which the lanes of a mask access their parts: these are in range and
    /// aligned, else the code continues in `slow`. The parts of the other lanes are in shared memory or in the margin
    /// beside it.
    pub(super) fn near(
        &mut self,
        address: &Address,
        reach: &Reach,
        mask: Value,
        width: i64,
        slow: Block,
    ) -> Value {
        let Val::Known(Shape::Affine { base, steps, .. }) = &address.base else {
            unreachable!("a row of known steps")
        };
        let by = self.i32(width.trailing_zeros().into());
        let last = self.i32(31);
        let low = self.b.ins().ctz(mask);
        let high = self.b.ins().clz(mask);
        let high = self.b.ins().isub(last, high);
        let (low, high) = (self.b.ins().ishl(low, by), self.b.ins().ishl(high, by));
        let (skipped, end) = (self.extend64(low, true), self.extend64(high, true));
        // As addresses are computed: those of 32 bits wrap around.
        let row = self.b.ins().iadd_imm_s(*base, address.offset + steps[0]);
        let first = if address.class == Class::Wide {
            self.b.ins().iadd(row, skipped)
        } else {
            let sum = self.b.ins().iadd(row, low);
            self.extend64(sum, false)
        };
        let size = self.constant_field(types::I64, INTERFACE.warp.shared_size);
        let length = self.b.ins().isub(end, skipped);
        let length = self.b.ins().iadd_imm_s(length, width);
        let room = self.b.ins().isub(size, length);
        let below = IntCC::UnsignedLessThanOrEqual;
        let (a, b) =
            (self.b.ins().icmp(below, length, size), self.b.ins().icmp(below, first, room));
        let mut go = self.b.ins().band(a, b);
        let rest = self.i64(width - 1);
        let rest = self.b.ins().band(first, rest);
        let zero = self.i64(0);
        let aligned = self.b.ins().icmp(IntCC::Equal, rest, zero);
        go = self.b.ins().band(go, aligned);
        let none = self.i32(0);
        let some = self.b.ins().icmp(IntCC::NotEqual, mask, none);
        go = self.b.ins().band(go, some);
        let on = self.b.create_block();
        self.b.set_cold_block(on);
        self.b.ins().brif(go, on, &[], slow, &[]);
        self.b.switch_to_block(on);
        debug_assert!(reach.shared);
        let memory = self.constant_field(types::I64, INTERFACE.warp.shared);
        let place = self.b.ins().iadd(memory, first);
        self.b.ins().isub(place, skipped)
    }

    /// A row of shared memory, of which the lanes of a mask change their parts. Nobody else looks meanwhile: the
    /// memory is the block's, which one thread runs.
    pub(super) fn store_parts(&mut self, place: Value, (v, class): &(Val, Class), mask: Value) {
        let lanes = self.expand(mask);
        let masks = self.masks_for(&lanes, *class);
        let new = self.vectors(v, *class);
        for (k, (m, x)) in masks.iter().zip(new.iter()).enumerate() {
            self.lanes_from(k * 32 / chunks(*class));
            let at = 16 * k as i32;
            let old = self.b.ins().load(vector(*class), DEVICE, place, at);
            let mixed = self.b.ins().bitselect(*m, *x, old);
            self.b.ins().store(DEVICE, mixed, place, at);
        }
        self.lanes_from(0);
    }
}
