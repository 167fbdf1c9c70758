//! The points at which lanes reconverge after they left, one by one, a loop in which they wait.
//!
//! After such a loop a lane goes on by itself to the next instruction that all lanes of the warp reach. From there on
//! they are together as in any other function, and need no further handling. The number of points matters, because
//! each makes the code harder for the compiler. Must not know how lanes wait.

use super::counted;
use super::loops::{self, Loop};
use cushim_ptx::ir::{Function, Inst, Src};
use cushim_ptx::sem::{Barrier, Collective, Operation};
use std::collections::BTreeSet;

/// The lanes that reach an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// Nobody in particular.
    Nobody,
    /// Lanes that a mask names, or those for which a predicate is true.
    Some,
    /// All live lanes.
    All,
}

/// The instructions, by their numbers in the function's code: the first after each loop, on each path, up to one that
/// all lanes reach; and barriers that count, which always have to know the exited lanes.
pub(super) fn of(f: &Function, waiting: &[&Loop]) -> BTreeSet<u32> {
    let mut found: BTreeSet<u32> = f
        .code
        .iter()
        .zip(0..)
        .filter(|(inst, _)| counted::counts(inst))
        .map(|(_, number)| number)
        .collect();
    let mut stack: Vec<u32> = waiting.iter().flat_map(|l| l.blocks.iter().copied()).collect();
    let mut seen: BTreeSet<u32> = stack.iter().copied().collect();
    while let Some(n) = stack.pop() {
        let Some(block) = f.blocks.get(n as usize) else { continue };
        let mut together = false;
        for number in block.start..block.end {
            let Some(inst) = f.code.get(number as usize) else { break };
            let comes = comes(inst);
            if comes != Comes::Nobody {
                found.insert(number);
            }
            together = comes == Comes::All;
            if together {
                break;
            }
        }
        if !together {
            let next = loops::successors(f, n).iter().copied();
            stack.extend(next.filter(|to| seen.insert(*to)));
        }
    }
    found
}

fn comes(inst: &Inst) -> Comes {
    let all = match inst.sem {
        Operation::Collective(Collective { op, sync: true }) => {
            matches!(inst.src.get(op.operands()), Some(Src::Imm(mask)) if *mask as u32 == u32::MAX)
        }
        Operation::Barrier(what) => match what {
            Barrier::ClusterArrive | Barrier::ClusterWait => return Comes::Nobody,
            _ => true,
        },
        _ => return Comes::Nobody,
    };
    if all && inst.guard.is_none() { Comes::All } else { Comes::Some }
}
