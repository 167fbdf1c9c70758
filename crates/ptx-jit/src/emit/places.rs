//! Per-lane addresses, in slot 0 of the scratch, and loops over lanes.
//!
//! Owns the check of all addresses at once, the test whether they are adjacent, and the iteration over active lanes.
//! Must not know what is accessed ([`super::each`]).

use super::emitter::{Emit, OWN};
use super::pure::slot;
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::shape::{Arithmetic, Class};
use crate::warp::INTERFACE;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cushim_ptx::types::Space;

/// Where accesses go that the code does for each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Device,
    Shared,
    /// Each lane's own.
    Local,
}

impl Memory {
    pub(super) fn of(space: Space) -> Option<Memory> {
        match space {
            Space::Global | Space::Const | Space::Generic => Some(Memory::Device),
            Space::Shared => Some(Memory::Shared),
            Space::Local => Some(Memory::Local),
            _ => None,
        }
    }
}

/// Lanes' addresses.
pub(super) struct Each {
    class: Class,
    /// What is added to them.
    base: Option<Value>,
    /// How far each lane's memory is from that of the lane before.
    stride: Option<Value>,
}

/// Where the code continues with known addresses, and the first lane's address.
pub(super) struct Found {
    /// They lie side by side.
    pub(super) run: Block,
    /// They are one.
    pub(super) same: Block,
    pub(super) first: Value,
}

impl Emit<'_> {
    /// Continues in the returned block if all lanes are active, else in `part`.
    pub(super) fn full_or(&mut self, mask: Value, part: Block) -> Block {
        let check = self.b.create_block();
        let all = self.i32(-1);
        let full = self.b.ins().icmp(IntCC::Equal, mask, all);
        self.b.ins().brif(full, check, &[], part, &[]);
        check
    }

    /// Continues in the returned block if many lanes are active, else in `few`.
    pub(super) fn few_or(&mut self, mask: Value, few: Block) -> Block {
        /// Lane by lane takes longer than all at once from about here on.
        const FEW: i64 = 8;
        let many = self.b.create_block();
        let count = self.b.ins().popcnt(mask);
        let limit = self.i32(FEW);
        let is_few = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, count, limit);
        self.b.ins().brif(is_few, few, &[], many, &[]);
        many
    }

    /// The block that looks at the lanes' addresses; where only some take part, the others have one of theirs by then. Where
    /// none does, `none`.
    pub(super) fn check_part(&mut self, class: Class, mask: Value, none: Block) -> Block {
        let some = self.b.create_block();
        self.b.set_cold_block(some);
        let check = self.full_or(mask, some);
        self.b.switch_to_block(some);
        self.replace_others(class, mask, none, check);
        check
    }

    /// Gives lanes that do not take part the address of the first that does; where none does, `none`.
    pub(super) fn replace_others(&mut self, class: Class, mask: Value, none: Block, next: Block) {
        let some = self.b.create_block();
        self.b.set_cold_block(some);
        self.b.ins().brif(mask, some, &[], none, &[]);
        self.b.switch_to_block(some);
        let first = self.first_of(0, class, mask);
        let first = self.vectors(&first, class);
        let lanes = self.expand(mask);
        let masks = self.masks_for(&lanes, class);
        for (k, (m, f)) in masks.iter().zip(first.iter()).enumerate() {
            let at = slot(0) + 16 * k as i32;
            let own = self.b.ins().load(vector(class), OWN, self.warp, at);
            let v = self.b.ins().bitselect(*m, own, *f);
            self.b.ins().store(OWN, v, self.warp, at);
        }
        self.jump(next, &[]);
    }

    /// The value of the first lane of a mask in a scratch slot.
    pub(super) fn first_of(&mut self, n: usize, class: Class, mask: Value) -> Val {
        let at = self.first_place(class, mask);
        Self::known(self.b.ins().load(scalar(class), OWN, at, slot(n)))
    }

    /// Where that value lies, from the beginning of its slot, if that were the warp's.
    pub(super) fn first_place(&mut self, class: Class, mask: Value) -> Value {
        let lane = self.b.ins().ctz(mask);
        let last = self.i32(31);
        let lane = self.b.ins().band(lane, last);
        let lane = self.b.ins().uextend(types::I64, lane);
        let by = self.i32(if class == Class::Wide { 3 } else { 2 });
        let at = self.b.ins().ishl(lane, by);
        self.b.ins().iadd(self.warp, at)
    }

    /// Goes on in `fast` if all addresses in slot 0 are multiples of `total` and inside with as many bytes.
    pub(super) fn check_each(
        &mut self,
        (class, memory): (Class, Memory),
        total: i64,
        fast: Block,
        slow: Block,
    ) -> Each {
        let (start, size) = match memory {
            Memory::Shared => (None, self.constant_field(types::I64, INTERFACE.warp.shared_size)),
            Memory::Local => (None, self.field(types::I64, INTERFACE.warp.local_size)),
            Memory::Device => {
                let arena = self.constant_field(types::I64, INTERFACE.warp.arena);
                (Some(arena), self.constant_field(types::I64, INTERFACE.warp.arena_size))
            }
        };
        let limit = self.b.ins().iadd_imm_s(size, -total);
        let limit = self.fit(limit, class);
        let limit = self.b.ins().splat(vector(class), limit);
        let from = start.map(|v| self.b.ins().splat(vector(class), v));
        // Where an address is outside, its distance from the start, or the limit minus that, is negative: sizes are far
        // below 2^63, and those of shared memory below 2^31.
        let mut both: Option<(Value, Value)> = None;
        for k in 0..chunks(class) {
            let at = slot(0) + 16 * k as i32;
            let mut v = self.b.ins().load(vector(class), OWN, self.warp, at);
            if let Some(from) = from {
                v = self.b.ins().isub(v, from);
            }
            let rest = self.b.ins().isub(limit, v);
            both = Some(match both {
                None => (v, rest),
                Some((a, b)) => (self.b.ins().bor(a, v), self.b.ins().bor(b, rest)),
            });
        }
        let (distances, rests) = both.unwrap_or((limit, limit));
        let signs = self.b.ins().bor(distances, rests);
        let outside = self.b.ins().vhigh_bits(types::I32, signs);
        let pairs = self.cast(types::I64X2, distances);
        let (low, high) = (self.b.ins().extractlane(pairs, 0), self.b.ins().extractlane(pairs, 1));
        let mut odd = self.b.ins().bor(low, high);
        if let Some(start) = start {
            // Aligned distances are aligned addresses only if the start is aligned.
            odd = self.b.ins().bor(odd, start);
        }
        let bits = (total - 1) | if class == Class::Wide { 0 } else { (total - 1) << 32 };
        let bits = self.i64(bits);
        let odd = self.b.ins().band(odd, bits);
        let zero = self.i64(0);
        let aligned = self.b.ins().icmp(IntCC::Equal, odd, zero);
        let none = self.i32(0);
        let inside = self.b.ins().icmp(IntCC::Equal, outside, none);
        let go = self.b.ins().band(aligned, inside);
        self.b.ins().brif(go, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        self.each(class, memory)
    }

    /// Addresses of lanes in a memory, which are known to be inside.
    fn each(&mut self, class: Class, memory: Memory) -> Each {
        match memory {
            Memory::Device => Each { class, base: None, stride: None },
            Memory::Shared => {
                let base = self.constant_field(types::I64, INTERFACE.warp.shared);
                Each { class, base: Some(base), stride: None }
            }
            Memory::Local => {
                let base = self.field(types::I64, INTERFACE.warp.local);
                let stride = self.field(types::I64, INTERFACE.warp.local_stride);
                Each { class, base: Some(base), stride: Some(stride) }
            }
        }
    }

    /// Tests whether the addresses in slot 0 are `size` bytes apart, or all equal; continues in `apart` if neither.
    /// The first two lanes show which it might be, so other cases cost next to nothing.
    pub(super) fn side_by_side(&mut self, each: &Each, size: i64, apart: Block) -> Found {
        let (class, ty) = (each.class, vector(each.class));
        let per = (32 / chunks(class)) as i64;
        let bytes = scalar(class).bytes() as i32;
        let [test, other, head, done, all, run, same] = [(); 7].map(|()| self.b.create_block());
        for (block, ty) in [(test, ty), (test, ty), (head, types::I64), (head, ty), (head, ty)] {
            self.b.append_block_param(block, ty);
        }
        self.b.append_block_param(done, ty);
        let first = self.b.ins().load(scalar(class), OWN, self.warp, slot(0));
        let second = self.b.ins().load(scalar(class), OWN, self.warp, slot(0) + bytes);
        let step = self.b.ins().isub(second, first);
        let splat = self.b.ins().splat(ty, first);
        let steps: Vec<i64> = (0..per).map(|j| j * size).collect();
        let steps = match *steps {
            [a, b] => {
                let both = [a.to_le_bytes(), b.to_le_bytes()].concat();
                self.constant_vector(ty, std::array::from_fn(|k| both[k]))
            }
            _ => self.vector_of(std::array::from_fn(|j| (j as i64 * size) as u32)),
        };
        let next = self.b.ins().iadd(splat, steps);
        let (by, nothing) = (self.all(class, true, (per * size) as u64), self.all(class, true, 0));
        let wanted = self.constant(class == Class::Wide, size);
        let is_run = self.b.ins().icmp(IntCC::Equal, step, wanted);
        self.b.ins().brif(is_run, test, &[next.into(), by.into()], other, &[]);
        self.b.switch_to_block(other);
        self.b.ins().brif(step, apart, &[], test, &[splat.into(), nothing.into()]);

        self.b.switch_to_block(test);
        let [start, by] = [0, 1].map(|k| self.b.block_params(test)[k]);
        let zero = self.i64(0);
        self.jump(head, &[zero, start, nothing]);
        self.b.switch_to_block(head);
        let [offset, expected, odd] = [0, 1, 2].map(|k| self.b.block_params(head)[k]);
        let at = self.b.ins().iadd(self.warp, offset);
        let v = self.b.ins().load(ty, OWN, at, slot(0));
        let differs = self.b.ins().bxor(v, expected);
        let odd = self.b.ins().bor(odd, differs);
        let expected = self.b.ins().iadd(expected, by);
        let offset = self.b.ins().iadd_imm_s(offset, 16);
        let end = self.i64(16 * chunks(class) as i64);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, offset, end);
        let again = [offset.into(), expected.into(), odd.into()];
        self.b.ins().brif(more, head, &again, done, &[odd.into()]);
        self.b.switch_to_block(done);
        let odd = self.b.block_params(done)[0];
        let odd = self.b.ins().vany_true(odd);
        self.b.ins().brif(odd, apart, &[], all, &[]);
        self.b.switch_to_block(all);
        let first = if class == Class::Wide { first } else { self.extend64(first, false) };
        let first = match each.base {
            Some(base) => self.b.ins().iadd(base, first),
            None => first,
        };
        self.b.ins().brif(is_run, run, &[], same, &[]);
        Found { run, same, first }
    }

    /// Runs `body` for each lane of a mask: with its number, and the mask of the remaining lanes.
    pub(super) fn over_set(&mut self, mask: Value, body: impl FnOnce(&mut Self, Value, Value)) {
        let (head, done) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(head, types::I32);
        self.b.ins().brif(mask, head, &[mask.into()], done, &[]);
        self.b.switch_to_block(head);
        let left = self.b.block_params(head)[0];
        let from = self.b.ins().ctz(left);
        self.set_field(from, INTERFACE.warp.from);
        let lane = self.b.ins().uextend(types::I64, from);
        self.lanes_from(0);
        body(self, lane, left);
        self.lanes_from(0);
        let less = self.b.ins().iadd_imm_s(left, -1);
        let left = self.b.ins().band(left, less);
        self.b.ins().brif(left, head, &[left.into()], done, &[]);
        self.b.switch_to_block(done);
        let zero = self.i32(0);
        self.set_field(zero, INTERFACE.warp.from);
    }

    /// Runs `body` for every so many lanes, with the number of the first.
    pub(super) fn over_lanes(&mut self, step: usize, body: impl FnOnce(&mut Self, Value)) {
        let (head, done) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(head, types::I64);
        let zero = self.i64(0);
        self.jump(head, &[zero]);
        self.b.switch_to_block(head);
        let lane = self.b.block_params(head)[0];
        let from = self.b.ins().ireduce(types::I32, lane);
        self.set_field(from, INTERFACE.warp.from);
        body(self, lane);
        self.lanes_from(0);
        let next = self.b.ins().iadd_imm_s(lane, step as i64);
        let end = self.i64(32);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        self.b.ins().brif(more, head, &[next.into()], done, &[]);
        self.b.switch_to_block(done);
        let zero = self.i32(0);
        self.set_field(zero, INTERFACE.warp.from);
    }

    /// Where things of a lane lie, from the beginning of a slot.
    pub(super) fn of_lane(&mut self, lane: Value, class: Class) -> Value {
        let by = self.i32(if class == Class::Wide { 3 } else { 2 });
        let bytes = self.b.ins().ishl(lane, by);
        self.b.ins().iadd(self.warp, bytes)
    }

    /// The address of a lane's access: of lane `j` from `lane` on.
    pub(super) fn place(&mut self, each: &Each, lane: Value, j: usize) -> Value {
        let address = self.kept_address(lane, j, each.class);
        let Some(mut base) = each.base else { return address };
        if let Some(stride) = each.stride {
            let skipped = self.b.ins().imul(lane, stride);
            base = self.b.ins().iadd(base, skipped);
            let skipped = self.b.ins().imul_imm_s(stride, j as i64);
            base = self.b.ins().iadd(base, skipped);
        }
        self.b.ins().iadd(base, address)
    }

    /// The address of one lane's access of so many bytes, if it is in range and aligned; else jumps elsewhere,
    /// possibly with a value.
    pub(super) fn checked_place(
        &mut self,
        (class, memory): (Class, Memory),
        lane: Value,
        total: i64,
        (elsewhere, with): (Block, Option<Value>),
    ) -> Value {
        let address = self.kept_address(lane, 0, class);
        let inside = self.within(address, total, memory);
        let low = self.i64(total - 1);
        let odd = self.b.ins().band(address, low);
        let zero = self.i64(0);
        let aligned = self.b.ins().icmp(IntCC::Equal, odd, zero);
        let go = self.b.ins().band(inside, aligned);
        let next = self.b.create_block();
        let with: Vec<BlockArg> = with.into_iter().map(Into::into).collect();
        self.b.ins().brif(go, next, &[], elsewhere, &with);
        self.b.switch_to_block(next);
        let each = self.each(class, memory);
        self.place(&each, lane, 0)
    }

    /// The address that slot 0 has for lane `j` from `lane` on.
    fn kept_address(&mut self, lane: Value, j: usize, class: Class) -> Value {
        if class == Class::Wide {
            return self.kept(lane, 0, j, class);
        }
        let from = self.of_lane(lane, class);
        self.b.ins().uload32(OWN, from, slot(0) + 4 * j as i32)
    }

    /// What a slot has for lane `j` from `lane` on.
    pub(super) fn kept(&mut self, lane: Value, n: usize, j: usize, class: Class) -> Value {
        let from = self.of_lane(lane, class);
        let at = slot(n) + (j * scalar(class).bytes() as usize) as i32;
        self.b.ins().load(scalar(class), OWN, from, at)
    }

    /// Puts a vector where a slot has values from `lane` on.
    pub(super) fn keep(&mut self, lane: Value, n: usize, v: Value, class: Class) {
        let to = self.of_lane(lane, class);
        self.b.ins().store(OWN, v, to, slot(n));
    }
}
