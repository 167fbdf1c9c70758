//! Range checks: whether addresses are in device or shared memory, and aligned.
//!
//! Owns the arithmetic: one comparison checks both. Must not know how addresses are computed ([`super::address`]).

use super::address::{LaneAddresses, Row};
use super::emitter::{ALL, Emit, LANES, Val};
use super::group::Group;
use super::predicate::has_masks;
use crate::simt::plan::shape::Shape;
use crate::warp::INTERFACE;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// The bytes of a range.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// Constant: fewer than any arena has.
    Fixed(i64),
    /// A 64-bit value, and its upper bound.
    Upto(Value, i64),
}

impl Length {
    fn most(self) -> i64 {
        match self {
            Length::Fixed(n) | Length::Upto(_, n) => n,
        }
    }
}

impl Emit<'_> {
    /// Whether the addresses of all active lanes are in range and aligned. Arbitrary if no lane is active.
    pub(super) fn in_range(
        &mut self,
        addresses: &LaneAddresses,
        inst: &Inst,
        total: u32,
        mask: Value,
    ) -> Value {
        let shared = inst.space(0) == Space::Shared;
        match addresses {
            LaneAddresses::One(p) => self.range(p, Length::Fixed(total.into()), shared, total),
            LaneAddresses::Row(row) => {
                let fits = self.row_in_range(row, shared, total, mask);
                self.straight(inst, fits)
            }
            LaneAddresses::Known(at) => {
                let p = self.pointer();
                let (first, low) = (&at.first, at.low());
                self.b.line(&format!("{p} = getelementptr i8, ptr {first}, i64 {low}"));
                let length = Length::Fixed(at.span() + i64::from(total));
                let fits = self.range(&p, length, shared, total);
                self.straight(inst, fits)
            }
            LaneAddresses::Each { index, .. } => self.each_in_range(*index, shared, total, mask),
        }
    }

    /// The same for a row: from the first active lane to the last one.
    fn row_in_range(&mut self, row: &Row, shared: bool, total: u32, mask: Value) -> Value {
        let whole = row.stride * (i64::from(LANES) - 1) + i64::from(total);
        if mask == ALL {
            return self.range(&row.first, Length::Fixed(whole), shared, total);
        }
        let b = self.scalar();
        let int = Type::Int(32);
        let low = b.intrinsic("llvm.cttz", &[int], int, &[mask], &["i1 false"]);
        let high = b.intrinsic("llvm.ctlz", &[int], int, &[mask], &["i1 false"]);
        // Bytes before the first active lane, and after the last one.
        let [low, high] = [low, high].map(|n| {
            let n = b.with("and", n, u128::from(LANES) - 1);
            let n = b.fit(n, 64);
            b.with("mul", n, row.stride as u128)
        });
        let length = b.op("sub", Value::int(64, whole as u128), low);
        let length = b.op("sub", length, high);
        let low = b.typed(low);
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {}, {low}", row.first));
        self.range(&p, Length::Upto(length, whole), shared, total)
    }

    /// Whether bytes from a pointer on are in shared memory, and the pointer is a multiple of `align`.
    pub(super) fn all_in_shared(&mut self, first: &str, bytes: i64, align: u32) -> Value {
        self.range(first, Length::Fixed(bytes), true, align)
    }

    /// The same for per-lane addresses.
    fn each_in_range(&mut self, index: Value, shared: bool, total: u32, mask: Value) -> Value {
        if !has_masks() {
            let index = self.fill_inactive(index, mask);
            return self.all_in_range(index, shared, total, total);
        }
        let (base, size) = self.memory(shared);
        let b = self.scalar();
        let limit = b.intrinsic(
            "llvm.usub.sat",
            &[Type::Int(64)],
            Type::Int(64),
            &[size, Value::int(64, total.into())],
            &[],
        );
        let room = b.icmp_with("uge", size, total.into());
        let bits = index.ty.bits();
        let from = if shared {
            index
        } else {
            let base = self.scalar().fit(base, bits);
            let base = self.splat(base);
            self.vector().op("sub", index, base)
        };
        let limit = self.scalar().fit(limit, bits);
        let limit = self.splat(limit);
        let b = self.vector();
        let fits = b.icmp("ule", from, limit);
        let low = b.with("and", index, u128::from(total) - 1);
        let aligned = b.icmp_with("eq", low, 0);
        let fine = b.op("and", fits, aligned);
        let fine = self.mask(fine);
        let b = self.scalar();
        let missing = b.not(fine);
        let missing = b.op("and", missing, mask);
        let all = b.icmp_with("eq", missing, 0);
        b.op("and", all, room)
    }

    /// The same for all lanes, by an or-reduction in place of comparisons: if a lane is out of range, its offset from
    /// the begin, or the rest of the memory after it, is negative, as memories are smaller than half of their address
    /// space.
    pub(super) fn all_in_range(
        &mut self,
        index: Value,
        shared: bool,
        total: u32,
        align: u32,
    ) -> Value {
        let (base, size) = self.memory(shared);
        let bits = index.ty.bits();
        let room = (shared && i64::from(total) > self.shared_size)
            .then(|| self.scalar().icmp_with("uge", size, total.into()));
        let limit = self.scalar().with("sub", size, total.into());
        let limit = self.scalar().fit(limit, bits);
        let limit = self.splat(limit);
        let from = if shared {
            index
        } else {
            let base = self.scalar().fit(base, bits);
            let base = self.splat(base);
            self.vector().op("sub", index, base)
        };
        let left = self.vector().op("sub", limit, from);
        let [from, left] = [from, left].map(|v| self.or_of_lanes(v));
        let b = self.scalar();
        let signs = b.op("or", from, left);
        let inside = b.icmp_with("sge", signs, 0);
        let low = b.with("and", from, u128::from(align) - 1);
        let aligned = b.icmp_with("eq", low, 0);
        let all = b.op("and", inside, aligned);
        match room {
            Some(room) => b.op("and", all, room),
            None => all,
        }
    }

    /// The bitwise or of all lanes.
    pub(super) fn or_of_lanes(&mut self, v: Value) -> Value {
        let bits = v.ty.bits();
        let name = format!("@llvm.vector.reduce.or.v{LANES}i{bits}");
        self.b.declare(&format!("declare i{bits} {name}(<{LANES} x i{bits}>)"));
        let v1 = self.vector().typed(v);
        self.scalar().result(v.ty, &format!("call i{bits} {name}({v1})"))
    }

    /// Per-lane addresses, with the first active lane's address in inactive lanes; the mask is not empty.
    pub(super) fn fill_inactive(&mut self, index: Value, mask: Value) -> Value {
        if mask == ALL {
            return index;
        }
        if let Some(known) = self.filled.get(&(index, mask)) {
            return *known;
        }
        let first = self.first_of(index, mask);
        let first = self.splat(first);
        let lanes = self.lanes_of_mask(mask);
        let all = self.vector().select(lanes, index, first);
        self.filled.insert((index, mask), all);
        all
    }

    /// Whether a check holds and no lane's address wraps around before it is extended.
    fn straight(&mut self, inst: &Inst, holds: Value) -> Value {
        let register = match inst.src.first() {
            Some(Src::Memory(Base::Reg(r, _), _)) => Some(*r),
            _ => None,
        };
        match register.and_then(|r| self.no_wrap(r)) {
            Some(straight) => self.scalar().op("and", holds, straight),
            None => holds,
        }
    }

    /// Whether the current access's group was checked before it: full warps whose check fails leave.
    pub(super) fn in_checked_group(&self) -> bool {
        self.full && self.groups.has(self.at)
    }

    /// In any-lanes code: records whether all lanes of group `n`, active or not, are in range.
    pub(super) fn set_holds(&mut self, n: usize, holds: Value) {
        let name = self.holds_name(n);
        let holds = self.scalar().typed(holds);
        self.b.line(&format!("store {holds}, ptr {name}"));
    }

    /// The alloca of whether group `n` of this region holds.
    pub(super) fn holds_name(&self, n: usize) -> String {
        format!("%q{}g{n}", self.region)
    }

    /// Branches to `fast` if all active lanes are in range.
    pub(super) fn branch_if_in_range(
        &mut self,
        (inst, addresses): (&Inst, &LaneAddresses),
        total: u32,
        mask: Value,
        fast: &str,
        slow: &str,
    ) {
        // Inactive lanes may be in range, and yet not mapped: only rows are read under a mask.
        let checked = inst.guard.is_none() && !matches!(addresses, LaneAddresses::Each { .. });
        if let Some(n) = self.groups.number(self.at).filter(|_| checked) {
            let (name, alone) = (self.holds_name(n), self.label());
            let holds = self.scalar().result(Type::Int(1), &format!("load i1, ptr {name}"));
            self.branch(holds, fast, &alone);
            self.b.label(&alone);
        }
        let go = self.in_range(addresses, inst, total, mask);
        self.likely(go, fast, slow);
    }

    /// Whether all accesses of a group are in range and aligned.
    pub(super) fn group_in_range(&mut self, g: &Group) -> Value {
        let at = match self.raw(g.register) {
            Val::Known(Shape::Uniform(v) | Shape::Affine { base: v, .. }) => v,
            Val::Known(Shape::ScaledAffine { offset, base, scale, signed, .. }) => {
                let b = self.scalar();
                let wide = b.extended(base, 64, signed);
                let by = b.with("mul", wide, scale as i128 as u128);
                b.op("add", offset, by)
            }
            // No group has such a register.
            _ => return Value::int(1, 0),
        };
        let (base, size) = self.memory(g.shared);
        // Rounding `low` down accepts no more: base and memory are both aligned.
        let low = g.low.div_euclid(g.align) * g.align;
        let b = self.scalar();
        let (from, size) = if g.shared {
            // In 32 bits, as adding the offset may wrap around into range.
            (at, b.fit(size, at.ty.bits()))
        } else {
            let wide = b.fit(at, 64);
            (b.op("sub", wide, base), size)
        };
        let from = b.with("add", from, low as i128 as u128);
        let holds =
            self.offset_in_range(from, Length::Fixed(g.high - low), size, g.shared, g.align as u32);
        match self.no_wrap(g.register) {
            Some(straight) => self.scalar().op("and", holds, straight),
            None => holds,
        }
    }

    /// A memory's begin, and its size in bytes.
    fn memory(&mut self, shared: bool) -> (Value, Value) {
        let (base, size) = match shared {
            true => (INTERFACE.warp.shared, INTERFACE.warp.shared_size),
            false => (INTERFACE.warp.arena, INTERFACE.warp.arena_size),
        };
        (self.constant(64, base), self.constant(64, size))
    }

    /// Whether `length` bytes from a pointer on are in range, and the pointer is aligned.
    fn range(&mut self, p: &str, length: Length, shared: bool, align: u32) -> Value {
        let (base, size) = self.memory(shared);
        let b = self.scalar();
        let at = b.result(Type::Int(64), &format!("ptrtoint ptr {p} to i64"));
        let from = b.op("sub", at, base);
        self.offset_in_range(from, length, size, shared, align)
    }

    /// The same for an offset from the memory's begin, which is a multiple of 64. The rotation moves nonzero low bits
    /// to the top, so a misaligned offset is too large.
    fn offset_in_range(
        &mut self,
        from: Value,
        length: Length,
        size: Value,
        shared: bool,
        align: u32,
    ) -> Value {
        let room = (shared && length.most() > self.shared_size).then_some(());
        let ty = from.ty;
        let b = self.scalar();
        let length = match length {
            Length::Fixed(n) => Value::int(ty.bits(), n as u128),
            Length::Upto(n, _) => b.fit(n, ty.bits()),
        };
        let room = room.map(|()| b.icmp("uge", size, length));
        let limit = b.op("sub", size, length);
        let (from, limit) = match align {
            1 => (from, limit),
            _ => {
                let by = Value::int(ty.bits(), align.trailing_zeros().into());
                (b.same("llvm.fshr", &[from, from, by]), b.op("lshr", limit, by))
            }
        };
        let fits = b.icmp("ule", from, limit);
        match room {
            Some(room) => b.op("and", fits, room),
            None => fits,
        }
    }

    /// For an address extended from 32 bits: whether no lane's 32-bit sum wraps around.
    fn no_wrap(&mut self, register: u32) -> Option<Value> {
        let v = self.raw(register);
        let Val::Known(Shape::ScaledAffine { base, steps, signed, .. }) = v else { return None };
        let (low, high) = (steps.iter().min()?, steps.iter().max()?);
        let (least, most) = match signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let b = self.scalar();
        let wide = b.extended(base, 64, signed);
        let from = b.with("add", wide, (low - least) as i128 as u128);
        let room = (most - least) - (high - low);
        Some(b.icmp_with("ule", from, room as u128))
    }
}
