//! Reports accesses and barriers to an observer before they are executed.
//!
//! Owns the inline test of the bytes' marks, which suffices for most accesses of device memory, and the call of a
//! helper if it fails. Must not know how the access is executed: that code follows, as without checks.

use super::address::Address;
use super::emitter::Emit;
use super::places::Memory;
use super::val::Val;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{INTERFACE, LONGEST, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cushim_ptx::ir::{Base, Inst, Src, Symbol};
use cushim_ptx::sem::{Barrier, CollectiveOp, MbarrierOp, Operation};
use cushim_ptx::types::Space;

/// The most bytes whose marks the code tests itself.
const WIDEST: i64 = 512;
/// Bytes of memory of which one load tests the marks bit by bit, wherever they begin in a byte of marks.
const EXACT: i64 = 57;
/// Marks: read while others set them.
const MARKS: MemFlagsData = MemFlagsData::new().with_notrap();

/// Bytes of a lane's access, if it is shown from here. What copies is always done by helpers, which show it.
fn bytes(inst: &Inst) -> Option<i64> {
    Some(match inst.sem {
        Operation::Load(a) | Operation::Store(a) => a.bytes().into(),
        Operation::Atomic(a) => a.access.bytes().into(),
        Operation::Mbarrier(m) if m.op != MbarrierOp::Pending => 8,
        _ => return None,
    })
}

/// Whether it orders accesses; barriers at which a region ends are shown there.
fn orders(inst: &Inst) -> bool {
    match inst.sem {
        Operation::Fence(_) | Operation::Barrier(Barrier::ClusterArrive) => true,
        Operation::Collective(what) => what.sync && !matches!(what.op, CollectiveOp::Multiply(_)),
        _ => false,
    }
}

impl Emit<'_> {
    /// Reports what an instruction is about to do, if that is enabled.
    pub(super) fn show(&mut self, inst: &Inst) {
        if self.checked.barriers && inst.sem == Operation::Barrier(Barrier::Arrive) {
            self.show_barrier(inst);
        }
        if self.checked.barriers && orders(inst) {
            self.show_order(inst);
        }
        let Some(bytes) = bytes(inst) else { return };
        let wanted = match inst.space(0) {
            Space::Shared => self.checked.shared,
            Space::Local => self.checked.local,
            Space::Param => false,
            Space::Global | Space::Const => self.checked.global || self.checked.every,
            _ => !self.checked.is_none(),
        };
        if !wanted || (!self.checked.every && self.is_variable(inst, bytes)) {
            return;
        }
        let address = self.address_of(inst, 0);
        let mask = self.guard(inst).unwrap_or(self.act);
        if inst.space(0) == Space::Local || self.checked.every {
            return self.show_by_helper(inst, &address, mask, false);
        }
        let (done, slow) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let shared = inst.space(0) == Space::Shared;
        let origin = match shared {
            false => self.origins.get(&inst.pos).copied(),
            true => None,
        };
        let tested = self.test_marks(&address, (bytes, origin), shared, (done, slow));
        if !tested {
            self.jump(slow, &[]);
        }
        self.b.switch_to_block(slow);
        let known = self.lanes_of.clone();
        self.show_by_helper(inst, &address, mask, tested);
        self.jump(done, &[]);
        self.b.switch_to_block(done);
        self.lanes_of = known;
    }

    /// Reports that lanes arrive where they wait.
    pub(super) fn show_wait(&mut self, inst: &Inst) {
        match inst.sem {
            Operation::Barrier(Barrier::Sync | Barrier::Reduce(_) | Barrier::Warpgroup) => {
                self.show_barrier(inst);
            }
            Operation::Barrier(Barrier::ClusterWait) => self.show_order(inst),
            _ if orders(inst) => self.show_order(inst),
            _ => {}
        }
    }

    /// Reports that lanes arrive at a barrier of the block; divergent lanes arrive one group after the other.
    pub(super) fn show_barrier(&mut self, inst: &Inst) {
        let mut args = Vec::new();
        for src in inst.src.iter().take(2) {
            args.push((self.operand(src, Class::Narrow), Class::Narrow));
        }
        self.pass(0, &args, false);
        let classes = args.iter().map(|(_, class)| *class).collect();
        let site = self.site(inst, classes, Vec::new());
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(Which::Show, site, mask);
    }

    /// Reports that lanes execute a fence, the cluster's barrier, or a collective instruction.
    pub(super) fn show_order(&mut self, inst: &Inst) {
        let mut args = Vec::new();
        if let Operation::Collective(what) = inst.sem {
            let barrier = what.op == CollectiveOp::Barrier;
            let members = if barrier { inst.src.first() } else { inst.src.last() };
            let Some(members) = members else { return };
            args.push((self.operand(members, Class::Narrow), Class::Narrow));
        }
        self.pass(0, &args, false);
        let classes = args.iter().map(|(_, class)| *class).collect();
        let site = self.site(inst, classes, Vec::new());
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(Which::Show, site, mask);
    }

    fn show_by_helper(&mut self, inst: &Inst, address: &Address, mask: Value, preserving: bool) {
        let addresses = self.pass_address(address);
        let site = self.site(inst, vec![address.class], Vec::new());
        self.sites[site as usize].addresses = addresses;
        if preserving {
            self.call_preserving(Which::Show, site, mask);
        } else {
            self.call(Which::Show, site, mask);
        }
    }

    /// Whether it is inside a variable of the module, whose bytes are always marked.
    fn is_variable(&self, inst: &Inst, bytes: i64) -> bool {
        let Some(Src::Memory(Base::Symbol(Symbol::Global(n)), offset)) = inst.src.first() else {
            return false;
        };
        let size = self.globals.get(*n as usize).map_or(0, |(size, _)| *size);
        *offset >= 0 && offset.saturating_add(bytes) as u64 <= size
    }

    /// Jumps to `done` if all bytes from the lowest to the highest that lanes may access are marked, and inside what
    /// the parameter at the offset points into, if one is given; else to `slow`; false if nothing is known of the
    /// lanes' addresses.
    fn test_marks(
        &mut self,
        address: &Address,
        (bytes, origin): (i64, Option<u32>),
        shared: bool,
        (done, slow): (Block, Block),
    ) -> bool {
        let (steps, signed) = match &address.base {
            Val::Known(Shape::Uniform(_)) => ([0; 32], false),
            Val::Known(Shape::Affine { steps, .. }) => (**steps, false),
            Val::Known(Shape::ScaledAffine { steps, scale, signed, .. }) => {
                (steps.map(|s| s.wrapping_mul(*scale)), *signed)
            }
            _ => return false,
        };
        let low = steps.iter().copied().min().unwrap_or(0);
        let high = steps.iter().copied().max().unwrap_or(0);
        let Some(span) = high.checked_sub(low) else { return false };
        let near = address.offset.abs() <= LONGEST && low.abs() <= LONGEST;
        if !near || span > WIDEST || span + bytes > WIDEST {
            return false;
        }
        let length = span + bytes;
        let (start, fits) = self.start(&address.base, address.class, signed);
        let first = self.b.ins().iadd_imm_s(start, low + address.offset);
        let memory = if shared { Memory::Shared } else { Memory::Device };
        let mut inside = self.within(first, length, memory);
        if let Some(fits) = fits {
            inside = self.b.ins().band(inside, fits);
        }
        let look = self.b.create_block();
        self.b.ins().brif(inside, look, &[], slow, &[]);
        self.b.switch_to_block(look);
        let mut marked = self.are_marked(first, length, shared);
        if let Some(parameter) = origin {
            let within = self.are_in_bounds(first, length, parameter);
            marked = self.b.ins().band(marked, within);
        }
        self.b.ins().brif(marked, done, &[], slow, &[]);
        true
    }

    /// Whether bytes of the arena are in what the parameter at an offset points into.
    fn are_in_bounds(&mut self, first: Value, length: i64, parameter: u32) -> Value {
        let table = self.constant_field(types::I64, INTERFACE.warp.bounds);
        let at = (parameter / 8 * 16) as i32;
        let low = self.b.ins().load(types::I64, MARKS, table, at);
        let end = self.b.ins().load(types::I64, MARKS, table, at + 8);
        let last = self.b.ins().iadd_imm_s(first, length);
        let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, first);
        let above = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, last, end);
        self.b.ins().band(below, above)
    }

    /// Whether bytes of the arena or of shared memory are marked; for long ranges possibly also up to seven bytes
    /// before and after.
    fn are_marked(&mut self, first: Value, length: i64, shared: bool) -> Value {
        let warp = &INTERFACE.warp;
        let field = if shared { warp.shared_marks } else { warp.marks };
        let base = self.constant_field(types::I64, field);
        let by = self.i32(3);
        let number = self.b.ins().ushr(first, by);
        let at = self.b.ins().iadd(base, number);
        if length <= EXACT {
            let bits = self.b.ins().load(types::I64, MARKS, at, 0);
            let low = self.i64(7);
            let skipped = self.b.ins().band(first, low);
            let bits = self.b.ins().ushr(bits, skipped);
            let wanted = self.i64(((1u64 << length) - 1) as i64);
            let found = self.b.ins().band(bits, wanted);
            return self.b.ins().icmp(IntCC::Equal, found, wanted);
        }
        // From the first byte of marks on, and up to the last one: the two may overlap.
        let last = self.b.ins().iadd_imm_s(first, length - 1);
        let number = self.b.ins().ushr(last, by);
        let end = self.b.ins().iadd(base, number);
        let (ty, size) = if length < 128 { (types::I64, 8) } else { (types::I64X2, 16) };
        // Rows that begin at a multiple of 8 have so many bytes of marks, any others one more.
        let mut all = self.b.ins().load(ty, MARKS, end, 1 - size);
        for n in 0..(length as u64).div_ceil(8) / size as u64 {
            let more = self.b.ins().load(ty, MARKS, at, n as i32 * size);
            all = self.b.ins().band(all, more);
        }
        if length < 128 {
            let ones = self.i64(-1);
            return self.b.ins().icmp(IntCC::Equal, all, ones);
        }
        let none = self.b.ins().bnot(all);
        let any = self.b.ins().vany_true(none);
        let zero = self.b.ins().iconst(types::I8, 0);
        self.b.ins().icmp(IntCC::Equal, any, zero)
    }
}
