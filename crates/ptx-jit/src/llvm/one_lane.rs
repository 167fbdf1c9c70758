//! The code of loops whose lanes run one after the other ([`super::serial`]): every register has one value in a round.
//!
//! Owns the order of lanes, and where their values are between rounds and vectors. What this code cannot do (an address out
//! of range, a NaN of doubles, very many rounds) goes back to vectors' code: the loop stores nothing, so a lane may
//! begin it again. Must not know instructions, or which loops there are.

use super::emitter::{ALL, Emit, Refused};
use super::group::Groups;
use super::lookup::line;
use super::register::one_lane;
use super::serial::{Serial, inputs, outputs};
use super::wide::Wides;
use crate::simt::plan::region::Edge;
use cushim_translate::llvm::{Type, Value};
use std::collections::BTreeSet;

/// The rounds of all lanes together before vectors' code goes on, which checks whether the launch is to end. Few where
/// tests run, so that they see it.
const MOST_ROUNDS: u32 = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 20 };

impl Emit<'_> {
    /// At the begin of a loop whose lanes may run one after the other: jumps to the code that does so, once for a warp.
    pub(super) fn go_serial(&mut self, region: usize) {
        if !self.serial.contains_key(&region) {
            return;
        }
        let given_up = self.load_variable("given_up");
        let first = self.scalar().icmp_with("eq", given_up, 0);
        let on = self.label();
        self.likely(first, &format!("s{region}"), &on);
        self.b.label(&on);
    }

    /// The code of all such loops. Forgets those that need what only vectors' code has.
    pub(super) fn serial_loops(&mut self) {
        let registers = if self.serial.is_empty() { 0 } else { self.f.registers.len() as u32 };
        for r in 0..registers {
            let bits = self.bits_of(r);
            self.b.variable(&format!("{} = alloca i{bits}", one_lane(r)));
        }
        for (k, l) in self.serial.clone() {
            let before = self.b.clone();
            if self.serial_loop(l).is_err() {
                // The numbers of values begin again: what is known of the forgotten ones must not be taken for others.
                self.b = before;
                self.masks.clear();
                self.filled.clear();
                self.serial.remove(&k);
            }
        }
    }

    fn serial_loop(&mut self, l: Serial) -> Result<(), Refused> {
        let k = l.region;
        let (inputs, outputs) = (inputs(self.plan, self.f, l), outputs(self.f, self.plan, l));
        (self.region, self.full, self.guard) = (k, false, None);
        self.b.label(&format!("s{k}"));
        self.act = self.load_variable("act");
        let own = self.share_out(l, inputs.union(&outputs));
        for name in ["left", "more"] {
            self.b.variable(&format!("%{name}{k} = alloca i32"));
        }
        let (left, more) = (format!("left{k}"), format!("more{k}"));
        self.set_variable(&left, self.act);
        self.set_variable(&more, Value::int(32, MOST_ROUNDS.into()));
        let [next, begin, body, leave, pause, done] = [(); 6].map(|()| self.label());
        let give_up = format!("s{k}up");
        self.jump(&next);

        self.b.label(&next);
        let lanes = self.load_variable(&left);
        let none = self.scalar().icmp_with("eq", lanes, 0);
        self.branch(none, &done, &begin);
        self.b.label(&begin);
        let lane = self.scalar().intrinsic(
            "llvm.cttz",
            &[Type::Int(32)],
            Type::Int(32),
            &[lanes],
            &["i1 false"],
        );
        let lane = self.scalar().with("and", lane, 31);
        for r in own {
            let (bits, p) = (self.bits_of(r), self.own_place(k, r, lane));
            let v = self.scalar().result(Type::Int(bits), &format!("load i{bits}, ptr {p}"));
            self.set_one_lane(r, v);
        }
        self.jump(&body);

        self.b.label(&body);
        let stays = self.one_round(l, &give_up)?;
        let again = self.label();
        self.branch(stays, &again, &leave);
        self.b.label(&again);
        let rounds = self.load_variable(&more);
        let rounds = self.scalar().with("sub", rounds, 1);
        self.set_variable(&more, rounds);
        let some = self.scalar().icmp_with("ne", rounds, 0);
        self.likely(some, &body, &pause);

        self.b.label(&leave);
        self.keep_own(k, &outputs, lane);
        let b = self.scalar();
        let less = b.with("add", lanes, u32::MAX.into());
        let rest = b.op("and", lanes, less);
        self.set_variable(&left, rest);
        self.jump(&next);

        // After very many rounds: this lane has come so far.
        self.b.label(&pause);
        self.keep_own(k, &outputs, lane);
        self.jump(&give_up);

        self.b.label(&give_up);
        self.back_to_vectors(k, &outputs);
        self.set_variable("given_up", Value::int(32, 1));
        let (act, lanes) = (self.act, self.load_variable(&left));
        let through = self.scalar().op("xor", act, lanes);
        self.diverge(Edge::To(k), lanes, l.after, through);

        self.b.label(&done);
        self.back_to_vectors(k, &outputs);
        let [whole, some] = [(); 2].map(|()| self.label());
        let all = self.scalar().icmp("eq", act, ALL);
        self.branch(all, &whole, &some);
        self.b.label(&some);
        self.go(l.after, act);
        self.b.label(&whole);
        (self.full, self.act) = (true, ALL);
        self.go(l.after, ALL);
        Ok(())
    }

    /// Stores all lanes' values, where a lane finds its own; returns the registers that have one value for each lane.
    fn share_out<'r>(&mut self, l: Serial, all: impl Iterator<Item = &'r u32>) -> Vec<u32> {
        let k = l.region;
        let mut own = Vec::new();
        for r in all {
            let (bits, v) = (self.bits_of(*r), self.raw(*r));
            if let Some(v) = v.uniform() {
                self.set_one_lane(*r, v);
                continue;
            }
            own.push(*r);
            self.b.variable(&format!("%a{k}x{r} = alloca <32 x i{bits}>"));
            let v = self.lanes(&v, bits);
            let v = self.vector().typed(v);
            self.b.line(&format!("store {v}, ptr %a{k}x{r}"));
        }
        own
    }

    /// A round of one lane: registers have one value each. Returns whether the lane stays in the loop.
    fn one_round(&mut self, l: Serial, give_up: &str) -> Result<Value, Refused> {
        let (f, region) = (self.f, &self.plan.regions[l.region]);
        let usual = (std::mem::replace(&mut self.plan, self.one_lane), self.act);
        (self.full, self.act) = (true, ALL);
        self.one_round = Some(give_up.to_owned());
        self.groups = Groups::of_region(self.f, self.plan, l.region);
        self.wides = Wides::default();
        let stays = (region.start..region.end)
            .try_for_each(|at| {
                self.at = at;
                for (_, group) in self.groups.before(at) {
                    let holds = self.group_in_range(&group);
                    self.leave_unless(holds);
                }
                self.instruction(&f.code[at])
            })
            .map(|()| {
                self.read_guard(Some(l.stays));
                self.guard.take().and_then(|v| v.uniform())
            });
        (self.plan, self.act) = usual;
        (self.full, self.one_round) = (false, None);
        stays?.ok_or("a predicate that varies")
    }

    /// In a round of one lane: refuses what a helper does, as helpers take warps.
    pub(super) fn without_helpers(&self) -> Result<(), Refused> {
        if self.one_round.is_some() { Err("an operation that takes a warp") } else { Ok(()) }
    }

    fn set_one_lane(&mut self, r: u32, v: Value) {
        let v = self.scalar().typed(v);
        self.b.line(&format!("store {v}, ptr {}", one_lane(r)));
    }

    /// Where a lane's value of a register is.
    fn own_place(&mut self, k: usize, r: u32, lane: Value) -> String {
        let (bits, lane) = (self.bits_of(r), self.scalar().typed(lane));
        line(&mut self.b, &format!("getelementptr i{bits}, ptr %a{k}x{r}, {lane}"))
    }

    /// Keeps a lane's values.
    fn keep_own(&mut self, k: usize, outputs: &BTreeSet<u32>, lane: Value) {
        for r in outputs {
            let (bits, p) = (self.bits_of(*r), self.own_place(k, *r, lane));
            let v = self
                .scalar()
                .result(Type::Int(bits), &format!("load i{bits}, ptr {}", one_lane(*r)));
            let v = self.scalar().typed(v);
            self.b.line(&format!("store {v}, ptr {p}"));
        }
    }

    /// All lanes' values become vectors again.
    fn back_to_vectors(&mut self, k: usize, outputs: &BTreeSet<u32>) {
        for r in outputs {
            let v = self.load_lanes_of(&format!("%a{k}x{r}"), *r);
            self.store_lanes(*r, v);
        }
    }
}
