//! The emitter: state that all classes of instructions share while the text is made.
//!
//! Owns the state, fields of the warp, names. Must not know instructions.

use super::group::Groups;
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
/// Why a kernel is not for this emitter.
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

/// Where warps come in the middle of a region's text for any lanes.
pub(super) fn entry_label(region: usize, at: usize) -> String {
    format!("e{region}x{at}")
}

/// Text in the making.
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
    /// Bytes that they take together.
    pub(super) shared_size: i64,
    pub(super) sites: Vec<Site>,
    pub(super) region: usize,
    /// The present instruction.
    pub(super) at: usize,
    /// Lanes that run the present region, as bits: all, in code for whole warps.
    pub(super) act: Value,
    pub(super) full: bool,
    /// The guard of the present instruction.
    pub(super) guard: Option<Val>,
    /// Regions that loops begin with.
    pub(super) headers: BTreeSet<usize>,
    /// Loops of one region whose warps take turns, and after how many rounds each.
    pub(super) turns: BTreeMap<usize, u32>,
    /// Of each region, registers that a warp saves where it waits at its end.
    pub(super) written: Vec<Set>,
    /// Registers that all warps have the same of: see [`super::same`].
    pub(super) same: Set,
    /// Places, as region and instruction, at which warps leave the text for whole warps for that of any lanes.
    pub(super) entries: BTreeSet<(usize, usize)>,
    /// Those of the present region.
    pub(super) groups: Groups,
    /// Of vectors of truths, the same as bits, where the text has both.
    pub(super) bits: HashMap<Value, Value>,
    /// Of places of lanes' own and a mask: see [`Emit::of_others`].
    pub(super) replaced: HashMap<(Value, Value), Value>,
    pub(super) module: &'a Module,
}

impl Emit<'_> {
    /// What follows is of one value.
    pub(super) fn scalar(&mut self) -> &mut Body {
        self.b.set_width(1);
        &mut self.b
    }

    /// What follows is of all lanes.
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

    /// A name for a pointer that does not occur yet.
    pub(super) fn pointer(&mut self) -> String {
        format!("%p{}", self.b.number())
    }

    pub(super) fn label(&mut self) -> String {
        format!("l{}", self.b.number())
    }

    /// The warp.
    pub(super) fn warp(&mut self) -> String {
        let p = self.pointer();
        self.b.line(&format!("{p} = load ptr, ptr %warp"));
        p
    }

    /// A place so many bytes behind a pointer.
    pub(super) fn behind(&mut self, pointer: &str, bytes: usize) -> String {
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {pointer}, i64 {bytes}"));
        p
    }

    pub(super) fn in_warp(&mut self, offset: usize) -> String {
        let w = self.warp();
        self.behind(&w, offset)
    }

    /// A field of the warp that never changes while code runs.
    pub(super) fn constant(&mut self, bits: u32, offset: usize) -> Value {
        let p = self.in_warp(offset);
        self.scalar().result(Type::Int(bits), &format!("load i{bits}, ptr {p}, !invariant.load !0"))
    }

    /// The same, of a pointer.
    pub(super) fn constant_pointer(&mut self, offset: usize) -> String {
        let (at, p) = (self.in_warp(offset), self.pointer());
        self.b.line(&format!("{p} = load ptr, ptr {at}, !invariant.load !0"));
        p
    }

    /// A branch; the second way is the rare one.
    pub(super) fn likely(&mut self, condition: Value, usual: &str, rare: &str) {
        let c = self.scalar().typed(condition);
        self.b.line(&format!("br {c}, label %{usual}, label %{rare}, !prof !1"));
    }

    pub(super) fn branch(&mut self, condition: Value, yes: &str, no: &str) {
        let c = self.scalar().typed(condition);
        self.b.line(&format!("br {c}, label %{yes}, label %{no}"));
    }

    /// In the text for whole warps: a warp for which something does not hold goes on in that of any lanes, with the present
    /// instruction, of which nothing has been done.
    pub(super) fn leave_unless(&mut self, holds: Value) {
        self.entries.insert((self.region, self.at));
        let (on, entry) = (self.label(), entry_label(self.region, self.at));
        self.likely(holds, &on, &entry);
        self.b.label(&on);
    }

    pub(super) fn jump(&mut self, to: &str) {
        self.b.line(&format!("br label %{to}"));
    }

    /// Lanes that do the present instruction.
    pub(super) fn lanes_of_guard(&mut self) -> Value {
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

    /// Calls a helper with a number; leaves the code if it answers a fault.
    pub(super) fn call(&mut self, which: Which, number: u32, mask: Value) {
        let table = self.constant_pointer(INTERFACE.warp.helpers);
        let at = self.behind(&table, which as usize * 8);
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

    /// Where slot `n` of the scratch begins.
    pub(super) fn slot(&mut self, n: usize) -> String {
        self.in_warp(INTERFACE.warp.scratch + n * INTERFACE.slot)
    }

    /// Puts operands where helpers look for them; of one value (`uniform`), or of all lanes.
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

    /// What a helper left in a slot.
    pub(super) fn receive(&mut self, n: usize, class: Class, uniform: bool) -> Val {
        let slot = self.slot(n);
        let bits = if class == Class::Wide { 64 } else { 32 };
        if class == Class::Predicate {
            let v = self.scalar().result(Type::Int(32), &format!("load i32, ptr {slot}"));
            if uniform {
                // Lane 0's bit, for all.
                return Val::one(self.scalar().fit(v, 1));
            }
            return Val::Lanes(self.truths(v));
        }
        if uniform {
            let text = format!("load i{bits}, ptr {slot}");
            return Val::one(self.scalar().result(Type::Int(bits), &text));
        }
        let text = format!("load <32 x i{bits}>, ptr {slot}, align 16");
        Val::Lanes(self.vector().result(Type::Int(bits), &text))
    }
}
