//! Which instructions of a kernel are reached by all threads of a block, or by none.
//!
//! Owns a simple analysis: a register is varying if threads of a block may have different values in it; a block is
//! divergent if a branch on such a value decides which threads reach it. Both sets grow until nothing changes.

use cushim_ptx::ir::{Base, Dst, Function, Inst, Special, Src};
use cushim_ptx::sem::{Barrier, Control, Operation};
use cushim_ptx::types::Space;
use std::collections::BTreeSet;

/// Whether each barrier of a kernel is reached by all threads, or by none.
pub(super) fn barriers(f: &Function) -> bool {
    let mut found = Found { varying: BTreeSet::new(), divided: vec![false; f.blocks.len()] };
    let after = post_dominators(f);
    while found.grow(f, &after) {}
    f.blocks.iter().enumerate().all(|(n, block)| {
        let code = f.code.get(block.start as usize..block.end as usize).unwrap_or_default();
        let divided = found.divided.get(n).copied().unwrap_or(true);
        code.iter().filter(|inst| matches!(inst.sem, Operation::Barrier(_))).all(|inst| {
            let guarded = inst.guard.is_some_and(|(r, _)| found.varying.contains(&r));
            !divided && !guarded
        })
    })
}

struct Found {
    varying: BTreeSet<u32>,
    divided: Vec<bool>,
}

impl Found {
    /// One round; whether something was added.
    fn grow(&mut self, f: &Function, after: &[BTreeSet<u32>]) -> bool {
        let mut grown = false;
        for (n, block) in f.blocks.iter().enumerate() {
            let divided = self.divided.get(n).copied().unwrap_or(true);
            let code = f.code.get(block.start as usize..block.end as usize).unwrap_or_default();
            for inst in code {
                let guarded = inst.guard.is_some_and(|(r, _)| self.varying.contains(&r));
                if divided || guarded || self.gives_varying(inst) {
                    for dst in results(inst) {
                        grown |= self.varying.insert(dst);
                    }
                }
            }
            let Some(last) = code.last() else { continue };
            let parts = match last.sem {
                Operation::Control(Control::BranchTable) => self.reads_varying(last),
                _ => false,
            } || last.guard.is_some_and(|(r, _)| self.varying.contains(&r));
            if parts && ends(last) {
                grown |= self.divide(f, n as u32, after);
            }
        }
        grown
    }

    /// Marks the blocks between a branch that parts threads and where all of them come again.
    fn divide(&mut self, f: &Function, from: u32, after: &[BTreeSet<u32>]) -> bool {
        let none = BTreeSet::new();
        let met = after.get(from as usize).unwrap_or(&none);
        let mut grown = false;
        let start = f.blocks.get(from as usize).map_or(&[][..], |b| &b.successors);
        let (mut seen, mut stack) = (BTreeSet::new(), start.to_vec());
        while let Some(n) = stack.pop() {
            if met.contains(&n) && n != from || !seen.insert(n) {
                continue;
            }
            if let Some(mark) = self.divided.get_mut(n as usize) {
                grown |= !std::mem::replace(mark, true);
            }
            stack.extend(f.blocks.get(n as usize).map_or(&[][..], |b| &b.successors));
        }
        grown
    }

    fn reads_varying(&self, inst: &Inst) -> bool {
        inst.src.iter().any(|src| match src {
            Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => self.varying.contains(r),
            Src::Special(s) => matches!(
                s,
                Special::Tid(_)
                    | Special::LaneId
                    | Special::WarpId
                    | Special::LanemaskEq
                    | Special::LanemaskLe
                    | Special::LanemaskLt
                    | Special::LanemaskGe
                    | Special::LanemaskGt
                    | Special::Clock
                    | Special::ClockHi
                    | Special::Clock64
                    | Special::GlobalTimer
                    | Special::GlobalTimerLo
                    | Special::GlobalTimerHi
            ),
            Src::Call(_) => true,
            _ => false,
        })
    }

    /// Whether an instruction's results may differ between threads.
    fn gives_varying(&self, inst: &Inst) -> bool {
        match inst.sem {
            // Parameters are the same for all; what other memory holds is not known.
            Operation::Load(access) => access.space != Space::Param || self.reads_varying(inst),
            Operation::Barrier(Barrier::Reduce(_)) => false,
            Operation::Atomic(_)
            | Operation::Collective(_)
            | Operation::ActiveMask
            | Operation::Mbarrier(_)
            | Operation::Control(_) => true,
            _ => self.reads_varying(inst),
        }
    }
}

/// Registers that an instruction writes, those of a call's results too.
fn results(inst: &Inst) -> Vec<u32> {
    let own = inst.dst.iter().filter_map(|dst| match dst {
        Dst::Reg(r, _) => Some(*r),
        Dst::Sink => None,
    });
    let mut all: Vec<u32> = own.collect();
    for src in &inst.src {
        if let Src::Call(call) = src {
            all.extend(call.returns.iter().filter_map(|arg| match arg {
                cushim_ptx::ir::Arg::Reg(r, _) => Some(*r),
                _ => None,
            }));
        }
    }
    all
}

fn ends(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Control(c) if c.ends_block())
}

/// The post-dominators of each block, including itself. A block from which no exit is reachable has only itself.
fn post_dominators(f: &Function) -> Vec<BTreeSet<u32>> {
    let n = f.blocks.len();
    let all: BTreeSet<u32> = (0..n as u32).collect();
    let leaves = |k: usize| {
        let block = f.blocks.get(k);
        let last = block.and_then(|b| f.code.get((b.end as usize).wrapping_sub(1)));
        // A guarded exit also continues: it is one exit path.
        let out = |inst: &Inst| {
            use Control::{Exit, Return, Trap};
            matches!(inst.sem, Operation::Control(Exit | Return | Trap))
        };
        last.is_none_or(out)
    };
    let mut sets: Vec<BTreeSet<u32>> =
        (0..n).map(|k| if leaves(k) { BTreeSet::from([k as u32]) } else { all.clone() }).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for k in (0..n).rev().filter(|k| !leaves(*k)) {
            let next = f.blocks.get(k).map_or(&[][..], |b| &b.successors);
            let mut common: Option<BTreeSet<u32>> = None;
            for s in next.iter().filter_map(|s| sets.get(*s as usize)) {
                common = Some(match common {
                    None => s.clone(),
                    Some(before) => before.intersection(s).copied().collect(),
                });
            }
            let mut set = common.unwrap_or_default();
            set.insert(k as u32);
            if let Some(known) = sets.get_mut(k).filter(|known| **known != set) {
                *known = set;
                changed = true;
            }
        }
    }
    // Nothing is known of blocks that never end.
    let mut ends: BTreeSet<usize> = (0..n).filter(|k| leaves(*k)).collect();
    let mut grown = true;
    while grown {
        let before = ends.len();
        for k in (0..n).rev() {
            let next = f.blocks.get(k).map_or(&[][..], |b| &b.successors);
            if next.iter().any(|s| ends.contains(&(*s as usize))) {
                ends.insert(k);
            }
        }
        grown = ends.len() > before;
    }
    for (k, set) in sets.iter_mut().enumerate().filter(|(k, _)| !ends.contains(k)) {
        *set = BTreeSet::from([k as u32]);
    }
    sets
}

/// Whether a way of one step at least leads from a block to another.
pub(super) fn reaches(f: &Function, from: u32, to: u32) -> bool {
    let (mut seen, mut stack) = (BTreeSet::new(), vec![from]);
    while let Some(n) = stack.pop() {
        for s in f.blocks.get(n as usize).map_or(&[][..], |b| &b.successors) {
            if *s == to {
                return true;
            }
            if seen.insert(*s) {
                stack.push(*s);
            }
        }
    }
    false
}
