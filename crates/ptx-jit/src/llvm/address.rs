//! The addresses of an access.
//!
//! Owns where lanes' places lie to one another. Must not know what is loaded or stored, or which places there are
//! ([`super::range`]).

use super::emitter::{Emit, Refused, Val};
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::INTERFACE;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// Lanes at equal distances.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The pointer of lane 0.
    pub(super) first: String,
    /// Bytes from one to the next.
    pub(super) stride: i64,
}

/// Where the lanes of an access go.
#[derive(Debug, Clone)]
pub(super) enum Places {
    /// All to one place.
    One(String),
    /// To a row.
    Row(Row),
    /// Each somewhere: bytes behind a pointer.
    Each { base: String, index: Value },
}

impl Emit<'_> {
    /// The addresses of an access as helpers want them.
    pub(super) fn address(&mut self, inst: &Inst) -> Result<(Val, Class), Refused> {
        let Some(Src::Memory(base, offset)) = inst.src.first() else {
            return Err("an access without an address");
        };
        Ok(match base {
            Base::Reg(r, _) => {
                let (v, class) = (self.raw(*r), self.class(*r));
                (self.moved_by(v, class, *offset), class)
            }
            Base::Symbol(s) => {
                let at = self.symbol(*s);
                let at = self.scalar().with("add", at, *offset as i128 as u128);
                (Val::one(at), Class::Wide)
            }
            Base::Zero => (Val::one(Value::int(64, *offset as i128 as u128)), Class::Wide),
        })
    }

    fn moved_by(&mut self, v: Val, class: Class, offset: i64) -> Val {
        let by = offset as i128 as u128;
        match v {
            v if offset == 0 => v,
            Val::Known(Shape::Uniform(u)) => Val::one(self.scalar().with("add", u, by)),
            Val::Known(Shape::Affine { base, steps }) => {
                let base = self.scalar().with("add", base, by);
                Val::Known(Shape::Affine { base, steps })
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }) => {
                let offset = self.scalar().with("add", offset, by);
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
            }
            v => {
                let v = self.lanes(&v, if class == Class::Wide { 64 } else { 32 });
                Val::Lanes(self.vector().with("add", v, by))
            }
        }
    }

    /// Where lanes go, `total` bytes each; `None` where only a helper knows.
    pub(super) fn places(&mut self, inst: &Inst, total: u32) -> Result<Option<Places>, Refused> {
        let shared = match inst.space(0) {
            Space::Global | Space::Const => false,
            Space::Shared => true,
            // Where it is, is known when it runs: a helper would do it each time.
            _ => return Err("an access to local or generic memory"),
        };
        if !total.is_power_of_two() || total > 16 {
            return Ok(None);
        }
        if let Some(places) = self.in_group(inst, total) {
            return Ok(Some(places));
        }
        let (v, class) = self.address(inst)?;
        let memory = shared.then(|| self.constant_pointer(INTERFACE.warp.shared));
        let pointer = |e: &mut Self, at: Value| {
            // Of shared memory, a sum of 32 bits may be below its begin, and those of later lanes inside.
            let at = e.scalar().extended(at, 64, shared);
            let at = e.scalar().typed(at);
            let p = e.pointer();
            match &memory {
                Some(m) => e.b.line(&format!("{p} = getelementptr i8, ptr {m}, {at}")),
                None => e.b.line(&format!("{p} = inttoptr {at} to ptr")),
            }
            p
        };
        Ok(Some(match &v {
            Val::Known(Shape::Uniform(u)) => Places::One(pointer(self, *u)),
            Val::Known(Shape::Affine { base, steps }) if class == Class::Wide || shared => {
                match stride(steps, total) {
                    Some(stride) => Places::Row(Row { first: pointer(self, *base), stride }),
                    None => self.each(&v, class, memory),
                }
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
                if stride(&steps.map(|s| s.wrapping_mul(*scale)), total).is_some() =>
            {
                // Where the sum of 32 bits wraps around, lanes are no row: then each has its own place.
                let stride = stride(&steps.map(|s| s.wrapping_mul(*scale)), total).unwrap_or(0);
                let b = self.scalar();
                let wide = b.extended(*base, 64, *signed);
                let by = b.with("mul", wide, *scale as i128 as u128);
                let at = b.op("add", *offset, by);
                Places::Row(Row { first: pointer(self, at), stride })
            }
            _ => self.each(&v, class, memory),
        }))
    }

    /// The places of an access of shared memory in a group whose check has held: constants may be added to a pointer, as
    /// no sum wraps around any more.
    fn in_group(&mut self, inst: &Inst, total: u32) -> Option<Places> {
        let Some(Src::Memory(Base::Reg(r, _), by)) = inst.src.first() else { return None };
        let narrow = inst.space(0) == Space::Shared && self.class(*r) == Class::Narrow;
        if !narrow || inst.guard.is_some() || !self.groups.has(self.at) {
            return None;
        }
        let (at, side) = match self.raw(*r) {
            Val::Known(Shape::Uniform(v)) => (v, None),
            Val::Known(Shape::Affine { base, steps }) => (base, Some(stride(&steps, total)?)),
            _ => return None,
        };
        let memory = self.constant_pointer(INTERFACE.warp.shared);
        // A constant that is added may lead back from below zero.
        let at = self.scalar().signed(at, 64);
        let at = self.scalar().typed(at);
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {memory}, {at}"));
        let first = self.pointer();
        self.b.line(&format!("{first} = getelementptr i8, ptr {p}, i64 {by}"));
        Some(match side {
            None => Places::One(first),
            Some(stride) => Places::Row(Row { first, stride }),
        })
    }

    pub(super) fn each(&mut self, v: &Val, class: Class, memory: Option<String>) -> Places {
        let wide = class == Class::Wide || memory.is_none();
        let index = self.lanes(v, if wide { 64 } else { 32 });
        Places::Each { base: memory.unwrap_or("null".into()), index }
    }

    /// The pointers of lanes, so many bytes further.
    pub(super) fn pointers(&mut self, base: &str, index: Value, more: u64) -> String {
        let index = match more {
            0 => index,
            more => self.vector().with("add", index, more.into()),
        };
        let index = self.vector().fit(index, 64);
        let index = self.vector().typed(index);
        let p = self.pointer();
        match base {
            "null" => self.b.line(&format!("{p} = inttoptr {index} to <32 x ptr>")),
            base => self.b.line(&format!("{p} = getelementptr i8, ptr {base}, {index}")),
        }
        p
    }

    pub(super) fn pointers_of_row(&mut self, first: &str, stride: i64, more: u64) -> String {
        let all: Vec<String> =
            (0..32).map(|l| format!("i64 {}", l * stride + more as i64)).collect();
        let p = self.pointer();
        self.b
            .line(&format!("{p} = getelementptr i8, ptr {first}, <32 x i64> <{}>", all.join(", ")));
        p
    }

    /// Whether lanes that take part lie side by side, and then the pointer of lane 0.
    pub(super) fn together(
        &mut self,
        base: &str,
        index: Value,
        width: u32,
        mask: Value,
    ) -> (String, Value) {
        let bits = index.ty.bits();
        let all = self.vector().typed(index);
        // Counted from the first lane that takes part, back to where lane 0 would be.
        let b = self.scalar();
        let lane =
            b.intrinsic("llvm.cttz", &[Type::Int(32)], Type::Int(32), &[mask], &["i1 false"]);
        let lane = b.with("and", lane, 31);
        let l = b.typed(lane);
        let own = b.result(index.ty, &format!("extractelement {all}, {l}"));
        let lane = b.fit(lane, bits);
        let back = b.with("mul", lane, width.into());
        let zero = b.op("sub", own, back);
        let splat = self.splat(zero);
        let steps: Vec<String> = (0..32).map(|l| format!("i{bits} {}", l * width)).collect();
        let splat = self.vector().typed(splat);
        let row = format!("add {splat}, <{}>", steps.join(", "));
        let row = self.vector().result(index.ty, &row);
        let same = self.vector().icmp("eq", row, index);
        let same = self.mask(same);
        let b = self.scalar();
        let apart = b.not(same);
        let apart = b.op("and", apart, mask);
        let together = b.icmp_with("eq", apart, 0);
        // In shared memory of 32 bits, lane 0 may lie before its begin, where a later lane is the first that takes part.
        let zero = b.extended(zero, 64, true);
        let zero = b.typed(zero);
        let p = self.pointer();
        match base {
            "null" => self.b.line(&format!("{p} = inttoptr {zero} to ptr")),
            base => self.b.line(&format!("{p} = getelementptr i8, ptr {base}, {zero}")),
        }
        (p, together)
    }
}

/// The distance of lanes, if they lie side by side from lane 0 on.
fn stride(steps: &[i64; 32], total: u32) -> Option<i64> {
    let side = i64::from(total);
    steps.iter().zip(0..).all(|(s, l)| *s == side * l).then_some(side)
}
