//! Loops whose lanes run one after the other, by scalar code: a lane that leaves the loop after few rounds costs no more
//! than those, and a load from an address of its own is one instruction. For processors without AVX-512, whose vectors
//! have no gathers worth the name.
//!
//! Owns which loops those are, and what a round reads and leaves. Must not know their code ([`super::one_lane`]).

use crate::simt::plan::Plan;
use crate::simt::plan::region::{Edge, Term, reads, writes};
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::{Base, Function, Inst, Sense, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::{Scalar, Space};
use std::collections::{BTreeMap, BTreeSet};

/// The most instructions for each load at an address of its own. With half of the lanes active, vectors take less time
/// only beyond about ten; with all, beyond one and a half.
const MOST_WORK: usize = 3;

/// A loop of one region, whose lanes run one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Serial {
    pub(super) region: usize,
    /// The predicate by which a lane stays, and where it goes otherwise.
    pub(super) stays: (u32, Sense),
    pub(super) after: Edge,
}

/// The loops of a kernel whose lanes run one after the other.
pub(super) fn serial(
    f: &Function,
    plan: &Plan,
    turns: &BTreeMap<usize, u32>,
) -> BTreeMap<usize, Serial> {
    let all = (0..plan.regions.len()).filter(|k| !turns.contains_key(k));
    all.filter_map(|k| Some((k, loop_of(plan, k).filter(|l| is_worth_it(f, plan, *l))?))).collect()
}

/// The loop, if a region is one that lanes leave after different numbers of rounds.
fn loop_of(plan: &Plan, region: usize) -> Option<Serial> {
    let Term::Branch { guard: (p, sense), taken, other } = plan.regions[region].term else {
        return None;
    };
    let back = Edge::To(region);
    let (sense, after) = match (taken == back, other == back) {
        (true, false) => (sense, other),
        (false, true) if sense == Sense::True => (Sense::False, taken),
        (false, true) => (Sense::True, taken),
        _ => return None,
    };
    let varies = plan.shapes[p as usize] == Shape::Varying;
    varies.then_some(Serial { region, stays: (p, sense), after })
}

fn is_worth_it(f: &Function, plan: &Plan, l: Serial) -> bool {
    let region = &plan.regions[l.region];
    let code = &f.code[region.start..region.end];
    let simple = |inst: &Inst| {
        let computes = inst.sem.is_pure()
            || matches!(inst.sem, Operation::Move(_) | Operation::Load(_) | Operation::Nothing);
        let varying = writes(inst).all(|r| plan.shapes[r as usize] == Shape::Varying);
        computes && varying && inst.guard.is_none()
    };
    let own = code.iter().filter(|inst| is_load_of_each(plan, inst)).count();
    // A lane's predicate is a bit of a mask: it has no place of its own in memory.
    let no_predicates = inputs(plan, f, l).union(&outputs(f, plan, l)).all(|r| {
        f.registers[*r as usize] != Scalar::Pred || plan.shapes[*r as usize] == Shape::Uniform(())
    });
    region.result.is_none()
        && code.iter().all(simple)
        && no_predicates
        && own > 0
        && code.len() - own <= MOST_WORK * own
}

/// Whether every lane loads from an address of its own.
fn is_load_of_each(plan: &Plan, inst: &Inst) -> bool {
    let Some(Src::Memory(Base::Reg(r, _), _)) = inst.src.first() else { return false };
    let memory = matches!(inst.space(0), Space::Global | Space::Const | Space::Shared);
    let varying = plan.shapes[*r as usize] == Shape::Varying;
    memory && varying && matches!(inst.sem, Operation::Load(_))
}

/// The registers that a round reads from before it.
pub(super) fn inputs(plan: &Plan, f: &Function, l: Serial) -> BTreeSet<u32> {
    let region = &plan.regions[l.region];
    let (mut all, mut of_one) = (BTreeSet::from([l.stays.0]), Vec::new());
    for inst in &f.code[region.start..region.end] {
        reads(inst, &mut of_one);
        all.extend(&of_one);
    }
    all.retain(|r| region.live_in.has(*r as usize));
    all
}

/// The registers whose values outlive a round.
pub(super) fn outputs(f: &Function, plan: &Plan, l: Serial) -> BTreeSet<u32> {
    let region = &plan.regions[l.region];
    let later = |r: usize| match l.after {
        Edge::To(n) => plan.regions[n].live_in.has(r),
        Edge::Exit => false,
    };
    let all = f.code[region.start..region.end].iter().flat_map(writes);
    all.filter(|r| region.live_in.has(*r as usize) || later(*r as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simt::plan::Layout;
    use cushim_ptx::Level;

    /// For each loop that is found, whether the IR has its code.
    fn loops(body: &str) -> Vec<bool> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 to) {{
            .reg .u64 o; .reg .u64 s; .reg .u64 p; .reg .u64 q; .reg .u32 t; .reg .u32 a; .reg .u32 b; .reg .u32 n; .reg .f32 v; .reg .pred c; .reg .pred d;
            mov.u32 t, %tid.x; ld.param.u64 o, [to]; mul.wide.u32 s, t, 4; add.u64 p, o, s; ld.global.u32 a, [p];
            mov.u32 b, 0; mul.wide.u32 q, a, 4; add.u64 q, p, q; {body} st.global.u32 [p], b; ret; }}"
        );
        let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
        let module = module.expect("a module");
        let lowered = crate::simt::calls::lower(&module, 0).expect("a kernel");
        let layout = Layout::of([64, 1, 1]);
        let plan = Plan::new(&lowered.function, layout);
        let found = serial(&lowered.function, &plan, &BTreeMap::new());
        let level = Level::in_use().expect("a level");
        let (ir, ..) = super::super::ir(&module, &lowered, layout, level).expect("code");
        found.keys().map(|k| ir.contains(&format!("\ns{k}:\n"))).collect()
    }

    #[test]
    fn loops_that_load_for_each_lane_are_serial() {
        // With masks, vectors have gathers: no loop has such code.
        let one = |code: bool| vec![code && !crate::llvm::predicate::has_masks()];
        let next = "ld.global.u32 b, [q]; mad.wide.u32 q, b, 4, p;";
        let ends = "setp.ne.u32 c, b, 7; @c bra L;";
        assert_eq!(loops(&format!("L: {next} {ends}")), one(true));
        assert_eq!(loops(&format!("L: {next} setp.eq.u32 c, b, 7; @!c bra L;")), one(true));
        // Found, and given up: a helper takes a warp, and the lane's number is one of 32.
        let helper = "ld.global.u32 b, [q]; add.u64 q, q, 4; ex2.approx.f32 v, v;";
        assert_eq!(loops(&format!("mov.b32 v, a; L: {helper} {ends}")), one(false));
        assert_eq!(loops(&format!("L: {next} add.u32 b, b, %laneid; {ends}")), one(false));
        let none = [
            // All lanes do as many rounds.
            format!("mov.u32 n, 9; L: {next} sub.u32 n, n, 1; setp.ne.u32 c, n, 0; @c bra L;"),
            // A store, a guard, a row, and more work than loads.
            format!("L: {next} st.global.u32 [p], b; {ends}"),
            format!("L: {next} setp.gt.u32 d, b, 99; @d add.u32 b, b, 3; {ends}"),
            format!("L: ld.global.u32 b, [p]; {ends}"),
            format!("L: {next} {} {ends}", "mad.lo.u32 b, b, 3, t;".repeat(3)),
            // A predicate from before the loop, and one that outlives a round.
            format!("setp.gt.u32 d, a, 3; L: {next} selp.u32 b, b, 9, d; {ends}"),
            format!(
                "setp.gt.u32 d, a, 3; L: {next} selp.u32 b, b, 9, d; setp.gt.u32 d, b, 9; {ends}"
            ),
        ];
        for body in none {
            assert_eq!(loops(&body), [], "{body}");
        }
    }
}
