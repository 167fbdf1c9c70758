//! Computes the facts of a plan as a fixed point, revisiting only what a change affects.
//!
//! Owns the iteration order: regions in rounds by their ranks, and between them instructions whose operands' shapes
//! changed. Every fact only grows (a shape falls to [`Shape::Varying`], a set gains members), so the order affects
//! only the cost, not the result: the least facts that satisfy all rules (`tests.rs` states them independently).
//!
//! The rule for waiting lanes has one set for each region, of later regions, and would propagate a region's set to
//! all its members. Propagating it to the smallest member is enough: from there it goes to the next, and so on. Must
//! not know how an instruction uses its operands.

use super::Facts;
use super::liveness;
use super::readers::{Reader, Readers};
use super::region::{Term, writes};
use super::set::{Rounds, Set};
use super::shape::{Class, Shape};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{Control, Operation};
use cushim_ptx::work;

/// The worklist, and the facts that were computed for it.
struct Work {
    regions: Rounds,
    instructions: Vec<u32>,
    /// For each instruction, whether it is in the worklist.
    queued: Vec<bool>,
    readers: Readers,
    /// For each region: the writers of registers that are live after it, by register, and not blended so far.
    writers: Vec<Vec<(u32, u32)>>,
    /// For each register, the regions at whose start it is live; computed on demand.
    live: Option<Vec<Set>>,
}

impl Facts<'_> {
    /// Lets facts grow until all rules hold.
    pub(super) fn solve(&mut self) {
        let mut work = self.work();
        self.shapes(&mut work);
        while let Some(k) = work.regions.pop() {
            work::step(1);
            if !self.is_alone(k) {
                self.blends(k, &mut work);
                self.shapes(&mut work);
            }
            self.part(k, &mut work);
        }
    }

    fn work(&self) -> Work {
        let mut order = Vec::with_capacity(self.f.code.len());
        let mut writers = Vec::with_capacity(self.regions.len());
        for region in self.regions {
            let mut written = Vec::new();
            for at in region.writers() {
                order.push(at as u32);
                let lives = |r: &u32| region.live_out.has(*r as usize);
                written.extend(writes(&self.f.code[at]).filter(lives).map(|r| (r, at as u32)));
            }
            written.sort_unstable();
            writers.push(written);
        }
        // The last is processed first.
        order.reverse();
        let mut queued = vec![false; self.f.code.len()];
        order.iter().for_each(|at| queued[*at as usize] = true);
        Work {
            regions: Rounds::all(self.regions.len()),
            instructions: order,
            queued,
            readers: Readers::of(self.f, self.regions),
            writers,
            live: None,
        }
    }

    /// Looks at instructions until no shape falls any more.
    fn shapes(&mut self, work: &mut Work) {
        while let Some(at) = work.instructions.pop() {
            work.queued[at as usize] = false;
            let inst = &self.f.code[at as usize];
            work::step(1 + inst.src.len());
            if inst.dst.is_empty() && inst.sem != Operation::Control(Control::Call) {
                continue;
            }
            let Some(k) = work.readers.home(at) else { continue };
            let Some(result) = self.result(inst, k) else { continue };
            for (n, r) in writes(inst).enumerate() {
                let shape = self.written(inst, k, &result, n, r);
                if !self.lower(r, shape) {
                    continue;
                }
                for reader in work.readers.of_register(r) {
                    match reader {
                        Reader::End(region) => work.regions.push(region),
                        Reader::Instruction(i) => {
                            if !std::mem::replace(&mut work.queued[i as usize], true) {
                                work.instructions.push(i);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The shape of the `n`th result of an instruction of a region, in a register.
    fn written(&self, inst: &Inst, k: usize, result: &Shape<()>, n: usize, r: u32) -> Shape<()> {
        let parted = self.blend[k].has(r as usize);
        let guarded = inst.guard.is_some_and(|(p, _)| !self.is_uniform(p));
        match result {
            _ if parted || guarded => Shape::Varying,
            Shape::Uniform(()) => Shape::Uniform(()),
            _ if n > 0 || self.classes[r as usize] == Class::Predicate => Shape::Varying,
            other => other.clone(),
        }
    }

    /// Lanes wait elsewhere while a region runs: its writes to registers that are live there are blended, and what
    /// depends on all lanes being active is processed again.
    fn blends(&mut self, k: usize, work: &mut Work) {
        let (regions, registers) = (self.regions, self.f.registers.len());
        let mut again = Vec::new();
        let live = &mut work.live;
        work.writers[k].retain(|(r, at)| {
            work::step(1);
            let r = *r as usize;
            let mut lives = || {
                let live =
                    &live.get_or_insert_with(|| liveness::by_register(regions, registers))[r];
                live.meets(&self.above[k]) || live.meets(&self.parked)
            };
            let blended = self.fair || self.blend[k].has(r) || lives();
            if blended {
                self.blend[k].insert(r);
                again.push(*at);
            }
            !blended
        });
        if !std::mem::replace(&mut self.left[k], true) {
            let region = &self.regions[k];
            let votes = |at: &usize| super::gives_one(&self.f.code[*at].sem);
            again.extend(region.writers().filter(votes).map(|at| at as u32));
        }
        for at in again {
            if !std::mem::replace(&mut work.queued[at as usize], true) {
                work.instructions.push(at);
            }
        }
    }

    /// Where lanes go from a region, and who waits meanwhile.
    fn part(&mut self, k: usize, work: &mut Work) {
        if self.fair {
            return;
        }
        let region = &self.regions[k];
        // Lanes may wait there for what other lanes of the warp do, at whatever rank.
        if matches!(region.term, Term::Wait { .. }) && !self.is_alone(k) && self.park() {
            (0..self.regions.len()).for_each(|k| work.regions.push(k));
        }
        let waiting = self.above[k].clone();
        let parts = self.parts(&region.term);
        let mut bring = |to: usize, all: &Set| {
            work::step(1);
            if self.above[to].unite_above(all, to) {
                work.regions.push(to);
            }
        };
        let others = [waiting.first(), self.parked.first()].into_iter().flatten().min();
        let mut go = |places: &[usize]| {
            let Some(least) = places.iter().copied().chain(others).min() else { return };
            bring(least, &waiting);
            if places.len() > 1 || places.first().is_some_and(|p| *p != least) {
                bring(least, &places.iter().copied().collect());
            }
        };
        if parts {
            go(&region.next);
        } else {
            region.next.iter().for_each(|s| go(&[*s]));
        }
        // Lanes that waited continue here, too.
        let next = [waiting.above(k), self.parked.above(k)].into_iter().flatten().min();
        next.into_iter().for_each(|next| bring(next, &waiting));
    }

    /// Once lanes wait for each other, they may do so after every such instruction: returns whether that is new.
    fn park(&mut self) -> bool {
        let new = self.parked.is_empty();
        if new {
            let waits = self.regions.iter().filter(|p| matches!(p.term, Term::Wait { .. }));
            let mut all: Vec<usize> = waits.flat_map(|p| p.next.iter().copied()).collect();
            all.sort_unstable();
            self.parked = all.into_iter().collect();
        }
        new && !self.parked.is_empty()
    }

    /// Whether lanes that end a region together may go to several regions.
    pub(super) fn parts(&self, term: &Term) -> bool {
        match term {
            Term::Branch { guard, .. } => !self.is_uniform(guard.0),
            Term::Table { inst, .. } => {
                let i = &self.f.code[*inst];
                let index = i.src.first().and_then(|s| self.operand(s));
                i.guard.is_some_and(|(g, _)| !self.is_uniform(g))
                    || !matches!(index, None | Some(Shape::Uniform(())))
            }
            _ => false,
        }
    }
}
