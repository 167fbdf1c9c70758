//! Functions in which lanes of one warp may wait for each other, so that each needs independent progress.
//!
//! Owns which loops wait: those whose exit depends on memory that others write, and not on a vote of the warp. A
//! compare-and-swap loop that retries with the value that it just read is no such loop: if a lane has to retry,
//! another has made progress. Must not know how lanes progress.

use super::loops::{self, Loop};
use super::{MOST_BLOCKS, counted, places};
use cushim_ptx::ir::{Base, Block, Dst, Function, Inst, Module, Src};
use cushim_ptx::sem::{Collective, CollectiveOp, Control, Operation, Update};
use std::collections::{BTreeMap, BTreeSet};

/// Loops in which lanes wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The first block of a loop, and its blocks.
    loops: BTreeMap<u32, BTreeSet<u32>>,
    /// The points where lanes reconverge, from [`places`].
    places: BTreeSet<u32>,
}

impl Waits {
    /// Whether going from a block to another goes around such a loop.
    pub(crate) fn is_around(&self, from: u32, to: u32) -> bool {
        self.loops.get(&to).is_some_and(|blocks| blocks.contains(&from))
    }

    /// Whether lanes have to come together for the instruction with this number.
    pub(crate) fn is_place(&self, number: u32) -> bool {
        self.places.contains(&number)
    }
}

/// Whether an instruction looks at what other threads write.
pub(super) fn looks(inst: &Inst) -> bool {
    match inst.sem {
        Operation::Mbarrier(_) | Operation::Sleep => true,
        Operation::Load(access) => access.is_shared(),
        Operation::Atomic(_) => inst.dst.iter().any(|dst| matches!(dst, Dst::Reg(..))),
        _ => false,
    }
}

/// Where lanes of a function may wait for others of their warp: `None` where they do not, and the structure that LLVM gives
/// to the graph is enough. A barrier that counts threads has to know which lanes have ended, too.
pub(crate) fn of(module: &Module, number: u32) -> Option<Waits> {
    let f = module.functions.get(number as usize)?;
    if f.blocks.len() > MOST_BLOCKS[0] {
        return None;
    }
    let called = module.reachable(number).into_iter().filter(|n| *n != number);
    let called = called.filter_map(|n| module.functions.get(n as usize));
    let calls_look = called.flat_map(|f| &f.code).any(looks);
    let mut waits = Waits::default();
    let loops = loops::of(f);
    let waiting = loops.iter().filter(|one| Body { f, one, loops: &loops, calls_look }.waits());
    let waiting: Vec<&Loop> = waiting.collect();
    waits.loops.extend(waiting.iter().map(|one| (one.head, one.blocks.clone())));
    waits.places = places::of(f, &waiting);
    let counts = f.entry && counted::count_in(module, number);
    (counts || !waits.loops.is_empty()).then_some(waits)
}

/// A loop of a function.
struct Body<'a> {
    f: &'a Function,
    one: &'a Loop,
    loops: &'a [Loop],
    calls_look: bool,
}

impl<'a> Body<'a> {
    fn block(&self, n: u32) -> Option<&'a Block> {
        self.f.blocks.get(n as usize)
    }

    fn code(&self, n: u32) -> &'a [Inst] {
        let range = self.block(n).map_or(0..0, |b| b.start as usize..b.end as usize);
        self.f.code.get(range).unwrap_or_default()
    }

    fn all(&self) -> impl Iterator<Item = &'a Inst> + '_ {
        self.one.blocks.iter().flat_map(|n| self.code(*n))
    }

    /// Whether memory decides which lanes leave the loop.
    fn waits(&self) -> bool {
        let calls = |inst: &Inst| matches!(inst.sem, Operation::Control(Control::Call));
        let calls = self.calls_look && self.all().any(calls);
        let sees = |inst: &Inst| looks(inst) || calls && matches!(inst.sem, Operation::Load(_));
        if !self.all().any(sees) {
            return false;
        }
        let leave = self.one.blocks.iter().filter(|n| {
            let out = |to: &u32| !self.one.blocks.contains(to);
            let next = loops::successors(self.f, **n);
            let end = self.code(**n).last().is_some_and(|last| {
                use Control::{Exit, Return};
                matches!(last.sem, Operation::Control(Exit | Return))
            });
            end || next.iter().any(out)
        });
        let deciding = leave.filter_map(|n| self.code(*n).last()).flat_map(decided_by);
        self.depends(deciding.collect(), &sees) && !self.tries()
    }

    /// Whether registers have values that come from memory reads in this loop, other than by a vote.
    fn depends(&self, mut on: BTreeSet<u32>, sees: &dyn Fn(&Inst) -> bool) -> bool {
        let mut branches = false;
        loop {
            let before = (on.len(), branches);
            let mut written = BTreeSet::new();
            for inst in self.all() {
                let given: Vec<u32> = results(inst).filter(|r| on.contains(r)).collect();
                if given.is_empty() || votes(inst) {
                    continue;
                }
                if sees(inst) {
                    return true;
                }
                on.extend(inst.src.iter().filter_map(register));
                on.extend(inst.guard.map(|(r, _)| r));
                // Which of two values it is, the way decides by which the lane came.
                branches |= given.into_iter().any(|r| !written.insert(r));
            }
            if branches {
                let last = self.one.blocks.iter().filter_map(|n| self.code(*n).last());
                on.extend(last.flat_map(decided_by));
            }
            if before == (on.len(), branches) {
                return false;
            }
        }
    }

    /// Whether each iteration of this loop, and none within it, tries a compare-and-swap with just the value that was
    /// read.
    fn tries(&self) -> bool {
        let inner = |n: &u32| {
            let within = |l: &Loop| l.blocks.len() < self.one.blocks.len() && l.blocks.contains(n);
            self.loops.iter().any(within)
        };
        let own = self.one.blocks.iter().filter(|n| !inner(n));
        let mut tries = own.flat_map(|n| self.code(*n).iter().map(|inst| (*n, inst)));
        tries.any(|(n, inst)| {
            let expected = inst.src.get(1).and_then(register);
            let seen = |r| exchanges(inst) && inst.guard.is_none() && self.is_as_seen(r);
            expected.is_some_and(seen) && self.is_always_at(n)
        })
    }

    /// Whether a register has the value that was read in this loop, unchanged.
    fn is_as_seen(&self, of: u32) -> bool {
        let (mut stack, mut known) = (vec![of], BTreeSet::from([of]));
        let mut seen = false;
        while let Some(r) = stack.pop() {
            for inst in self.all().filter(|inst| results(inst).any(|to| to == r)) {
                if looks(inst) || matches!(inst.sem, Operation::Load(_)) {
                    seen = true;
                } else if inst.sem.is_move() {
                    stack.extend(inst.src.iter().filter_map(register).filter(|r| known.insert(*r)));
                } else {
                    return false;
                }
            }
        }
        seen
    }

    /// Whether each way around the loop goes through a block.
    fn is_always_at(&self, block: u32) -> bool {
        let (mut stack, mut known) = (vec![self.one.head], BTreeSet::new());
        while let Some(n) = stack.pop().filter(|_| block != self.one.head) {
            for next in loops::successors(self.f, n) {
                if *next == self.one.head {
                    return false;
                }
                if *next != block && self.one.blocks.contains(next) && known.insert(*next) {
                    stack.push(*next);
                }
            }
        }
        true
    }
}

fn exchanges(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Atomic(a) if matches!(a.update, Update::CompareExchange(_)))
}

/// Whether an instruction gives all lanes of a warp one value.
fn votes(inst: &Inst) -> bool {
    let Operation::Collective(Collective { op, .. }) = inst.sem else { return false };
    matches!(op, CollectiveOp::Vote(_) | CollectiveOp::Reduce { .. })
}

/// What decides where a block goes.
fn decided_by(last: &Inst) -> Vec<u32> {
    let index = match last.sem {
        Operation::Control(Control::BranchTable) => last.src.first().and_then(register),
        _ => None,
    };
    index.into_iter().chain(last.guard.map(|(r, _)| r)).collect()
}

fn results(inst: &Inst) -> impl Iterator<Item = u32> + '_ {
    inst.dst.iter().filter_map(|dst| match dst {
        Dst::Reg(r, _) => Some(*r),
        Dst::Sink => None,
    })
}

fn register(src: &Src) -> Option<u32> {
    match src {
        Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => Some(*r),
        _ => None,
    }
}
