//! The warps of a block, in rounds: in each, a warp runs until it reaches a barrier, yields in a loop, or ends.
//!
//! Owns which warp is next, and where it begins. A round has one of three kinds: fresh (all warps begin the block),
//! together (all resume at one region, with all lanes, after one barrier), or own (each resumes from its own state).
//! Must not know what a region does.

use super::emitter::{ALL, Emit, Refused};
use crate::simt::plan::region::{Edge, Term};
use crate::warp::{DONE, INTERFACE, Which, barrier_number};
use cushim_ptx::sem::{Barrier, Operation};
use cushim_translate::llvm::{Type, Value};

/// Loop iterations between two checks whether the launch is to end.
const ROUNDS: u32 = 1 << 20;
/// The kind of a round: each warp resumes from its own state.
const OWN: u128 = 0;
/// All warps begin the block.
const FRESH: u128 = 1;

/// All warps resume at a region together.
fn at(region: usize) -> u128 {
    region as u128 + 2
}

/// The alloca with a register's value in all warps when a round began.
fn kept_name(variable: &str) -> String {
    format!("%k{}", &variable[1..])
}

impl Emit<'_> {
    /// The regions after barriers; refuses barriers at which not all lanes wait, and several barriers.
    pub(super) fn resumed(&self) -> Result<Vec<usize>, Refused> {
        let (mut all, mut number) = (Vec::new(), None);
        for (k, region) in self.plan.regions.iter().enumerate() {
            if region.result.is_some() {
                return Err("lanes that wait for others of the warp");
            }
            let Term::Wait { inst, next } = region.term else { continue };
            let inst = &self.f.code[inst];
            let (Edge::To(next), true, None) = (next, self.plan.alone[k], inst.guard) else {
                return Err("a barrier at which lanes wait that are not all");
            };
            let own =
                barrier_number(inst).filter(|_| inst.sem == Operation::Barrier(Barrier::Sync));
            if own.is_none() || number.is_some_and(|n| Some(n) != own) {
                return Err("barriers of some threads, or several barriers");
            }
            number = own;
            all.push(next);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// The loops over blocks and their warps, which jump to regions.
    pub(super) fn blocks_of_grid(&mut self, resumed: &[usize]) {
        for name in [
            "waits", "rounds", "number", "turn", "turning", "apart", "kind", "any", "every",
            "given_up",
        ] {
            self.b.variable(&format!("%{name} = alloca i32"));
        }
        for r in self.same.iter() {
            for (name, ty) in self.variables(r as u32) {
                self.b.variable(&format!("{} = alloca {ty}", kept_name(&name)));
            }
        }
        self.b.label("start");
        self.b.line(&format!("store i32 {ROUNDS}, ptr %rounds"));
        self.jump("block");
        self.b.label("block");
        self.b.line("store ptr %first, ptr %warp");
        let strips = self.has_strips(resumed);
        if strips {
            self.begin_strip();
        }
        self.set_variable("turning", Value::int(32, 0));
        self.begin_round(FRESH);

        self.b.label("round");
        // If warps took turns in a loop, those at a barrier wait for the others.
        let turning = self.load_variable("turning");
        self.set_variable("apart", turning);
        for (name, v) in
            [("waits", 0), ("turning", 0), ("number", 0), ("any", 0), ("every", u32::MAX.into())]
        {
            self.set_variable(name, Value::int(32, v));
        }
        self.b.line("store ptr %first, ptr %warp");
        self.jump("begin");

        self.b.label("begin");
        let waits = !resumed.is_empty() || !self.turns.is_empty();
        if waits {
            let mut cases = format!("i32 {FRESH}, label %fresh");
            for r in resumed {
                cases += &format!(" i32 {}, label %together{r}", at(*r));
            }
            let kind = self.load_variable("kind");
            let kind = self.scalar().typed(kind);
            self.b.line(&format!("switch {kind}, label %again [ {cases} ]"));
        } else {
            self.jump("fresh");
        }
        self.fresh();
        if waits {
            self.again(resumed);
            resumed.iter().for_each(|r| self.resume_together(*r));
        }
        self.b.label("waiting");
        self.set_variable("waits", Value::int(32, 1));
        self.jump("next");
        self.b.label("ended");
        let p = self.in_warp(INTERFACE.warp.live);
        self.b.line(&format!("store i32 0, ptr {p}"));
        self.prevent_together();
        self.jump("next");
        self.next_warp(strips);
        self.turned(resumed);
        self.next_block(strips);
    }

    /// Begins a round of a kind.
    fn begin_round(&mut self, kind: u128) {
        self.set_variable("kind", Value::int(32, kind));
        self.jump("round");
    }

    /// Makes the warp the current one.
    fn begin_warp(&mut self) {
        let w = self.warp();
        let loops = self.constant_pointer(INTERFACE.warp.warps);
        let current = self.offset_by(&loops, INTERFACE.warps.current);
        self.b.line(&format!("store ptr {w}, ptr {current}"));
        self.set_variable("turn", Value::int(32, 0));
        self.set_variable("given_up", Value::int(32, 0));
    }

    /// Clears the masks of lanes that wait in other regions.
    fn clear_waiting(&mut self) {
        for k in 0..self.plan.regions.len() {
            if self.plan.waiting.iter().any(|all| all.has(k)) {
                self.b.line(&format!("store i32 0, ptr %m{k}r"));
            }
        }
    }

    /// A warp with all lanes active continues in full-warp code.
    pub(super) fn go_whole(&mut self, region: usize) {
        self.set_variable("live", ALL);
        self.set_variable("act", ALL);
        self.clear_waiting();
        self.jump(&format!("f{region}"));
    }

    /// A warp begins the block.
    fn fresh(&mut self) {
        self.b.label("fresh");
        self.begin_warp();
        self.zero_registers();
        self.clear_waiting();
        let live = self.constant(32, INTERFACE.warp.full);
        self.set_variable("live", live);
        self.set_variable("act", live);
        let (whole, here) = (self.scalar().icmp("eq", live, ALL), self.label());
        self.branch(whole, &here, "g0");
        self.b.label(&here);
        self.go_whole(0);
    }

    /// A warp resumes from its own state: after a barrier, or in a loop.
    fn again(&mut self, resumed: &[usize]) {
        let turns: Vec<usize> = self.turns.keys().copied().collect();
        self.b.label("again");
        self.begin_warp();
        self.zero_registers();
        self.clear_waiting();
        let live = self.in_warp(INTERFACE.warp.live);
        let live = self.scalar().result(Type::Int(32), &format!("load i32, ptr {live}"));
        self.set_variable("live", live);
        self.set_variable("act", live);
        let some = self.scalar().icmp_with("ne", live, 0);
        self.branch(some, "resume", "gone");
        self.b.label("gone");
        self.prevent_together();
        self.jump("next");
        self.b.label("resume");
        let low = self.in_warp(INTERFACE.warp.low);
        let low = self.scalar().result(Type::Int(32), &format!("load i32, ptr {low}"));
        let low = self.scalar().typed(low);
        let all = resumed.iter().chain(&turns);
        let cases: String = all.clone().map(|r| format!(" i32 {r}, label %resume{r}")).collect();
        self.b.line(&format!("switch {low}, label %fault [{cases} ]"));
        for r in all {
            self.b.label(&format!("resume{r}"));
            if !turns.is_empty() && resumed.contains(r) {
                let apart = self.load_variable("apart");
                let none = self.scalar().icmp_with("eq", apart, 0);
                let (on, stay) = (self.label(), self.label());
                self.likely(none, &on, &stay);
                self.b.label(&stay);
                self.prevent_together();
                self.jump("waiting");
                self.b.label(&on);
            }
            for register in self.plan.regions[*r].live_in.iter() {
                self.spill(register as u32, true);
            }
            let live = self.load_variable("live");
            let (whole, here) = (self.scalar().icmp("eq", live, ALL), self.label());
            self.branch(whole, &here, &format!("g{r}"));
            self.b.label(&here);
            self.go_whole(*r);
        }
    }

    /// A warp resumes after the barrier that all warps of the block reached, with all lanes.
    fn resume_together(&mut self, region: usize) {
        self.b.label(&format!("together{region}"));
        self.begin_warp();
        for register in self.plan.regions[region].live_in.iter() {
            match self.same.has(register) {
                true => self.copy(register as u32, kept_name, str::to_owned),
                false => self.spill(register as u32, true),
            }
        }
        self.go_whole(region);
    }

    /// Reloads the registers with one value in all warps from the first warp.
    fn load_same(&mut self, region: usize) {
        self.b.line("store ptr %first, ptr %warp");
        for register in self.plan.regions[region].live_in.iter() {
            if self.same.has(register) {
                self.spill(register as u32, true);
                self.copy(register as u32, str::to_owned, kept_name);
            }
        }
    }

    /// Copies a register between allocas.
    fn copy(&mut self, register: u32, from: fn(&str) -> String, to: fn(&str) -> String) {
        for (name, ty) in self.variables(register) {
            let v = self.pointer();
            self.b.line(&format!("{v} = load {ty}, ptr {}", from(&name)));
            self.b.line(&format!("store {ty} {v}, ptr {}", to(&name)));
        }
    }

    fn next_warp(&mut self, strips: bool) {
        self.b.label("next");
        if strips {
            self.along_strip();
        }
        let next = self.constant_pointer(INTERFACE.warp.next);
        self.b.line(&format!("store ptr {next}, ptr %warp"));
        let number = self.load_variable("number");
        let number = self.scalar().with("add", number, 1);
        self.set_variable("number", number);
        let last = format!("icmp eq ptr {next}, null");
        let last = self.scalar().result(Type::Int(1), &last);
        self.branch(last, "turned", "begin");
    }

    /// All warps had their turn: chooses the next round's kind.
    fn turned(&mut self, resumed: &[usize]) {
        self.b.label("turned");
        let waits = self.load_variable("waits");
        let some = self.scalar().icmp_with("ne", waits, 0);
        self.branch(some, "more", "over");
        self.b.label("more");
        let (any, every) = (self.load_variable("any"), self.load_variable("every"));
        let same = self.scalar().icmp("eq", any, every);
        self.branch(same, "same", "parted");
        self.b.label("same");
        let any = self.scalar().typed(any);
        let cases: String = resumed.iter().map(|r| format!(" i32 {r}, label %meet{r}")).collect();
        self.b.line(&format!("switch {any}, label %parted [{cases} ]"));
        for r in resumed {
            self.b.label(&format!("meet{r}"));
            self.load_same(*r);
            self.begin_round(at(*r));
        }
        self.b.label("parted");
        self.begin_round(OWN);
    }

    /// Prevents the next round from resuming all warps together.
    fn prevent_together(&mut self) {
        self.set_variable("any", ALL);
        self.set_variable("every", Value::int(32, 0));
    }

    /// A block has ended: starts the next one along x, if there is one.
    fn next_block(&mut self, strips: bool) {
        self.b.label("over");
        if strips {
            self.end_strip();
        }
        let (left, x) = self.left_and_block();
        let v = self.scalar().result(Type::Int(32), &format!("load i32, ptr {left}"));
        let none = self.scalar().icmp_with("eq", v, 0);
        self.branch(none, "done", "following");
        self.b.label("following");
        self.add_at(&left, Value::int(32, u128::from(u32::MAX)));
        self.add_at(&x, Value::int(32, 1));
        self.jump("block");
        self.b.label("done");
        self.b.line(&format!("ret i32 {DONE}"));
    }

    /// The warp waits at a barrier.
    pub(super) fn wait(&mut self, next: usize) {
        if next <= self.region {
            self.count_down();
        }
        let act = self.act;
        let whole = self.scalar().icmp("eq", act, ALL);
        let bits = Value::int(32, next as u128);
        for (name, op, other) in [("any", "or", ALL), ("every", "and", Value::int(32, 0))] {
            let v = self.scalar().select(whole, bits, other);
            let old = self.load_variable(name);
            let v = self.scalar().op(op, old, v);
            self.set_variable(name, v);
        }
        self.leave_at(next);
        self.jump("waiting");
    }

    /// Saves the warp's state: it resumes at a region in its next turn.
    fn leave_at(&mut self, next: usize) {
        let plan = self.plan;
        for register in plan.regions[next].live_in.iter() {
            if self.written[self.region].has(register) {
                self.spill(register as u32, false);
            }
        }
        let (low, live) = (self.in_warp(INTERFACE.warp.low), self.in_warp(INTERFACE.warp.live));
        self.b.line(&format!("store i32 {next}, ptr {low}"));
        let act = self.act;
        let act = self.scalar().typed(act);
        self.b.line(&format!("store {act}, ptr {live}"));
    }

    /// The next round of a loop, or, after some rounds, the next warp's turn.
    pub(super) fn round(&mut self, n: usize) {
        let rounds = self.turns.get(&n).copied().unwrap_or(1);
        let turn = self.load_variable("turn");
        let turn = self.scalar().with("add", turn, 1);
        self.set_variable("turn", turn);
        let more = self.scalar().icmp_with("ult", turn, rounds.into());
        let others = self.label();
        self.branch(more, &format!("f{n}"), &others);
        self.b.label(&others);
        self.set_variable("turning", Value::int(32, 1));
        self.prevent_together();
        self.leave_at(n);
        self.jump("waiting");
    }

    /// Counts a loop iteration; after many, a helper says whether the launch is to end.
    pub(super) fn count_down(&mut self) {
        let left = self.load_variable("rounds");
        let left = self.scalar().with("sub", left, 1);
        self.set_variable("rounds", left);
        let some = self.scalar().icmp_with("ne", left, 0);
        let (on, pause) = (self.label(), self.label());
        self.likely(some, &on, &pause);
        self.b.label(&pause);
        self.set_variable("rounds", Value::int(32, ROUNDS.into()));
        self.call(Which::Pause, 0, Value::int(32, 0));
        self.jump(&on);
        self.b.label(&on);
    }
}
