//! Registers that a warp must save where it waits: those that may have been written since it last resumed.
//!
//! Owns which those are. The others are still in its frame, where each register has a slot. Must not know how they are
//! saved.

use crate::simt::plan::Plan;
use crate::simt::plan::region::{Term, writes};
use crate::simt::plan::set::Set;
use cushim_ptx::ir::Function;

/// For each region, the registers that may have been written before its end, since the warp began or resumed.
pub(super) fn written(f: &Function, plan: &Plan) -> Vec<Set> {
    let mut all: Vec<Set> = Vec::new();
    for region in &plan.regions {
        let mut own = Set::new();
        let code = f.code.get(region.start..region.end).unwrap_or_default();
        code.iter().flat_map(writes).for_each(|r| own.insert(r as usize));
        all.push(own);
    }
    // A warp begins with zero registers, which are not in its frame yet.
    if let Some(first) = all.first_mut() {
        (0..f.registers.len()).for_each(|r| first.insert(r));
    }
    let mut todo: Vec<usize> = (0..all.len()).rev().collect();
    while let Some(k) = todo.pop() {
        let from = all[k].clone();
        // After divergence, lanes that wait elsewhere may run next.
        let region = &plan.regions[k];
        let on = match region.term {
            Term::Wait { .. } => &[],
            _ => &region.next[..],
        };
        for n in on.iter().copied().chain(plan.waiting[k].iter()) {
            if all[n].unite(&from) {
                todo.push(n);
            }
        }
    }
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simt::plan::Layout;

    #[test]
    fn what_is_not_written_again_is_not_saved_again() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k { .reg .b32 a; .reg .b32 b; .reg .b32 c; .reg .pred p;
            mov.u32 a, %tid.x; mov.u32 b, %tid.y; bar.sync 0; add.u32 a, a, b; bar.sync 0;
            setp.gt.u32 p, a, 5; @p mov.u32 c, 7; bar.sync 0; add.u32 c, c, a; xor.b32 c, c, b; st.shared.b32 [c], c; ret; }";
        let module = cushim_ptx::check(&cushim_ptx::parse(text).unwrap()).unwrap();
        let lowered = crate::simt::calls::lower(&module, 0).unwrap();
        let f = &lowered.function;
        let plan = Plan::new(f, Layout::of([256, 1, 1]));
        let found = written(f, &plan);
        // Registers, as the PTX declares them.
        let [a, b, c] = [0, 1, 2];
        let waits = |k: &usize| matches!(plan.regions[*k].term, Term::Wait { .. });
        let at: Vec<[bool; 3]> =
            (0..found.len()).filter(waits).map(|k| [a, b, c].map(|r| found[k].has(r))).collect();
        assert_eq!(at, [[true; 3], [true, false, false], [false, false, true]]);
    }
}
