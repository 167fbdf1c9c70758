//! Lanes that may wait for each other: each makes progress by itself, as on NVIDIA's GPUs since sm_70.
//!
//! LLVM's structurizer makes lanes that leave a loop wait until all have left it. So a lane that took a lock would
//! wait for the lanes that want it. A function in which that may happen (`layout::waits`) becomes one loop here. In
//! each round each lane takes a step: from its current point to the next point where it has to wait, or once around a
//! loop that reads memory that others write. Lanes that have ended stay in the loop, too, so no lane does anything
//! outside of it.
//!
//! A collective operation after such a loop is a meeting point (`layout::places`), because nothing else reconverges
//! the lanes: a lane stays there until all lanes that the instruction names, and that have not ended, have arrived.
//! If all lanes of a warp wait, they go on as if they had arrived.
//!
//! Owns the loop, its meeting points, and which lanes wait there. Must not know which instructions read memory that
//! others write.

use super::function::Emitter;
use crate::layout::waits::{self, Waits};
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Module};
use cushim_ptx::sem::{Collective, CollectiveOp, Operation};
use std::collections::BTreeSet;

/// The point of lanes that have exited.
const ENDED: u32 = u32::MAX;
/// Places from here on are `bar.warp.sync`, at any of which a lane has come.
const SYNC: u32 = 1 << 24;
/// The registers of every lane: where it stands, and whether it stayed there in the last round.
const PLACE: &str = "ptr addrspace(5) %place";
const STAYED: &str = "ptr addrspace(5) %stayed";

/// The loop of a function.
#[derive(Debug)]
pub(super) struct Steps {
    waits: Waits,
    /// Blocks that lanes go to around a loop.
    blocks: BTreeSet<u32>,
    /// Points, and their labels.
    cases: Vec<(u32, String)>,
}

impl Steps {
    /// If lanes of the function may wait for each other.
    pub(super) fn of(module: &Module, number: u32) -> Option<Steps> {
        let waits = waits::of(module, number)?;
        Some(Steps { waits, blocks: BTreeSet::new(), cases: Vec::new() })
    }
}

impl<'a> Emitter<'a> {
    /// Declares the registers of the loop.
    pub(super) fn begin_steps(&mut self) {
        if self.steps.is_some() {
            for name in ["place", "stayed"] {
                self.b.variable(&format!("%{name} = alloca i32, addrspace(5)"));
                self.b.variable(&format!("store i32 0, ptr addrspace(5) %{name}"));
            }
        }
    }

    /// The label where a function begins.
    pub(super) fn first(&self) -> &'static str {
        if self.steps.is_some() { "step" } else { "b0" }
    }

    /// The label by which a block goes to another.
    pub(super) fn way(&mut self, from: u32, to: u32) -> String {
        match &mut self.steps {
            Some(steps) if steps.waits.is_around(from, to) => {
                steps.blocks.insert(to);
                format!("go{to}")
            }
            _ => format!("b{to}"),
        }
    }

    /// Whether lanes have to reconverge for the current instruction.
    pub(super) fn meets(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.waits.is_place(self.at))
    }

    /// An instruction for which lanes come together.
    pub(super) fn meet(&mut self, inst: &'a Inst) -> Result<(), Refused> {
        let n = self.b.number();
        let guard = self.guard(inst.guard);
        if let Some(guard) = guard {
            let guard = self.b.typed(guard);
            self.b.line(&format!("br {guard}, label %come{n}, label %past{n}"));
            self.b.label(&format!("come{n}"));
        }
        let sync = is_sync(inst);
        let place = if sync { SYNC + n } else { n + 1 + self.f.blocks.len() as u32 };
        self.go_to(place);
        self.b.label(&format!("meet{n}"));
        if let Some(steps) = &mut self.steps {
            steps.cases.push((place, format!("meet{n}")));
        }
        let here = match sync {
            true => "%syncing".to_owned(),
            false => {
                let at = format!("icmp eq i32 %at, {place}");
                let at = self.b.result(Type::Int(1), &at);
                let here = self.ballot(at);
                self.b.name(here)
            }
        };
        let word = Type::Int(32);
        let away = self.b.result(word, &format!("xor i32 {here}, -1"));
        let missing = self.b.result(word, &format!("and i32 %alive, {}", self.b.name(away)));
        let (missing, alone) = match inst.sem {
            Operation::Collective(what) => (self.named(inst, what, missing)?, "%stuck"),
            _ => (missing, "false"),
        };
        let all = self.b.icmp_with("eq", missing, 0);
        let all = self.b.typed(all);
        let on = self.b.result(Type::Int(1), &format!("or {all}, {alone}"));
        let on = self.b.typed(on);
        self.b.line(&format!("br {on}, label %met{n}, label %stay"));
        self.b.label(&format!("met{n}"));
        self.effect(inst)?;
        if guard.is_some() {
            self.b.line(&format!("br label %past{n}"));
            self.b.label(&format!("past{n}"));
        }
        Ok(())
    }

    /// The lanes among `of` that a collective's mask names.
    fn named(&mut self, inst: &Inst, what: Collective, of: Value) -> Result<Value, Refused> {
        let Some(mask) = inst.src.get(what.op.operands()) else { return Ok(of) };
        let mask = self.operand(mask)?;
        let mask = self.b.fit(mask, 32);
        Ok(self.b.op("and", of, mask))
    }

    /// Ends the lane's step.
    fn go_to(&mut self, place: u32) {
        self.b.line(&format!("store i32 {place}, {PLACE}"));
        self.b.line("br label %back");
    }

    /// The loop itself. A lane's point must be opaque when it goes around, or LLVM would jump to the point directly.
    pub(super) fn end_steps(&mut self) {
        let Some(steps) = self.steps.take() else { return };
        for block in &steps.blocks {
            self.b.label(&format!("go{block}"));
            self.go_to(block + 1);
        }
        self.b.label("over");
        self.go_to(ENDED);
        self.b.label("stay");
        self.b.line(&format!("store i32 1, {STAYED}"));
        self.b.line("br label %back");
        self.b.label("back");
        let word = Type::Int(32);
        let place = self.b.result(word, &format!("load i32, {PLACE}"));
        let opaque = format!("call i32 asm sideeffect \"\", \"=v,0\"({}) #1", self.b.typed(place));
        let place = self.b.result(word, &opaque);
        let place = self.b.typed(place);
        self.b.line(&format!("store {place}, {PLACE}"));
        self.b.line("br label %step");

        self.b.label("step");
        self.b.line(&format!("%at = load i32, {PLACE}"));
        self.b.line(&format!("%ended = icmp eq i32 %at, {ENDED}"));
        let end = if self.f.entry { "end" } else { "results" };
        self.b.line(&format!("br i1 %ended, label %{end}, label %steps"));
        self.b.label("steps");
        let here = self.here();
        let stayed = self.b.result(word, &format!("load i32, {STAYED}"));
        let moved = self.b.icmp_with("eq", stayed, 0);
        let moved = self.ballot(moved);
        let syncing = format!("icmp uge i32 %at, {SYNC}");
        let syncing = self.b.result(Type::Int(1), &syncing);
        let syncing = self.ballot(syncing);
        for (name, v) in [("alive", here), ("syncing", syncing)] {
            self.b.line(&format!("%{name} = or {}, 0", self.b.typed(v)));
        }
        self.b.line(&format!("%stuck = icmp eq {}, 0", self.b.typed(moved)));
        self.b.line(&format!("store i32 0, {STAYED}"));
        let blocks = steps.blocks.iter().map(|n| (n + 1, format!("b{n}")));
        let cases: String = blocks
            .chain(steps.cases)
            .map(|(place, label)| format!(" i32 {place}, label %{label}"))
            .collect();
        self.b.line(&format!("switch i32 %at, label %b0 [{cases} ]"));
        if !self.f.entry {
            self.b.label("results");
            self.give_results();
        }
    }
}

/// Whether an instruction only brings lanes together.
fn is_sync(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Collective(Collective { op: CollectiveOp::Barrier, .. }))
}
