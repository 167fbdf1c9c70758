//! The checks that places are inside device or shared memory, and aligned.
//!
//! Owns the arithmetic: one comparison says both. Must not know where lanes go ([`super::address`]).

use super::address::{Places, Row};
use super::emitter::{Emit, LANES, Val};
use super::group::Group;
use crate::simt::plan::shape::Shape;
use crate::warp::INTERFACE;
use cushim_ptx::Level;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// The bytes of a range.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// Fewer than any arena has.
    Fixed(i64),
    /// Of 64 bits, and at most as many as are given here.
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
    /// Whether the places of all lanes that take part are inside and aligned. Where there may be none, anything.
    pub(super) fn inside(
        &mut self,
        places: &Places,
        inst: &Inst,
        total: u32,
        mask: Value,
    ) -> Value {
        let shared = inst.space(0) == Space::Shared;
        match places {
            Places::One(p) => self.range(p, Length::Fixed(total.into()), shared, total),
            Places::Row(row) => {
                let fits = self.row_inside(row, shared, total, mask);
                let register = match inst.src.first() {
                    Some(Src::Memory(Base::Reg(r, _), _)) => Some(*r),
                    _ => None,
                };
                match register.and_then(|r| self.no_wrap(r)) {
                    Some(straight) => self.scalar().op("and", fits, straight),
                    None => fits,
                }
            }
            Places::Each { index, .. } => self.each_inside(*index, shared, total, mask),
        }
    }

    /// The same of a row: from the first lane that takes part to the last one.
    fn row_inside(&mut self, row: &Row, shared: bool, total: u32, mask: Value) -> Value {
        let whole = row.stride * (i64::from(LANES) - 1) + i64::from(total);
        if mask.constant() == Some(0xffff_ffff) {
            return self.range(&row.first, Length::Fixed(whole), shared, total);
        }
        let b = self.scalar();
        let int = Type::Int(32);
        let low = b.intrinsic("llvm.cttz", &[int], int, &[mask], &["i1 false"]);
        let high = b.intrinsic("llvm.ctlz", &[int], int, &[mask], &["i1 false"]);
        // Lanes below the first and above the last.
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

    /// The same of places of lanes' own.
    fn each_inside(&mut self, index: Value, shared: bool, total: u32, mask: Value) -> Value {
        if !matches!(Level::in_use(), Ok(Level::V4)) {
            let index = self.of_others(index, mask);
            return self.all_inside(index, shared, total);
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

    /// The same of the places of all lanes, without a comparison of each: where one is outside, its distance from the begin, or
    /// what is left behind it, is negative, as memories have fewer bytes than half of what their addresses can say.
    fn all_inside(&mut self, index: Value, shared: bool, total: u32) -> Value {
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
        let [from, left] = [from, left].map(|v| self.any_bits(v));
        let b = self.scalar();
        let signs = b.op("or", from, left);
        let inside = b.icmp_with("sge", signs, 0);
        let low = b.with("and", from, u128::from(total) - 1);
        let aligned = b.icmp_with("eq", low, 0);
        let all = b.op("and", inside, aligned);
        match room {
            Some(room) => b.op("and", all, room),
            None => all,
        }
    }

    /// The bits that any lane has.
    fn any_bits(&mut self, v: Value) -> Value {
        let bits = v.ty.bits();
        let name = format!("@llvm.vector.reduce.or.v{LANES}i{bits}");
        self.b.declare(&format!("declare i{bits} {name}(<{LANES} x i{bits}>)"));
        let v1 = self.vector().typed(v);
        self.scalar().result(v.ty, &format!("call i{bits} {name}({v1})"))
    }

    /// The places of lanes, where those that take no part have the first one's that does, of a mask that is not empty.
    pub(super) fn of_others(&mut self, index: Value, mask: Value) -> Value {
        if mask.constant() == Some(0xffff_ffff) {
            return index;
        }
        if let Some(known) = self.replaced.get(&(index, mask)) {
            return *known;
        }
        let first = self.first_of(index, mask);
        let first = self.splat(first);
        let lanes = self.truths(mask);
        let all = self.vector().select(lanes, index, first);
        self.replaced.insert((index, mask), all);
        all
    }

    /// Whether all that a group of accesses reaches is inside and aligned.
    pub(super) fn group_holds(&mut self, g: &Group) -> Value {
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
        // What is aligned itself is inside from there on where it is from `low` on.
        let low = g.low.div_euclid(g.align) * g.align;
        let b = self.scalar();
        let (from, size) = if g.shared {
            // Of 32 bits, what is added may wrap around to a place that is there.
            (at, b.fit(size, at.ty.bits()))
        } else {
            let wide = b.fit(at, 64);
            (b.op("sub", wide, base), size)
        };
        let from = b.with("add", from, low as i128 as u128);
        let holds = self.below(from, Length::Fixed(g.high - low), size, g.shared, g.align as u32);
        match self.no_wrap(g.register) {
            Some(straight) => self.scalar().op("and", holds, straight),
            None => holds,
        }
    }

    /// Where a memory begins, and its bytes.
    fn memory(&mut self, shared: bool) -> (Value, Value) {
        let (base, size) = match shared {
            true => (INTERFACE.warp.shared, INTERFACE.warp.shared_size),
            false => (INTERFACE.warp.arena, INTERFACE.warp.arena_size),
        };
        (self.constant(64, base), self.constant(64, size))
    }

    /// Whether so many bytes from a pointer on are inside, and it is aligned.
    fn range(&mut self, p: &str, length: Length, shared: bool, align: u32) -> Value {
        let (base, size) = self.memory(shared);
        let b = self.scalar();
        let at = b.result(Type::Int(64), &format!("ptrtoint ptr {p} to i64"));
        let from = b.op("sub", at, base);
        self.below(from, length, size, shared, align)
    }

    /// The same of a distance from the memory's begin, which is a multiple of 64. Low bits that are not zero become the
    /// highest, and make the number too large.
    fn below(
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

    /// Of an address that is extended from 32 bits: whether no lane's number wraps around before that.
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
