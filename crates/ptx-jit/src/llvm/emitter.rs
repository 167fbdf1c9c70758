//! The emitter's state, which all classes of instructions share.
//!
//! Owns the state, fields of the warp, names. Must not know instructions.

use super::group::Groups;
use super::serial::Serial;
use super::wide::Wides;
use crate::simt::plan::Plan;
use crate::simt::plan::set::Set;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{Addresses, INTERFACE, Site, Which};
use cushim_ptx::ir::{Function, Inst, Module};
use cushim_ptx::types::Scalar;
use cushim_translate::llvm::{Body, Type, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;
/// The mask of all lanes.
pub(super) const ALL: Value = Value::int(32, 0xffff_ffff);
/// Why this emitter refuses a kernel.
pub(super) type Refused = &'static str;

/// A value of all lanes.
#[derive(Debug, Clone)]
pub(super) enum Val {
    /// Of a known shape: never [`Shape::Varying`].
    Known(Shape<Value>),
    /// A vector.
    Lanes(Value),
}

impl Val {
    pub(super) fn one(v: Value) -> Val {
        Val::Known(Shape::Uniform(v))
    }

    pub(super) fn uniform(&self) -> Option<Value> {
        if let Val::Known(Shape::Uniform(v)) = self { Some(*v) } else { None }
    }

    pub(super) fn shape(&self) -> Shape<Value> {
        match self {
            Val::Known(shape) => shape.clone(),
            Val::Lanes(_) => Shape::Varying,
        }
    }
}

/// The label at which warps enter a region's any-lanes code in the middle.
pub(super) fn entry_label(region: usize, at: usize) -> String {
    format!("e{region}x{at}")
}

/// The emitter.
pub(super) struct Emit<'a> {
    pub(super) b: Body,
    pub(super) f: &'a Function,
    pub(super) plan: &'a Plan,
    /// See [`crate::simt::nan`].
    pub(super) clean: Vec<Option<Scalar>>,
    /// Bytes from the warp to the registers in its frame.
    pub(super) registers: usize,
    /// Offsets of the shared variables.
    pub(super) shared: Vec<u32>,
    /// Bytes of all of them.
    pub(super) shared_size: i64,
    pub(super) sites: Vec<Site>,
    pub(super) region: usize,
    /// The current instruction.
    pub(super) at: usize,
    /// The active lanes of the current region, as a mask: all, in full-warp code.
    pub(super) act: Value,
    pub(super) full: bool,
    /// The guard of the current instruction.
    pub(super) guard: Option<Val>,
    /// Loop headers.
    pub(super) headers: BTreeSet<usize>,
    /// One-region loops whose warps take turns, and the rounds of a turn.
    pub(super) turns: BTreeMap<usize, u32>,
    /// Regions of loops with barriers.
    pub(super) tiles: BTreeSet<usize>,
    /// For each region, the registers that a warp saves if it waits at its end.
    pub(super) written: Vec<Set>,
    /// Registers with one value in all warps: see [`super::same`].
    pub(super) same: Set,
    /// Where warps leave full-warp code for any-lanes code, as region and instruction.
    pub(super) entries: BTreeSet<(usize, usize)>,
    /// The groups of the current region.
    pub(super) groups: Groups,
    pub(super) wides: Wides,
    /// Loops whose lanes run one after the other: see [`super::serial`].
    pub(super) serial: BTreeMap<usize, Serial>,
    /// In a round of one lane: where it goes if it cannot go on.
    pub(super) one_round: Option<String>,
    /// The plan for one lane: every register has one value.
    pub(super) one_lane: &'a Plan,
    /// The masks of `<32 x i1>` vectors, if the IR has both.
    pub(super) masks: HashMap<Value, Value>,
    /// Filled addresses, by addresses and mask: see [`Emit::fill_inactive`].
    pub(super) filled: HashMap<(Value, Value), Value>,
    pub(super) module: &'a Module,
}

impl Emit<'_> {
    /// The body, for scalar operations.
    pub(super) fn scalar(&mut self) -> &mut Body {
        self.b.set_width(1);
        &mut self.b
    }

    /// The body, for operations on all lanes.
    pub(super) fn vector(&mut self) -> &mut Body {
        self.b.set_width(LANES);
        &mut self.b
    }

    pub(super) fn class(&self, register: u32) -> Class {
        self.plan.classes[register as usize]
    }

    pub(super) fn bits_of(&self, register: u32) -> u32 {
        match self.f.registers[register as usize] {
            Scalar::Pred => 1,
            ty => ty.bits(),
        }
    }

    /// A new name for a pointer.
    pub(super) fn pointer(&mut self) -> String {
        format!("%p{}", self.b.number())
    }

    pub(super) fn label(&mut self) -> String {
        format!("l{}", self.b.number())
    }

    /// The running warp.
    pub(super) fn warp(&mut self) -> String {
        let p = self.pointer();
        self.b.line(&format!("{p} = load ptr, ptr %warp"));
        p
    }

    /// A pointer plus so many bytes.
    pub(super) fn offset_by(&mut self, pointer: &str, bytes: usize) -> String {
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {pointer}, i64 {bytes}"));
        p
    }

    pub(super) fn in_warp(&mut self, offset: usize) -> String {
        let w = self.warp();
        self.offset_by(&w, offset)
    }

    /// A field of the warp that never changes while code runs.
    pub(super) fn constant(&mut self, bits: u32, offset: usize) -> Value {
        let p = self.in_warp(offset);
        self.scalar().result(Type::Int(bits), &format!("load i{bits}, ptr {p}, !invariant.load !0"))
    }

    /// The same for a pointer.
    pub(super) fn constant_pointer(&mut self, offset: usize) -> String {
        let (at, p) = (self.in_warp(offset), self.pointer());
        self.b.line(&format!("{p} = load ptr, ptr {at}, !invariant.load !0"));
        p
    }

    /// A branch that is usually taken to `usual`.
    pub(super) fn likely(&mut self, condition: Value, usual: &str, rare: &str) {
        let c = self.scalar().typed(condition);
        self.b.line(&format!("br {c}, label %{usual}, label %{rare}, !prof !1"));
    }

    pub(super) fn branch(&mut self, condition: Value, yes: &str, no: &str) {
        let c = self.scalar().typed(condition);
        self.b.line(&format!("br {c}, label %{yes}, label %{no}"));
    }

    /// In full-warp code: unless the condition holds, the warp continues in any-lanes code, at the current instruction,
    /// of which nothing has been done.
    pub(super) fn leave_unless(&mut self, holds: Value) {
        if let Some(give_up) = self.one_round.clone() {
            let on = self.label();
            self.likely(holds, &on, &give_up);
            return self.b.label(&on);
        }
        self.entries.insert((self.region, self.at));
        for n in 0..self.groups.all.len() + self.wides.all.len() {
            self.set_holds(n, Value::int(1, 0));
        }
        let (on, entry) = (self.label(), entry_label(self.region, self.at));
        self.likely(holds, &on, &entry);
        self.b.label(&on);
    }

    pub(super) fn jump(&mut self, to: &str) {
        self.b.line(&format!("br label %{to}"));
    }

    /// The mask of lanes that execute the current instruction.
    pub(super) fn guard_mask(&mut self) -> Value {
        let act = self.act;
        match self.guard.clone() {
            None => act,
            Some(Val::Lanes(v)) => {
                let bits = self.mask(v);
                self.scalar().op("and", bits, act)
            }
            Some(v) => {
                let v = v.uniform().unwrap_or(Value::int(1, 1));
                self.scalar().select(v, act, Value::int(32, 0))
            }
        }
    }

    pub(super) fn site(&mut self, inst: &Inst, operands: Vec<Class>, results: Vec<Class>) -> u32 {
        let space = inst.space(0);
        let (inst, addresses, at) = (inst.clone(), Addresses::Lanes, self.at as u32);
        self.sites.push(Site { inst, at, operands, results, space, extra: 0, addresses });
        self.sites.len() as u32 - 1
    }

    /// Calls a helper with a number; returns from the function if it reports a fault.
    pub(super) fn call(&mut self, which: Which, number: u32, mask: Value) {
        let table = self.constant_pointer(INTERFACE.warp.helpers);
        let at = self.offset_by(&table, which as usize * 8);
        let callee = self.pointer();
        self.b.line(&format!("{callee} = load ptr, ptr {at}, !invariant.load !0"));
        let (w, mask) = (self.warp(), self.scalar().typed(mask));
        let call = format!("call i32 {callee}(ptr {w}, i32 {number}, {mask})");
        let status = self.scalar().result(Type::Int(32), &call);
        let fine = self.scalar().icmp_with("eq", status, 0);
        let next = self.label();
        self.likely(fine, &next, "fault");
        self.b.label(&next);
    }

    /// The pointer to slot `n` of the scratch area.
    pub(super) fn slot(&mut self, n: usize) -> String {
        self.in_warp(INTERFACE.warp.scratch + n * INTERFACE.slot)
    }

    /// Stores operands for a helper: one value (`uniform`), or all lanes.
    pub(super) fn pass(&mut self, args: &[(Val, Class)], uniform: bool) {
        for (n, (v, class)) in args.iter().enumerate() {
            let slot = self.slot(n);
            let bits = if *class == Class::Wide { 64 } else { 32 };
            match (uniform.then(|| v.uniform()).flatten(), class) {
                (Some(u), Class::Predicate) => {
                    let b = self.scalar();
                    let u = b.fit(u, 1);
                    let u = b.signed(u, 32);
                    let u = b.typed(u);
                    b.line(&format!("store {u}, ptr {slot}"));
                }
                (Some(u), _) => {
                    let b = self.scalar();
                    let u = b.fit(u, bits);
                    let u = b.typed(u);
                    b.line(&format!("store {u}, ptr {slot}"));
                }
                (None, Class::Predicate) => {
                    let v = self.lanes(v, 1);
                    let v = self.mask(v);
                    let v = self.scalar().typed(v);
                    self.b.line(&format!("store {v}, ptr {slot}"));
                }
                (None, _) => {
                    let v = self.lanes(v, bits);
                    let v = self.vector().typed(v);
                    self.b.line(&format!("store {v}, ptr {slot}, align 16"));
                }
            }
        }
    }

    /// A helper's result in a slot.
    pub(super) fn receive(&mut self, n: usize, class: Class, uniform: bool) -> Val {
        let slot = self.slot(n);
        let bits = if class == Class::Wide { 64 } else { 32 };
        if class == Class::Predicate {
            let v = self.scalar().result(Type::Int(32), &format!("load i32, ptr {slot}"));
            if uniform {
                // Lane 0's bit holds for all.
                return Val::one(self.scalar().fit(v, 1));
            }
            return Val::Lanes(self.lanes_of_mask(v));
        }
        if uniform {
            let text = format!("load i{bits}, ptr {slot}");
            return Val::one(self.scalar().result(Type::Int(bits), &text));
        }
        let text = format!("load <32 x i{bits}>, ptr {slot}, align 16");
        Val::Lanes(self.vector().result(Type::Int(bits), &text))
    }
}
