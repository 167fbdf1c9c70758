//! Atomic operations.
//!
//! Owns those that are inline: on integers, in full warps, one lane after the other. Shared memory belongs to one
//! thread while its block runs, so there they are a load and a store. Helpers do all others. Must not know what was
//! computed.

use super::address::LaneAddresses;
use super::emitter::{Emit, LANES, Refused, Val};
use crate::simt::plan::region::reads;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which};
use cushim_ptx::ir::{Dst, Inst, Src};
use cushim_ptx::sem::{Atomic, Operation, Update};
use cushim_ptx::types::{Scalar, Space};
use cushim_translate::llvm::{Type, Value};

/// Lanes per round of the loop.
const AT_ONCE: u32 = 4;

impl Emit<'_> {
    pub(super) fn atom(&mut self, inst: &Inst) -> Result<(), Refused> {
        let mut all = vec![self.address(inst)?];
        for src in &inst.src[1..inst.src.len() - 1] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(inst.sem.ty()),
            };
            all.push((self.operand(src, c)?, c));
        }
        if self.atom_inline(inst, &all)? {
            return Ok(());
        }
        if all.len() > INTERFACE.slots {
            return Err("more operands than helpers are given");
        }
        let mask = self.guard_mask();
        self.pass(&all, false);
        let results = self.results(inst);
        let site = self.site(inst, all.iter().map(|(_, c)| *c).collect(), results.clone());
        self.call(Which::Atom, site, mask);
        for (n, class) in results.into_iter().enumerate() {
            let v = self.receive(n, class, false);
            self.set(inst.dst[n], v)?;
        }
        Ok(())
    }

    /// Does the operation inline for a full warp; false if it cannot.
    fn atom_inline(&mut self, inst: &Inst, all: &[(Val, Class)]) -> Result<bool, Refused> {
        let Operation::Atomic(Atomic { update, access }) = inst.sem else { return Ok(false) };
        let ty = update.ty();
        let ([(address, wide), (operand, class)], Some(op)) = (all, operation(update)) else {
            return Ok(false);
        };
        let shared = match access.space {
            Space::Shared => true,
            Space::Global if *wide == Class::Wide => false,
            _ => return Ok(false),
        };
        let fits = matches!(ty.bits(), 32 | 64) && *class == Class::of(ty);
        if !self.full || inst.guard.is_some() || !fits {
            return Ok(false);
        }
        let memory = shared.then(|| self.constant_pointer(INTERFACE.warp.shared));
        let addresses = self.each(address, *wide, memory, false);
        let act = self.act;
        let go = self.in_range(&addresses, inst, ty.bytes(), act);
        self.leave_unless(go);
        let LaneAddresses::Each { base, index, .. } = addresses else { return Ok(false) };
        let operand = self.lanes(operand, ty.bits());
        let wanted = inst.dst.first().filter(|dst| match dst {
            Dst::Reg(r, _) => self.is_read(*r),
            Dst::Sink => false,
        });
        let old = self.one_by_one(&base, index, operand, op, shared, wanted.is_some());
        if let (Some(dst), Some(old)) = (wanted, old) {
            self.set(*dst, Val::Lanes(old))?;
        }
        Ok(true)
    }

    fn is_read(&self, register: u32) -> bool {
        let mut list = Vec::new();
        self.f.code.iter().any(|inst| {
            reads(inst, &mut list);
            list.contains(&register)
        })
    }

    /// Stores a vector to an alloca, from which a loop loads single lanes.
    fn spread(&mut self, v: Value) -> String {
        let name = format!("%a{}", self.b.number());
        let b = self.vector();
        let ty = b.ty(v.ty);
        b.variable(&format!("{name} = alloca {ty}, align 64"));
        let v = b.typed(v);
        b.line(&format!("store {v}, ptr {name}, align 64"));
        name
    }

    /// The loop over lanes; returns the old values if `wanted`.
    fn one_by_one(
        &mut self,
        base: &str,
        index: Value,
        operand: Value,
        op: &str,
        shared: bool,
        wanted: bool,
    ) -> Option<Value> {
        let ty = operand.ty;
        let (indices, operands) = (self.spread(index), self.spread(operand));
        let olds = wanted.then(|| self.spread(operand));
        let counter = format!("lane{}", self.b.number());
        self.b.variable(&format!("%{counter} = alloca i32"));
        self.set_variable(&counter, Value::int(32, 0));
        let (round, done) = (self.label(), self.label());
        self.jump(&round);
        self.b.label(&round);
        let first = self.load_variable(&counter);
        for k in 0..AT_ONCE {
            let lane = self.scalar().with("add", first, k.into());
            let at = self.element(&indices, index.ty, lane);
            let at = self.scalar().result(index.ty, &format!("load {}, ptr {at}", index.ty.text()));
            let at = self.scalar().fit(at, 64);
            let at = self.scalar().typed(at);
            let p = self.pointer();
            match base {
                "null" => self.b.line(&format!("{p} = inttoptr {at} to ptr")),
                base => self.b.line(&format!("{p} = getelementptr i8, ptr {base}, {at}")),
            }
            let v = self.element(&operands, ty, lane);
            let v = self.scalar().result(ty, &format!("load {}, ptr {v}", ty.text()));
            let old = if shared { self.change(&p, op, v) } else { self.exchange(&p, op, v) };
            if let Some(olds) = &olds {
                let to = self.element(olds, ty, lane);
                let old = self.scalar().typed(old);
                self.b.line(&format!("store {old}, ptr {to}"));
            }
        }
        let next = self.scalar().with("add", first, AT_ONCE.into());
        self.set_variable(&counter, next);
        let more = self.scalar().icmp_with("ult", next, LANES.into());
        self.branch(more, &round, &done);
        self.b.label(&done);
        let olds = olds?;
        let b = self.vector();
        let text = format!("load {}, ptr {olds}, align 64", b.ty(ty));
        Some(b.result(ty, &text))
    }

    fn element(&mut self, of: &str, ty: Type, lane: Value) -> String {
        let (lane, p) = (self.scalar().typed(lane), self.pointer());
        self.b.line(&format!("{p} = getelementptr {}, ptr {of}, {lane}", ty.text()));
        p
    }

    /// In memory that only this thread uses.
    fn change(&mut self, p: &str, op: &str, v: Value) -> Value {
        let b = self.scalar();
        let bytes = v.ty.bits() / 8;
        let old = b.result(v.ty, &format!("load {}, ptr {p}, align {bytes}", v.ty.text()));
        let new = match op {
            "xchg" => v,
            "add" | "and" | "or" | "xor" => b.op(op, old, v),
            "min" => b.same("llvm.smin", &[old, v]),
            "max" => b.same("llvm.smax", &[old, v]),
            "umin" => b.same("llvm.umin", &[old, v]),
            _ => b.same("llvm.umax", &[old, v]),
        };
        let new = b.typed(new);
        b.line(&format!("store {new}, ptr {p}, align {bytes}"));
        old
    }

    /// In memory that other threads use, too.
    fn exchange(&mut self, p: &str, op: &str, v: Value) -> Value {
        let b = self.scalar();
        let (ty, v) = (v.ty, b.typed(v));
        b.result(ty, &format!("atomicrmw {op} ptr {p}, {v} seq_cst, align {}", ty.bits() / 8))
    }
}

/// LLVM's name of an operation on integers.
fn operation(update: Update) -> Option<&'static str> {
    let signed = |ty: Scalar| ty.is_signed();
    Some(match update {
        Update::Add(_) => "add",
        Update::And(_) => "and",
        Update::Or(_) => "or",
        Update::Xor(_) => "xor",
        Update::Exchange(_) => "xchg",
        Update::Min(ty) if signed(ty) => "min",
        Update::Min(_) => "umin",
        Update::Max(ty) if signed(ty) => "max",
        Update::Max(_) => "umax",
        _ => return None,
    })
}
