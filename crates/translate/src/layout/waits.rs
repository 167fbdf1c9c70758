//! In which functions lanes of one warp may wait for each other, so that each has to go on by itself.
//!
//! Owns the loops that look at what others write, and which edges of the graph take a lane around them. Must not know how
//! lanes go on.

use super::{MOST_BLOCKS, counted};
use cushim_ptx::ir::{Dst, Function, Inst, Module};
use cushim_ptx::sem::{Control, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a function at which lanes are looked after again.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// A block that looks at memory of others, and the blocks that its loops have.
    around: BTreeMap<u32, BTreeSet<u32>>,
}

impl Waits {
    /// Whether going from a block to another goes around such a loop.
    pub(crate) fn is_around(&self, from: u32, to: u32) -> bool {
        self.around.get(&to).is_some_and(|blocks| blocks.contains(&from))
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
    for (n, block) in f.blocks.iter().enumerate() {
        let code = f.code.get(block.start as usize..block.end as usize).unwrap_or_default();
        let calls = |inst: &Inst| matches!(inst.sem, Operation::Control(Control::Call));
        if code.iter().any(|inst| looks(inst) || calls_look && calls(inst)) {
            let blocks = behind(f, n as u32);
            if blocks.contains(&(n as u32)) {
                waits.around.insert(n as u32, blocks);
            }
        }
    }
    let counts = f.entry && counted::count_in(module, number);
    (counts || !waits.around.is_empty()).then_some(waits)
}

/// The blocks that are reached from one.
fn behind(f: &Function, from: u32) -> BTreeSet<u32> {
    let (mut seen, mut stack) = (BTreeSet::new(), vec![from]);
    while let Some(n) = stack.pop() {
        for next in f.blocks.get(n as usize).map_or(&[][..], |b| &b.successors) {
            if seen.insert(*next) {
                stack.push(*next);
            }
        }
    }
    seen
}
