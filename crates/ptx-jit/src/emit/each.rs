//! Gathers and scatters: accesses in which each lane has its own address.
//!
//! Owns the check of all of them, and the loops over lanes that follow it: loads, stores and atomic operations.
//! Must not know: addresses with known steps ([`super::memory`]).
//!
//! Addresses lie in slot 0 of the scratch, as helpers want them, which see to whatever is not as it mostly is. A
//! loop does as many lanes at once as a vector has, and notes from which one on, as its code cannot tell which lane
//! touches what is not mapped.

use super::address::{Address, DEVICE};
use super::emitter::{Emit, OWN};
use super::pure::slot;
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which, at_once};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, Block, InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};
use cushim_ptx::sem::{Access, Atomic, Operation, Update};
use cushim_ptx::types::{Scalar, Space};

/// Where results of loops lie: behind the operands of all that has loops.
const RESULTS: usize = 5;

/// Lanes' addresses.
struct Each {
    class: Class,
    /// What is added to them.
    base: Option<Value>,
}

impl Emit<'_> {
    /// Whether registers have just the bits of values in memory.
    fn takes(&self, dst: &[Dst], ty: Scalar) -> bool {
        dst.iter().all(|d| match d {
            Dst::Reg(r, bits) => *bits == ty.bits() && Class::of(ty) == self.class(*r),
            Dst::Sink => true,
        })
    }

    /// The bytes of a lane, where loops do such an access, part by part.
    fn looped(access: &Access, class: Class) -> Option<i64> {
        let shared = super::group::kind(access.space)?;
        let known = matches!(access.element.bytes(), 4 | 8) && matches!(access.parts, 1 | 2 | 4);
        let known = known && !at_once(access);
        (known && (shared || class == Class::Wide)).then(|| access.bytes().into())
    }

    /// A load; whether there is code for it.
    pub(super) fn load_each(
        &mut self,
        inst: &Inst,
        address: &Address,
        classes: &[Class],
        mask: Value,
        space: Space,
    ) -> bool {
        let Operation::Load(access) = &inst.sem else { return false };
        let (ty, n) = (access.element, inst.dst.len());
        let Some(total) = Self::looped(access, address.class) else { return false };
        if !matches!(address.base, Val::Lanes(_)) || !self.takes(&inst.dst, ty) {
            return false;
        }
        self.pass_address(address);
        let (fast, some, slow, merge) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        self.b.append_block_param(merge, types::I64);
        self.b.set_cold_block(some);
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let check = self.full_or(mask, some);
        self.b.switch_to_block(some);
        // Others read what the first does that takes part.
        self.replace_others(address.class, mask, slow, check);
        self.b.switch_to_block(check);
        let each = self.check_each(address.class, space, total, fast, slow);
        let class = Class::of(ty);
        self.over_lanes(32 / chunks(class), |e, lane| {
            let places: Vec<Value> =
                (0..32 / chunks(class)).map(|j| e.place(&each, lane, j)).collect();
            for k in 0..n {
                let at = (k as i64 * i64::from(ty.bytes())) as i32;
                let mut v = None;
                for (j, place) in places.iter().enumerate() {
                    e.lanes_from(j);
                    let x = e.b.ins().load(scalar(class), DEVICE, *place, at);
                    v = Some(e.with_lane(v, x, j, class));
                }
                if let Some(v) = v {
                    e.keep(lane, RESULTS + k, v, class);
                }
            }
        });
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        let site = self.site(inst, vec![address.class], classes.to_vec());
        self.call_preserving(Which::Load, site, mask);
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(0)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(merge);
        self.lanes_of = known;
        let place = self.b.block_params(merge)[0];
        for (k, dst) in inst.dst.iter().enumerate() {
            let v = self.load_lanes(class, DEVICE, place, (k * INTERFACE.slot) as i32);
            self.set(inst, *dst, v);
        }
        true
    }

    /// A store; whether there is code for it.
    pub(super) fn store_each(
        &mut self,
        inst: &Inst,
        address: &Address,
        values: &[(Val, Class)],
        mask: Value,
        space: Space,
    ) -> bool {
        let Operation::Store(access) = &inst.sem else { return false };
        let ty = access.element;
        let class = Class::of(ty);
        let Some(total) = Self::looped(access, address.class) else { return false };
        let plain = values.iter().all(|(_, c)| *c == class);
        if !matches!(address.base, Val::Lanes(_)) || !plain {
            return false;
        }
        self.pass_address(address);
        self.pass(1, values, false);
        let (fast, slow, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let known = self.lanes_of.clone();
        let check = self.full_or(mask, slow);
        self.b.switch_to_block(check);
        let each = self.check_each(address.class, space, total, fast, slow);
        self.over_lanes(4, |e, lane| {
            for j in 0..4 {
                let place = e.place(&each, lane, j);
                e.lanes_from(j);
                for k in 0..values.len() {
                    let v = e.kept(lane, 1 + k, j, class);
                    let at = (k as i64 * i64::from(ty.bytes())) as i32;
                    e.b.ins().store(DEVICE, v, place, at);
                }
            }
        });
        self.jump(next, &[]);

        self.b.switch_to_block(slow);
        self.lanes_of.clone_from(&known);
        let mut classes = vec![address.class];
        classes.extend(values.iter().map(|(_, c)| *c));
        let site = self.site(inst, classes, Vec::new());
        self.call_preserving(Which::Store, site, mask);
        self.jump(next, &[]);
        self.b.switch_to_block(next);
        self.lanes_of = known;
        true
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
        let (ty, space) = (update.ty(), access.space);
        let class = Class::of(ty);
        let Some(total) = Self::looped(&access, args[0]) else { return false };
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
        let check = self.full_or(mask, slow);
        self.b.switch_to_block(check);
        let each = self.check_each(args[0], space, total, fast, slow);
        let shared = space == Space::Shared;
        self.over_lanes(32 / chunks(class), |e, lane| {
            let mut v = None;
            for j in 0..32 / chunks(class) {
                let place = e.place(&each, lane, j);
                let operand = e.kept(lane, 1, j, class);
                e.lanes_from(j);
                // Shared memory is one thread's while its block runs.
                let old = if shared {
                    let old = e.b.ins().load(scalar(class), DEVICE, place, 0);
                    let new = e.apply(op, old, operand);
                    e.b.ins().store(DEVICE, new, place, 0);
                    old
                } else {
                    e.b.ins().atomic_rmw(scalar(class), DEVICE, op, place, operand)
                };
                if wanted {
                    v = Some(e.with_lane(v, old, j, class));
                }
            }
            if let Some(v) = v {
                e.keep(lane, RESULTS, v, class);
            }
        });
        let place = self.b.ins().iadd_imm_s(self.warp, i64::from(slot(RESULTS)));
        self.jump(merge, &[place]);

        self.b.switch_to_block(slow);
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

    /// Goes on in the block that is returned if all lanes take part, else elsewhere.
    fn full_or(&mut self, mask: Value, part: Block) -> Block {
        let check = self.b.create_block();
        let all = self.i32(-1);
        let full = self.b.ins().icmp(IntCC::Equal, mask, all);
        self.b.ins().brif(full, check, &[], part, &[]);
        check
    }

    /// Gives lanes that do not take part the address of the first that does; where none does, `none`.
    fn replace_others(&mut self, class: Class, mask: Value, none: Block, next: Block) {
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
    fn check_each(
        &mut self,
        class: Class,
        space: Space,
        total: i64,
        fast: Block,
        slow: Block,
    ) -> Each {
        let shared = space == Space::Shared;
        let (start, size) = if shared {
            (None, self.constant_field(types::I64, INTERFACE.warp.shared_size))
        } else {
            let arena = self.constant_field(types::I64, INTERFACE.warp.arena);
            (Some(arena), self.constant_field(types::I64, INTERFACE.warp.arena_size))
        };
        let limit = self.b.ins().iadd_imm_s(size, -total);
        let limit = self.fit(limit, class);
        let limit = self.b.ins().splat(vector(class), limit);
        let from = start.map(|v| self.b.ins().splat(vector(class), v));
        // A distance, or what it lacks to the limit, is negative where the address is outside: sizes are far from
        // 2^63, and of shared memory from 2^31.
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
            // Multiples from a multiple on.
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
        let base = shared.then(|| self.constant_field(types::I64, INTERFACE.warp.shared));
        Each { class, base }
    }

    /// Runs `body` for every so many lanes, with the number of the first.
    fn over_lanes(&mut self, step: usize, body: impl FnOnce(&mut Self, Value)) {
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
    fn of_lane(&mut self, lane: Value, class: Class) -> Value {
        let by = self.i32(if class == Class::Wide { 3 } else { 2 });
        let bytes = self.b.ins().ishl(lane, by);
        self.b.ins().iadd(self.warp, bytes)
    }

    /// The place of a lane's access: of lane `j` from `lane` on.
    fn place(&mut self, each: &Each, lane: Value, j: usize) -> Value {
        let address = self.kept(lane, 0, j, each.class);
        let address =
            if each.class == Class::Wide { address } else { self.extend64(address, false) };
        match each.base {
            Some(base) => self.b.ins().iadd(base, address),
            None => address,
        }
    }

    /// What a slot has for lane `j` from `lane` on.
    fn kept(&mut self, lane: Value, n: usize, j: usize, class: Class) -> Value {
        let from = self.of_lane(lane, class);
        let at = slot(n) + (j * scalar(class).bytes() as usize) as i32;
        self.b.ins().load(scalar(class), OWN, from, at)
    }

    /// Puts a vector where a slot has values from `lane` on.
    fn keep(&mut self, lane: Value, n: usize, v: Value, class: Class) {
        let to = self.of_lane(lane, class);
        self.b.ins().store(OWN, v, to, slot(n));
    }

    fn with_lane(&mut self, v: Option<Value>, x: Value, j: usize, class: Class) -> Value {
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
    })
}
