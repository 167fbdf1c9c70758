//! The lane layouts that a kernel allows, by its code.
//!
//! Owns when two warps may share a wave: if neither of them ever waits for something while the other goes on. That
//! holds if no lane spins on memory, and all threads of a block, or none, reach each barrier. If this cannot be
//! shown, the kernel counts as not allowing it. Must not know how code is generated.

pub(crate) mod counted;
mod loops;
mod places;
mod uniform;
pub(crate) mod waits;

use crate::abi::Lanes;
use crate::target::Target;
use cushim_ptx::ir::{Function, Inst, Module};
use cushim_ptx::sem::{Control, Operation};

/// The layouts that may be used, the better one first.
pub(crate) fn allowed(module: &Module, kernel: u32, target: &Target) -> Vec<Lanes> {
    match target.wave {
        32 => vec![Lanes::Full],
        _ if independent(module, kernel) => vec![Lanes::Full, Lanes::Half],
        _ => vec![Lanes::Half],
    }
}

/// The largest functions that are analysed, in blocks: for loops, and for the positions of barriers.
const MOST_BLOCKS: [usize; 2] = [2000, 300];

/// Whether two warps can always progress together.
fn independent(module: &Module, kernel: u32) -> bool {
    module.reachable(kernel).iter().all(|n| {
        let Some(f) = module.functions.get(*n as usize) else { return false };
        if f.blocks.len() > MOST_BLOCKS[0] {
            return false;
        }
        let barrier = |inst: &Inst| matches!(inst.sem, Operation::Barrier(_));
        // A warp waits for others, which may share its wave.
        if f.code.iter().any(counted::counts) {
            return false;
        }
        // What a function is called under is not known here.
        let met = match f.code.iter().any(barrier) {
            true => *n == kernel && f.blocks.len() <= MOST_BLOCKS[1] && uniform::barriers(f),
            false => true,
        };
        met && !spins(f)
    })
}

/// Whether lanes may wait for what others write: by a loop through memory that others see, or by objects made for it.
fn spins(f: &Function) -> bool {
    let repeats = |inst: &Inst| matches!(inst.sem, Operation::Control(Control::Call));
    let called = !f.entry;
    f.blocks.iter().enumerate().any(|(n, block)| {
        let code = f.code.get(block.start as usize..block.end as usize).unwrap_or_default();
        // What a loop calls is in it: of a function it is not known.
        code.iter().any(waits::looks) && (called || uniform::reaches(f, n as u32, n as u32))
            || code.iter().any(repeats) && code.iter().any(waits::looks)
    })
}

/// Whether a kernel, or a function that it calls, names dynamic shared memory.
pub(crate) fn names_dynamic_shared(module: &Module, kernel: u32) -> bool {
    module.reachable(kernel).iter().any(|n| {
        let used = module.functions.get(*n as usize).map_or(&[][..], |f| &f.shared_used);
        used.iter().any(|v| module.shared.get(*v as usize).is_some_and(|v| v.dynamic))
    })
}
