//! Which layouts of lanes a kernel allows, by what its code does.
//!
//! Owns when two warps may share a wave: where nothing in a kernel depends on one of them going on while the other does not.
//! Must not know how code is made.

use crate::abi::Lanes;
use crate::target::Target;
use cushim_ptx::ir::Module;

/// The layouts that may be used, the better one first.
pub(crate) fn allowed(module: &Module, kernel: u32, target: &Target) -> Vec<Lanes> {
    match target.wave {
        32 => vec![Lanes::Full],
        _ if independent(module, kernel) => vec![Lanes::Full, Lanes::Half],
        _ => vec![Lanes::Half],
    }
}

/// Whether two warps may go on together always: neither waits for anything.
fn independent(module: &Module, kernel: u32) -> bool {
    module.reachable(kernel).iter().all(|n| {
        let Some(f) = module.functions.get(*n as usize) else { return false };
        let waits = |op: &cushim_ptx::sem::Operation| {
            use cushim_ptx::sem::Operation::*;
            match op {
                Barrier(_) | Mbarrier(_) | Sleep => true,
                Load(access) => access.is_shared(),
                _ => false,
            }
        };
        !f.code.iter().any(|inst| waits(&inst.sem))
    })
}

/// Whether a kernel, or what it calls, names dynamic shared memory.
pub(crate) fn names_dynamic_shared(module: &Module, kernel: u32) -> bool {
    module.reachable(kernel).iter().any(|n| {
        let used = module.functions.get(*n as usize).map_or(&[][..], |f| &f.shared_used);
        used.iter().any(|v| module.shared.get(*v as usize).is_some_and(|v| v.dynamic))
    })
}
