//! Registers with one value in all warps of a block, whenever all warps are at a barrier together.
//!
//! Owns which those are: they are computed from parameters, values of the block and one another, under no branch at
//! which warps may diverge. Must not know how this is used.

use crate::simt::plan::Plan;
use crate::simt::plan::region::{Edge, Region, Term, writes};
use crate::simt::plan::set::Set;
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::{Base, Function, Inst, Sense, Special, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;

/// The most regions of an analysed kernel: the cost is quadratic.
const MOST: usize = 400;

/// The registers with one value in all warps.
pub(super) fn same(f: &Function, plan: &Plan) -> Set {
    let n = plan.regions.len();
    if n > MOST || !all_end(&plan.regions) {
        return Set::new();
    }
    let postdominators = postdominators(&plan.regions);
    let uniform = |r: &usize| plan.shapes[*r] == Shape::Uniform(());
    let mut same: Set = (0..f.registers.len()).filter(uniform).collect();
    let mut influenced = vec![false; n];
    loop {
        let mut others = Set::new();
        for (k, region) in plan.regions.iter().enumerate() {
            // A warp that exits reaches no further barrier.
            let (guard, ways) = match &region.term {
                Term::Branch { guard, taken: Edge::To(_), other: Edge::To(_) } => {
                    (Some(*guard), &region.next)
                }
                Term::Table { .. } => (None, &region.next),
                _ => continue,
            };
            if !guard.is_some_and(|g| holds_for_all(&same, Some(g))) {
                mark(&plan.regions, |n| n != k && postdominators[k][n], ways, &mut influenced);
            }
        }
        for (region, influenced) in plan.regions.iter().zip(&influenced) {
            for inst in &f.code[region.start..region.end] {
                if *influenced || !is_same(&same, inst) {
                    writes(inst).filter(|r| same.has(*r as usize)).for_each(|r| {
                        others.insert(r as usize);
                    });
                }
            }
            // Results of an instruction at which lanes waited.
            if let Some(inst) = region.result {
                writes(&f.code[inst]).for_each(|r| others.insert(r as usize));
            }
        }
        others = others.iter().filter(|r| same.has(*r)).collect();
        if others.is_empty() {
            return same;
        }
        same.subtract(&others);
    }
}

fn holds_for_all(same: &Set, guard: Option<(u32, Sense)>) -> bool {
    guard.is_none_or(|(r, _)| same.has(r as usize))
}

/// Whether an instruction's results are equal in all warps, if the registers of a set are.
fn is_same(same: &Set, inst: &Inst) -> bool {
    let here = match inst.sem {
        Operation::Load(_) => inst.space(0) == Space::Param,
        op => op.is_pure() || op.is_move() || op.is_cvta(),
    };
    let known = |src: &Src| match src {
        Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => same.has(*r as usize),
        Src::Special(s) => is_of_block(*s),
        Src::Call(_) => false,
        _ => true,
    };
    here && holds_for_all(same, inst.guard) && inst.src.iter().all(known)
}

/// Whether a special register is constant while a block runs.
fn is_of_block(s: Special) -> bool {
    matches!(
        s,
        Special::Ctaid(_)
            | Special::Ntid(_)
            | Special::Nctaid(_)
            | Special::NWarpId
            | Special::DynamicSharedSize
            | Special::TotalSharedSize
    )
}

/// Whether lanes may exit in a region.
fn ends(region: &Region) -> bool {
    region.term.edges().contains(&Edge::Exit)
}

/// Whether an exit is reachable from every region.
fn all_end(regions: &[Region]) -> bool {
    let mut found: Vec<bool> = regions.iter().map(ends).collect();
    let mut again = true;
    while std::mem::take(&mut again) {
        for k in (0..regions.len()).rev() {
            if !found[k] && regions[k].next.iter().any(|s| found[*s]) {
                (found[k], again) = (true, true);
            }
        }
    }
    found.iter().all(|f| *f)
}

/// The post-dominators of each region, itself among them.
fn postdominators(regions: &[Region]) -> Vec<Vec<bool>> {
    let n = regions.len();
    let mut all = vec![vec![true; n]; n];
    let mut again = true;
    while std::mem::take(&mut again) {
        for k in (0..n).rev() {
            let region = &regions[k];
            let on = !ends(region);
            let through = |x: usize| x == k || (on && region.next.iter().all(|s| all[*s][x]));
            let new: Vec<bool> = (0..n).map(through).collect();
            again |= new != all[k];
            all[k] = new;
        }
    }
    all
}

/// Marks the regions after a branch, up to where its paths have met.
fn mark(regions: &[Region], met: impl Fn(usize) -> bool, ways: &[usize], marked: &mut [bool]) {
    let mut seen = vec![false; regions.len()];
    let mut todo = ways.to_vec();
    while let Some(k) = todo.pop() {
        if !met(k) && !std::mem::replace(&mut seen[k], true) {
            marked[k] = true;
            todo.extend(&regions[k].next);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simt::plan::Layout;

    /// Whether registers `a` to `e` of a kernel are the same in all warps.
    fn found(body: &str) -> [bool; 5] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 m[64];\n.entry k (.param .u32 n) {{
            .reg .b32 a; .reg .b32 b; .reg .b32 c; .reg .b32 d; .reg .b32 e; .reg .b32 w; .reg .pred p; .reg .pred q;
            ld.param.u32 a, [n]; mov.u32 w, %tid.y; {body}
            st.shared.b32 [a], b; st.shared.b32 [c], d; st.shared.b32 [e], w; ret; }}"
        );
        let module = cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap();
        let lowered = crate::simt::calls::lower(&module, 0).unwrap();
        let f = &lowered.function;
        let plan = Plan::new(f, Layout::of([32, 8, 1]));
        let found = same(f, &plan);
        std::array::from_fn(|r| found.has(r))
    }

    #[test]
    fn what_only_the_block_decides_is_the_same() {
        let body = "add.u32 b, a, %ctaid.x; mul.lo.u32 c, b, 3; mov.u32 d, w; ld.shared.b32 e, [a]; bar.sync 0;";
        assert_eq!(found(body), [true, true, true, false, false]);
    }

    #[test]
    fn what_a_warp_decides_is_not() {
        let body = "mov.u32 b, 1; mov.u32 c, 1; setp.gt.u32 p, w, 3; @p mov.u32 b, 2; setp.gt.u32 q, a, 3; @q mov.u32 c, 2;
            mov.u32 d, 0; mov.u32 e, 0; @p bra L; mov.u32 d, 5; L: add.u32 e, e, 1; bar.sync 0;";
        assert_eq!(found(body), [true, false, true, false, true]);
    }

    #[test]
    fn rounds_of_a_loop_may_differ() {
        let body = "mov.u32 b, 0; mov.u32 c, 0; mov.u32 d, 0;
            L: add.u32 b, b, 1; setp.lt.u32 p, b, w; @p bra L;
            M: add.u32 c, c, 1; bar.sync 0; setp.lt.u32 q, c, a; @q bra M;
            N: add.u32 d, d, 1; mov.u32 e, d; bar.sync 0; setp.lt.u32 p, d, w; @p ret; setp.lt.u32 q, d, 7; @q bra N;";
        assert_eq!(found(body), [true, false, true, true, true]);
    }
}
