//! Control flow: regions, divergence and reconvergence.
//!
//! Owns the shape of the function, which runs a block and those that follow it along x ([`super::rounds`]). It contains
//! each region twice: for full warps with all lanes active (`f`), and for any active lanes (`g`). A warp switches to
//! `g` when its lanes diverge, and back at a loop header or after a barrier. Must not know what instructions compute.

use super::emitter::{ALL, Emit, Refused, Val, entry_label};
use super::group::Groups;
use super::predicate::has_masks;
use super::wide::Wides;
use crate::simt::plan::region::{Edge, Term, writes};
use crate::simt::plan::shape::Shape;
use crate::warp::{FAULT, Which};
use cushim_ptx::ir::{Inst, Sense};
use cushim_ptx::sem::{Barrier, Control, Operation};
use cushim_translate::llvm::{Type, Value};
use std::collections::BTreeSet;

/// The alloca with a variable's value at the begin of a region.
fn old_name(region: usize, variable: &str) -> String {
    format!("%o{region}{}", &variable[1..])
}

impl Emit<'_> {
    /// The whole function.
    pub(super) fn emit_function(&mut self) -> Result<(), Refused> {
        let resumed = self.resumed()?;
        self.declare_registers();
        for name in ["act", "live"] {
            self.b.variable(&format!("%{name} = alloca i32"));
        }
        self.b.variable("%warp = alloca ptr");
        for k in 0..self.plan.regions.len() {
            self.b.variable(&format!("%m{k}r = alloca i32"));
        }
        self.blocks_of_grid(&resumed);
        self.serial_loops();
        for full in [true, false] {
            for k in 0..self.plan.regions.len() {
                self.region(k, full)?;
            }
        }
        self.b.label("fault");
        self.b.line(&format!("ret i32 {FAULT}"));
        Ok(())
    }

    pub(super) fn load_variable(&mut self, name: &str) -> Value {
        self.scalar().result(Type::Int(32), &format!("load i32, ptr %{name}"))
    }

    pub(super) fn set_variable(&mut self, name: &str, v: Value) {
        let v = self.scalar().typed(v);
        self.b.line(&format!("store {v}, ptr %{name}"));
    }

    fn region(&mut self, k: usize, full: bool) -> Result<(), Refused> {
        (self.region, self.full) = (k, full);
        self.b.label(&format!("{}{k}", if full { "f" } else { "g" }));
        self.go_serial(k);
        self.act = if full { ALL } else { self.load_variable("act") };
        let plan = self.plan;
        let region = &plan.regions[k];
        let blended = if full { BTreeSet::new() } else { self.keep_old(k) };
        self.groups = Groups::of_region(self.f, plan, k);
        // Processors with AVX-512 have gathers.
        self.wides = match has_masks() {
            true => Wides::default(),
            false => Wides::of_region(self.f, plan, k),
        };
        // The region's code is emitted twice.
        if full {
            for n in 0..self.groups.all.len() + self.wides.all.len() {
                let name = self.holds_name(n);
                self.b.variable(&format!("{name} = alloca i1"));
            }
            self.declare_wides();
        }
        for at in region.start..region.end {
            self.at = at;
            if !full && self.entries.contains(&(k, at)) {
                let entry = entry_label(k, at);
                self.jump(&entry);
                self.b.label(&entry);
                self.act = self.load_variable("act");
            }
            for (n, group) in self.groups.before(at) {
                let holds = self.group_in_range(&group);
                match full {
                    true => self.leave_unless(holds),
                    false => self.set_holds(n, holds),
                }
            }
            for (n, wide) in self.wides.before(at) {
                self.load_wide(n, &wide);
            }
            let inst = &self.f.code[at];
            self.read_guard(inst.guard);
            self.instruction(inst)?;
        }
        self.guard = None;
        // Read the guard first: its register may get its old value back.
        let guard = match region.term {
            Term::Branch { guard: (p, _), .. } => Some(self.raw(p)),
            _ => None,
        };
        blended.into_iter().for_each(|r| self.blend(k, r));
        match (&region.term, guard) {
            (Term::Jump(edge), _) => self.go(*edge, self.act),
            (Term::Branch { guard: (_, sense), taken, other }, Some(guard)) => {
                self.branch_lanes(&guard, *sense, *taken, *other);
            }
            (Term::Wait { next: Edge::To(next), .. }, _) => self.wait(*next),
            (Term::Wait { .. }, _) => return Err("a barrier at the end"),
            _ => return Err("a branch by a table"),
        }
        Ok(())
    }

    /// Copies registers that a region writes to allocas, for the lanes that wait elsewhere. Full warps that enter in
    /// the middle have no such lanes.
    fn keep_old(&mut self, k: usize) -> BTreeSet<u32> {
        let region = &self.plan.regions[k];
        let written = self.f.code[region.start..region.end].iter().flat_map(writes);
        // Also registers that are not live after this region, which the plan leaves out: a write changes the alloca for
        // all lanes.
        let waits =
            |r: usize| self.plan.waiting[k].iter().any(|w| self.plan.regions[w].live_in.has(r));
        let blended: BTreeSet<u32> =
            written.filter(|r| self.plan.blend[k].has(*r as usize) || waits(*r as usize)).collect();
        for r in &blended {
            for (name, ty) in self.variables(*r) {
                let (old, v) = (old_name(k, &name), self.pointer());
                self.b.variable(&format!("{old} = alloca {ty}"));
                self.b.line(&format!("{v} = load {ty}, ptr {name}"));
                self.b.line(&format!("store {ty} {v}, ptr {old}"));
            }
        }
        blended
    }

    /// Restores a register for the lanes that wait. A register that does not vary is live for them alone: otherwise
    /// active and waiting lanes would have different values of it.
    fn blend(&mut self, k: usize, r: u32) {
        if self.plan.shapes[r as usize] == Shape::Varying {
            let old = self.load_lanes_of(&old_name(k, &format!("%r{r}")), r);
            let (new, lanes) = (self.load_lanes(r), self.lanes_of_mask(self.act));
            let v = self.choose(lanes, new, old);
            return self.store_lanes(r, v);
        }
        for (name, ty) in self.variables(r) {
            let v = self.pointer();
            self.b.line(&format!("{v} = load {ty}, ptr {}", old_name(k, &name)));
            self.b.line(&format!("store {ty} {v}, ptr {name}"));
        }
    }

    fn branch_lanes(&mut self, guard: &Val, sense: Sense, taken: Edge, other: Edge) {
        let (taken, other) = if sense == Sense::True { (taken, other) } else { (other, taken) };
        let (yes, no) = (self.label(), self.label());
        if let Some(u) = guard.uniform() {
            self.branch(u, &yes, &no);
        } else {
            let bits = self.lanes(guard, 1);
            let bits = self.mask(bits);
            let act = self.act;
            let t = self.scalar().op("and", bits, act);
            let every = self.scalar().icmp("eq", t, act);
            let (some, both) = (self.label(), self.label());
            self.branch(every, &yes, &some);
            self.b.label(&some);
            let none = self.scalar().icmp_with("eq", t, 0);
            self.branch(none, &no, &both);
            self.b.label(&both);
            let f = self.scalar().op("xor", act, t);
            self.diverge(taken, t, other, f);
        }
        self.b.label(&yes);
        self.go(taken, self.act);
        self.b.label(&no);
        self.go(other, self.act);
    }

    /// Lanes diverge: those of the lower region run first.
    pub(super) fn diverge(&mut self, taken: Edge, t: Value, other: Edge, f: Value) {
        let full = std::mem::replace(&mut self.full, false);
        match (taken, other) {
            (Edge::Exit, Edge::Exit) => self.go(Edge::Exit, self.act),
            (Edge::Exit, on) => {
                self.retire(t);
                self.go(on, f);
            }
            (on, Edge::Exit) => {
                self.retire(f);
                self.go(on, t);
            }
            (Edge::To(a), Edge::To(b)) if a == b => self.go(taken, self.act),
            (Edge::To(a), Edge::To(b)) => {
                let (first, t, later, f) = if a < b { (a, t, b, f) } else { (b, f, a, t) };
                self.ready(later, f);
                self.go(Edge::To(first), t);
            }
        }
        self.full = full;
    }

    fn retire(&mut self, lanes: Value) {
        let live = self.load_variable("live");
        let b = self.scalar();
        let stay = b.not(lanes);
        let live = b.op("and", live, stay);
        self.set_variable("live", live);
    }

    fn ready(&mut self, region: usize, lanes: Value) {
        let name = format!("m{region}r");
        let old = self.load_variable(&name);
        let new = self.scalar().op("or", old, lanes);
        self.set_variable(&name, new);
    }

    /// Lanes continue at an edge's target, unless waiting lanes have to run first.
    pub(super) fn go(&mut self, edge: Edge, lanes: Value) {
        if matches!(edge, Edge::To(n) if n <= self.region) {
            self.count_down();
        }
        if self.full {
            match edge {
                Edge::Exit => self.jump("ended"),
                Edge::To(n) if n == self.region && self.turns.contains_key(&n) => self.round(n),
                Edge::To(n) => self.jump(&format!("f{n}")),
            }
            return;
        }
        let waiting = &self.plan.waiting[self.region];
        let until = if let Edge::To(n) = edge { n } else { usize::MAX };
        let before: Vec<usize> = waiting.iter().filter(|w| *w < until).collect();
        if let Edge::Exit = edge {
            self.retire(lanes);
        } else if !before.is_empty() || waiting.has(until) {
            self.ready(until, lanes);
        }
        let gathers = waiting.has(until) || !before.is_empty();
        for w in before {
            let name = format!("m{w}r");
            let m = self.load_variable(&name);
            let (here, on) = (self.label(), self.label());
            let some = self.scalar().icmp_with("ne", m, 0);
            self.branch(some, &here, &on);
            self.b.label(&here);
            self.set_variable(&name, Value::int(32, 0));
            self.enter(w, m);
            self.b.label(&on);
        }
        match edge {
            Edge::Exit => self.jump("ended"),
            Edge::To(n) if gathers => {
                let name = format!("m{n}r");
                let m = self.load_variable(&name);
                self.set_variable(&name, Value::int(32, 0));
                self.enter(n, m);
            }
            Edge::To(n) => self.enter(n, lanes),
        }
    }

    fn enter(&mut self, n: usize, lanes: Value) {
        self.set_variable("act", lanes);
        if self.headers.contains(&n) {
            let (whole, here) = (self.scalar().icmp("eq", lanes, ALL), self.label());
            self.branch(whole, &here, &format!("g{n}"));
            self.b.label(&here);
            self.go_whole(n);
        } else {
            self.jump(&format!("g{n}"));
        }
    }

    pub(super) fn instruction(&mut self, inst: &Inst) -> Result<(), Refused> {
        match inst.sem {
            op if op.is_pure() => self.pure(inst),
            Operation::Move(_) => self.moved(inst),
            Operation::Nothing | Operation::Sleep => Ok(()),
            Operation::Fence(fence) => {
                // The processor keeps the order of other fences by itself; LLVM must be told.
                self.b.line(match cushim_ptx::fence::is_total(fence) {
                    true => "fence seq_cst",
                    false => "fence syncscope(\"singlethread\") acq_rel",
                });
                Ok(())
            }
            Operation::Address(_) => self.address_of_space(inst),
            Operation::ActiveMask => self.set(inst.dst[0], Val::one(self.act)),
            Operation::Load(_) => self.load(inst),
            Operation::Store(_) => self.store(inst),
            Operation::Atomic(_) => self.atom(inst),
            Operation::Collective(what) => self.collective(inst, what),
            Operation::Control(Control::Trap) => {
                let mask = self.guard_mask();
                let site = self.site(inst, Vec::new(), Vec::new());
                self.call(Which::Trap, site, mask);
                Ok(())
            }
            Operation::Control(Control::Call) => Err("a call of the device runtime"),
            Operation::Control(_) | Operation::Barrier(Barrier::Sync) => Ok(()),
            _ => Err("an operation that this emitter does not have"),
        }
    }
}
