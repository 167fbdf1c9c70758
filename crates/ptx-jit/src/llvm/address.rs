//! The addresses of an access.
//!
//! Owns how lanes' addresses are related. Must not know what is loaded or stored, or which addresses are in range
//! ([`super::range`]).

use super::emitter::{Emit, Refused, Val};
use super::known::{KnownSteps, are_near};
use super::pieces::are_pieces;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::INTERFACE;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;
use cushim_translate::llvm::Value;
use std::rc::Rc;

/// Contiguous lanes.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The pointer of lane 0.
    pub(super) first: String,
    /// Bytes from one lane to the next.
    pub(super) stride: i64,
}

/// The addresses of the lanes in an access.
#[derive(Debug, Clone)]
pub(super) enum LaneAddresses {
    /// One address for all lanes.
    One(String),
    /// A row.
    Row(Row),
    /// Known distances from a pointer; of all lanes of a full warp.
    Known(KnownSteps),
    /// One per lane: byte offsets from a pointer. `apart`: they are known not to be contiguous.
    Each { base: String, index: Value, apart: bool },
}

impl Emit<'_> {
    /// The addresses of an access, as helpers take them.
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

    /// The addresses of an access of `total` bytes per lane; `None` if only a helper can do it.
    pub(super) fn addresses(
        &mut self,
        inst: &Inst,
        total: u32,
    ) -> Result<Option<LaneAddresses>, Refused> {
        let shared = match inst.space(0) {
            Space::Global | Space::Const => false,
            Space::Shared => true,
            // Mostly device memory; a helper does other accesses.
            Space::Generic if !self.plan.local_is_generic => false,
            // A helper would do most such accesses.
            Space::Generic => return Err("a generic access that may be one to local memory"),
            _ => return Err("an access to local memory"),
        };
        if !total.is_power_of_two() || total > 16 {
            return Ok(None);
        }
        if let Some(addresses) = self.in_group(inst, total) {
            return Ok(Some(addresses));
        }
        let (v, class) = self.address(inst)?;
        let memory = shared.then(|| self.constant_pointer(INTERFACE.warp.shared));
        let pointer = |e: &mut Self, at: Value| {
            // In shared memory, a negative 32-bit address may be followed by lanes that are in range.
            let at = e.scalar().extended(at, 64, shared);
            let at = e.scalar().typed(at);
            let p = e.pointer();
            match &memory {
                Some(m) => e.b.line(&format!("{p} = getelementptr i8, ptr {m}, {at}")),
                None => e.b.line(&format!("{p} = inttoptr {at} to ptr")),
            }
            p
        };
        let (at, steps) = match &v {
            Val::Known(Shape::Uniform(u)) => {
                return Ok(Some(LaneAddresses::One(pointer(self, *u))));
            }
            Val::Known(Shape::Affine { base, steps }) if class == Class::Wide || shared => {
                (*base, steps.clone())
            }
            Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed }) => {
                // If a 32-bit sum wraps around, lanes are not at these distances; the range check then fails.
                let b = self.scalar();
                let wide = b.extended(*base, 64, *signed);
                let by = b.with("mul", wide, *scale as i128 as u128);
                (b.op("add", *offset, by), Rc::new(steps.map(|s| s.wrapping_mul(*scale))))
            }
            _ => return Ok(Some(self.each(&v, class, memory, false))),
        };
        let whole = self.full && inst.guard.is_none() && inst.sem.ty().bytes() == total;
        Ok(Some(match stride(&steps, total) {
            Some(stride) => LaneAddresses::Row(Row { first: pointer(self, at), stride }),
            None if whole && are_near(&steps, total) => {
                LaneAddresses::Known(KnownSteps { first: pointer(self, at), steps })
            }
            None => {
                let apart = !are_pieces(&steps, total);
                self.each(&v, class, memory, apart)
            }
        }))
    }

    /// The addresses of a shared-memory access whose group has passed its check: no sum wraps around any more, so
    /// constants may be added to a pointer.
    fn in_group(&mut self, inst: &Inst, total: u32) -> Option<LaneAddresses> {
        let Some(Src::Memory(Base::Reg(r, _), by)) = inst.src.first() else { return None };
        let narrow = inst.space(0) == Space::Shared && self.class(*r) == Class::Narrow;
        if !narrow || inst.guard.is_some() || !self.in_checked_group() {
            return None;
        }
        let (at, side) = match self.raw(*r) {
            Val::Known(Shape::Uniform(v)) => (v, None),
            Val::Known(Shape::Affine { base, steps }) => (base, Some(stride(&steps, total)?)),
            _ => return None,
        };
        let memory = self.constant_pointer(INTERFACE.warp.shared);
        // A constant may lead back from below zero.
        let at = self.scalar().signed(at, 64);
        let at = self.scalar().typed(at);
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {memory}, {at}"));
        let first = self.pointer();
        self.b.line(&format!("{first} = getelementptr i8, ptr {p}, i64 {by}"));
        Some(match side {
            None => LaneAddresses::One(first),
            Some(stride) => LaneAddresses::Row(Row { first, stride }),
        })
    }

    pub(super) fn each(
        &mut self,
        v: &Val,
        class: Class,
        memory: Option<String>,
        apart: bool,
    ) -> LaneAddresses {
        let wide = class == Class::Wide || memory.is_none();
        let index = self.lanes(v, if wide { 64 } else { 32 });
        LaneAddresses::Each { base: memory.unwrap_or("null".into()), index, apart }
    }

    /// The pointers of lanes, `more` bytes further.
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
}

/// The stride, if lanes are contiguous from lane 0 on.
fn stride(steps: &[i64; 32], total: u32) -> Option<i64> {
    let side = i64::from(total);
    steps.iter().zip(0..).all(|(s, l)| *s == side * l).then_some(side)
}
