//! Limits beyond which a kernel is not compiled.
//!
//! Owns the bounds. Must not know how code is generated.

use crate::error::NotCompiled;
use crate::simt::calls::{Activation, Lowered};
use cushim_ptx::sem::Operation;

/// The most bytes of stack that code may use. Quickly compiled code gives each value its own slot: some 0.5 to 1 KiB
/// for an instruction; a launch touches only the slots of what it runs.
pub(crate) const MOST_STACK: usize = 64 << 20;

/// The most regions: choosing among them is a search.
const MOST_REGIONS: usize = 4096;

/// The most operands: an address, a vector of 8, a cache policy. What lanes do collective may have more.
const MOST_OPERANDS: usize = 10;

/// What is not compiled whatever the plan.
pub(crate) fn fits(lowered: &Lowered) -> Result<(), NotCompiled> {
    let f = &lowered.function;
    let kernel = || f.name.clone();
    let (found, limit) = (f.blocks.len(), MOST_REGIONS);
    if found > limit {
        let what = "basic blocks";
        return Err(NotCompiled::TooLarge { kernel: kernel(), what, found, limit });
    }
    for (at, inst) in f.code.iter().enumerate() {
        let kept =
            matches!(lowered.activations.get(&at), Some(Activation::Save | Activation::Restore));
        let collective = matches!(inst.sem, Operation::Collective(_));
        let sources = if collective { 0 } else { inst.src.len() };
        let many = inst.dst.len().max(sources) > MOST_OPERANDS && !kept;
        if many {
            return Err(NotCompiled::Instruction {
                kernel: kernel(),
                pos: inst.pos,
                instruction: inst.sem.class().to_string(),
                reason: "so many operands are not compiled",
            });
        }
    }
    Ok(())
}
