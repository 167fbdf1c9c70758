//! Barriers that count threads, or at which some only arrive.
//!
//! Owns which instructions these are, and which functions contain one. Must not know how they are implemented.

use cushim_ptx::ir::{Inst, Module, Src};
use cushim_ptx::sem::{Barrier, Operation};
use std::collections::BTreeSet;

/// Whether an instruction is a barrier that counts threads.
pub(crate) fn counts(inst: &Inst) -> bool {
    let counted = !matches!(inst.src.get(1), None | Some(Src::None));
    match inst.sem {
        Operation::Barrier(Barrier::Arrive) => true,
        Operation::Barrier(Barrier::Sync | Barrier::Reduce(_)) => counted,
        _ => false,
    }
}

/// Whether barriers of a function count.
pub(crate) fn count_in(module: &Module, function: u32) -> bool {
    module.functions.get(function as usize).is_some_and(|f| f.code.iter().any(counts))
}

/// Whether a kernel, or a function that it may call, has barriers that count.
pub(crate) fn reached(module: &Module, kernel: u32) -> bool {
    module.reachable(kernel).iter().any(|n| count_in(module, *n))
}

/// The numbers of barriers that count threads somewhere; `None` where not all are known.
pub(crate) fn numbers(module: &Module) -> Option<BTreeSet<u64>> {
    let all = module.functions.iter().flat_map(|f| &f.code).filter(|inst| counts(inst));
    all.map(|inst| match inst.src.first() {
        Some(Src::Imm(n)) => Some(*n),
        _ => None,
    })
    .collect()
}
