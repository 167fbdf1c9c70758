//! The address of a memory access.
//!
//! Owns the addresses of a memory operand: the lanes' strides, if they are known, and the one check of a whole range
//! that lets the code access memory directly. Must not know: what is loaded or stored ([`super::memory`]).

use super::emitter::{Emit, OWN};
use super::places::Memory;
use super::reach::Reach;
use super::val::Val;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{Addresses, INTERFACE, LONGEST};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;

/// Device and shared memory: any alignment, faults are not expected.
pub(super) const DEVICE: MemFlagsData = MemFlagsData::new().with_notrap();
/// What a processor protects as a whole, in bytes.
pub(super) const PAGE: i64 = 4096;
/// The addresses of lanes: a register's value plus an offset.
pub(super) struct Address {
    pub(super) base: Val,
    pub(super) class: Class,
    pub(super) offset: i64,
}

impl Emit<'_> {
    pub(super) fn address_of(&mut self, inst: &Inst, n: usize) -> Address {
        if let Some(Src::Memory(Base::Reg(r, _), offset)) = inst.src.get(n) {
            return Address { base: self.raw(*r), class: self.class(*r), offset: *offset };
        }
        let (base, class) = self.address(inst, n);
        Address { base, class, offset: 0 }
    }

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

    pub(super) fn add_offset(&mut self, v: Val, class: Class, offset: i64) -> Val {
        if offset == 0 {
            return v;
        }
        match v {
            Val::Known(Shape::Uniform(u)) => Self::known(self.b.ins().iadd_imm_s(u, offset)),
            Val::Known(Shape::Affine { base, steps, .. }) => {
                let base = self.b.ins().iadd_imm_s(base, offset);
                Val::Known(Shape::Affine { base, steps })
            }
            Val::Known(Shape::ScaledAffine { offset: o, base, steps, scale, signed }) => {
                let offset = self.b.ins().iadd_imm_s(o, offset);
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
            }
            other => self.map(class, &[other], &mut |e, a, vec| {
                let c = e.all(class, vec, offset as u64);
                e.b.ins().iadd(a[0], c)
            }),
        }
    }

    /// Passes addresses to a helper: per lane, or as base and step.
    pub(super) fn pass_address(&mut self, a: &Address) -> Addresses {
        let v = self.add_offset(a.base.clone(), a.class, a.offset);
        let at = super::pure::slot(0);
        let wide = a.class == Class::Wide;
        match &v {
            Val::Known(Shape::Uniform(u)) => {
                self.b.ins().store(OWN, *u, self.warp, at);
                Addresses::Steps { wide, steps: Box::new([0; 32]) }
            }
            Val::Known(Shape::Affine { base, steps, .. }) => {
                self.b.ins().store(OWN, *base, self.warp, at);
                Addresses::Steps { wide, steps: Box::new(**steps) }
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }) => {
                self.b.ins().store(OWN, *base, self.warp, at);
                self.b.ins().store(OWN, *offset, self.warp, at + 8);
                let (steps, scale, signed) = (Box::new(**steps), *scale, *signed);
                Addresses::Extended { steps, scale, signed }
            }
            _ => {
                self.pass(0, &[(v, a.class)], false);
                Addresses::Lanes
            }
        }
    }

    /// What the code can do itself, if anything: `total` bytes per lane.
    pub(super) fn reach(&mut self, address: &Address, space: Space, total: i64) -> Option<Reach> {
        let shared = super::group::kind(space)?;
        let (class, offset) = (address.class, address.offset);
        let (steps, signed) = match &address.base {
            Val::Known(Shape::Uniform(_)) => ([0; 32], false),
            Val::Known(Shape::Affine { steps, .. }) => (**steps, false),
            Val::Known(Shape::ScaledAffine { steps, scale, signed, .. }) => {
                (steps.map(|s| s.wrapping_mul(*scale)), *signed)
            }
            _ => return None,
        };
        let (low, high) = bounds(&steps);
        let span = high.checked_sub(low)?;
        let near = offset.abs() <= LONGEST && low.abs() <= LONGEST;
        if !near || span + total > LONGEST || steps.iter().any(|s| (s - low) % total != 0) {
            return None;
        }
        let number = self.group_of.get(&self.at).copied();
        let group = number.map(|n| self.groups[n].clone());
        let group = group.filter(|g| span + g.high - g.low <= LONGEST);
        let (start, inside) = match group.as_ref().and_then(|g| g.checked) {
            Some(known) => known,
            None => {
                let whole = (offset, offset + total, total, offset);
                let (from, to, align, odd) =
                    group.as_ref().map_or(whole, |g| (g.low, g.high, g.align, 0));
                let (start, fits) = self.start(&address.base, class, signed);
                let first = self.b.ins().iadd_imm_s(start, low + from);
                let length = span + to - from;
                let memory = if shared { Memory::Shared } else { Memory::Device };
                // If the first address has the required alignment, one comparison tests both.
                let as_first = (from - odd) % align == 0;
                let mut inside = match as_first {
                    true => self.within_aligned(first, length, memory, align),
                    false => self.within(first, length, memory),
                };
                if let Some(fits) = fits {
                    inside = self.b.ins().band(inside, fits);
                }
                if !as_first {
                    let least = self.b.ins().iadd_imm_s(start, low + odd);
                    let aligned = self.is_aligned(least, align);
                    inside = self.b.ins().band(inside, aligned);
                }
                // Keeping one number to test again is cheaper than keeping two to compare again.
                if group.as_ref().is_some_and(|g| g.count > 2) {
                    inside = self.b.ins().ineg(inside);
                }
                let start = if shared {
                    let memory = self.constant_field(types::I64, INTERFACE.warp.shared);
                    self.b.ins().iadd(memory, start)
                } else {
                    start
                };
                if let (Some(n), Some(_)) = (number, &group) {
                    self.groups[n].checked = Some((start, inside));
                }
                (start, inside)
            }
        };
        let steps = steps.map(|s| s + offset);
        let (first, length) = (low + offset, span + total);
        Some(Reach { pointer: start, steps, inside, first, length, shared })
    }

    /// The address of a lane of no step, 64 bits, and whether no lane's wraps around before it is extended.
    pub(super) fn start(
        &mut self,
        base: &Val,
        class: Class,
        signed: bool,
    ) -> (Value, Option<Value>) {
        match base {
            Val::Known(Shape::Uniform(b) | Shape::Affine { base: b, .. }) => {
                (if class == Class::Wide { *b } else { self.extend64(*b, false) }, None)
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, .. }) => {
                let wide = self.extend64(*base, signed);
                let (low, high) = bounds(steps);
                let (least, most) = if signed {
                    (i64::from(i32::MIN), i64::from(i32::MAX))
                } else {
                    (0, i64::from(u32::MAX))
                };
                // One unsigned comparison for both bounds: addresses below the lower one wrap around.
                let from = self.b.ins().iadd_imm_s(wide, low - least);
                let room = self.i64((most - least) - (high - low));
                let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, from, room);
                let by = self.i64(*scale);
                let p = self.b.ins().imul(wide, by);
                (self.b.ins().iadd(*offset, p), Some(fits))
            }
            _ => unreachable!("addresses with known steps"),
        }
    }

    /// Stores which lanes the next access is for, if it may fault: the code that accesses memory for several lanes at
    /// once, or for a uniform value, does not tell which lane it was.
    pub(super) fn tell(&mut self, mask: Value, space: Space) {
        if super::group::kind(space) == Some(false) && self.told != Some(mask) {
            self.set_field(mask, INTERFACE.warp.taking);
            self.told = Some(mask);
        }
    }

    /// As [`Self::within`], and whether the first address is a multiple of a power of two.
    fn within_aligned(&mut self, first: Value, length: i64, memory: Memory, align: i64) -> Value {
        let (from, size) = match memory {
            Memory::Device => {
                let arena = self.constant_field(types::I64, INTERFACE.warp.arena);
                let size = self.constant_field(types::I64, INTERFACE.warp.arena_size);
                (self.b.ins().isub(first, arena), size)
            }
            // The memory is at least that long, so the difference is not negative.
            Memory::Shared if length <= self.shared_size => {
                (first, self.constant_field(types::I64, INTERFACE.warp.shared_size))
            }
            _ => {
                let inside = self.within(first, length, memory);
                let aligned = self.is_aligned(first, align);
                return self.b.ins().band(inside, aligned);
            }
        };
        // Rotation moves nonzero low bits to the top, which makes the number too large.
        let by = self.i32(align.trailing_zeros().into());
        let room = self.b.ins().iadd_imm_s(size, -length);
        let (from, room) = match align {
            1 => (from, room),
            _ => (self.b.ins().rotr(from, by), self.b.ins().ushr(room, by)),
        };
        self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, from, room)
    }

    fn is_aligned(&mut self, place: Value, align: i64) -> Value {
        let low_bits = self.i64(align - 1);
        let rest = self.b.ins().band(place, low_bits);
        let zero = self.i64(0);
        self.b.ins().icmp(IntCC::Equal, rest, zero)
    }

    /// Whether a range is in shared memory, in the arena, or in a lane's own memory.
    pub(super) fn within(&mut self, first: Value, length: i64, memory: Memory) -> Value {
        let below = IntCC::UnsignedLessThanOrEqual;
        if memory != Memory::Device {
            let size = match memory {
                Memory::Shared => self.constant_field(types::I64, INTERFACE.warp.shared_size),
                // It may grow.
                _ => self.field(types::I64, INTERFACE.warp.local_size),
            };
            let end = self.b.ins().iadd_imm_s(first, length);
            let a = self.b.ins().icmp(below, end, size);
            // `first` may have gone below zero.
            let b = self.b.ins().icmp(IntCC::UnsignedLessThan, first, end);
            return self.b.ins().band(a, b);
        }
        let arena = self.constant_field(types::I64, INTERFACE.warp.arena);
        let size = self.constant_field(types::I64, INTERFACE.warp.arena_size);
        let from = self.b.ins().isub(first, arena);
        let limit = self.b.ins().iadd_imm_s(size, -length);
        self.b.ins().icmp(below, from, limit)
    }
}

fn bounds(steps: &[i64; 32]) -> (i64, i64) {
    (steps.iter().copied().min().unwrap_or(0), steps.iter().copied().max().unwrap_or(0))
}
