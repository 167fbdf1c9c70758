//! Short branches become guards.
//!
//! Owns turning a branch around a load and a few instructions into the same instructions under the opposite guard,
//! and moving constants that come before a barrier but are used after it. A branch ends a region, and values that are
//! live across it are stored to the frame and reloaded: that costs more than a load that some lanes skip. Must not
//! know how a guard becomes code.

use crate::simt::plan::region::{self, Region, writes};
use cushim_ptx::ir::{Dst, Function, Inst, Sense, Src};
use cushim_ptx::sem::{Control, Convert, FloatOp, IntegerOp, Operation};
use cushim_ptx::types::Scalar;
use std::collections::HashMap;

/// The most instructions after such a branch; the most loads; the most others that keep their guard.
const MOST: usize = 8;
const LOADS: usize = 2;
const KEPT: usize = 1;

/// A branch, and where it leads: past the instructions that follow it.
struct Branch {
    at: usize,
    to: usize,
    guard: (u32, Sense),
}

/// Converts all branches of a function for which it is worth it.
pub(super) fn short(f: &mut Function) {
    let found = branches(f);
    if !found.is_empty() {
        let regions = region::cut(f, &|_| false);
        let begun = regions.iter().filter(|r| r.result.is_none()).map(|r| (r.start, r)).collect();
        let found = found.into_iter().filter_map(|b| guarded(f, &b, &begun).map(|with| (b, with)));
        let found = found.collect();
        replace(f, found);
    }
    sink(f);
}

/// Branches over a few instructions that are no jump targets, each of which can have a guard.
fn branches(f: &Function) -> Vec<Branch> {
    let mut wanted = vec![false; f.code.len() + 1];
    for src in f.code.iter().flat_map(|inst| &inst.src) {
        match src {
            Src::Target(t) => wanted[*t as usize] = true,
            Src::Targets(list) => list.iter().for_each(|t| wanted[*t as usize] = true),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (at, inst) in f.code.iter().enumerate() {
        let (Operation::Control(Control::Branch), Some(guard)) = (inst.sem, inst.guard) else {
            continue;
        };
        let Some(Src::Target(to)) = inst.src.first() else { continue };
        let to = *to as usize;
        if to <= at + 1 || to > at + 1 + MOST || wanted[at + 1..to].contains(&true) {
            continue;
        }
        let body = &f.code[at + 1..to];
        let loads = body.iter().filter(|i| is_load(i)).count();
        let fits = |i: &Inst| {
            i.guard.is_none() && (is_load(i) || is_cheap(i.sem)) && writes(i).all(|r| r != guard.0)
        };
        if (1..=LOADS).contains(&loads) && body.iter().all(fits) {
            found.push(Branch { at, to, guard });
        }
    }
    found
}

fn is_load(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Load(_))
}

/// Whether an instruction costs less than the end of a region, so that it may run needlessly: it needs no helper.
fn is_cheap(op: Operation) -> bool {
    match op {
        Operation::Integer(i) => !matches!(i.op, IntegerOp::Div | IntegerOp::Rem),
        Operation::Float(x) => {
            let plain = matches!(x.op, FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma);
            plain && matches!(op.ty(), Scalar::F32 | Scalar::F64)
        }
        Operation::Convert(c) => matches!(c, Convert::Integer { .. }),
        Operation::Bits(_) | Operation::Compare(_) | Operation::Select(_) => true,
        op => op.is_move() || op.is_cvta(),
    }
}

/// The instructions after a branch, with guards on loads and where their results would be visible; `None` if it is
/// better to leave them.
fn guarded(f: &Function, branch: &Branch, begun: &HashMap<usize, &Region>) -> Option<Vec<Inst>> {
    // What lives where the branch leads keeps its value on lanes that go there.
    let next = begun.get(&branch.to)?;
    let lives = |r: u32| next.live_in.has(r as usize);
    let (p, sense) = branch.guard;
    let guard = Some((p, if sense == Sense::True { Sense::False } else { Sense::True }));
    let (mut out, mut kept) = (Vec::new(), 0);
    for inst in &f.code[branch.at + 1..branch.to] {
        // Under a guard, a register's old value would seem to be live, and lanes to have different ones.
        if is_load(inst) && !writes(inst).all(lives) {
            return None;
        }
        if is_load(inst) || writes(inst).any(lives) {
            kept += usize::from(!is_load(inst) && !inst.sem.is_move());
            out.push(Inst { guard, ..inst.clone() });
        } else {
            out.push(inst.clone());
        }
    }
    (kept <= KEPT).then_some(out)
}

/// Replaces branches and the instructions after them.
fn replace(f: &mut Function, found: Vec<(Branch, Vec<Inst>)>) {
    if found.is_empty() {
        return;
    }
    let mut moved = Vec::with_capacity(f.code.len() + 1);
    let mut code = Vec::with_capacity(f.code.len());
    let mut found = found.into_iter().peekable();
    let mut old = std::mem::take(&mut f.code).into_iter().enumerate();
    while let Some((at, inst)) = old.next() {
        moved.push(code.len() as u32);
        match found.next_if(|(branch, _)| branch.at == at) {
            Some((branch, instructions)) => {
                for _ in at + 1..branch.to {
                    moved.push(code.len() as u32);
                    old.next();
                }
                code.extend(instructions);
            }
            None => code.push(inst),
        }
    }
    moved.push(code.len() as u32);
    for src in code.iter_mut().flat_map(|inst| &mut inst.src) {
        match src {
            Src::Target(t) => *t = moved[*t as usize],
            Src::Targets(list) => list.iter_mut().for_each(|t| *t = moved[*t as usize]),
            _ => {}
        }
    }
    f.code = code;
    f.find_blocks();
}

/// The constant that an instruction gives to a register, on every lane.
fn constant(inst: &Inst) -> Option<(u32, u64)> {
    match (inst.sem, &inst.dst[..], &inst.src[..]) {
        (Operation::Move(_), [Dst::Reg(r, _)], [Src::Imm(v)]) if inst.guard.is_none() => {
            Some((*r, *v))
        }
        _ => None,
    }
}

/// Moves constants past barriers, to their uses: else every lane's copy would be kept meanwhile.
fn sink(f: &mut Function) {
    let mut list = Vec::new();
    for b in 0..f.blocks.len() {
        let (start, end) = (f.blocks[b].start as usize, f.blocks[b].end as usize);
        let waits = |inst: &Inst| inst.sem.waits_for_block();
        let Some(last) = f.code[start..end].iter().rposition(waits) else { continue };
        copies(&f.registers, &mut f.code[start..end]);
        // From the last one on, so that those that move do not pass each other.
        for at in (start..start + last).rev() {
            let Some((r, _)) = constant(&f.code[at]) else { continue };
            let mut touches = |inst: &Inst| {
                region::reads(inst, &mut list);
                list.contains(&r)
                    || writes(inst).any(|w| w == r)
                    || matches!(inst.sem, Operation::Control(c) if c.ends_block())
            };
            let to = f.code[at + 1..end].iter().position(&mut touches).map_or(end, |n| at + 1 + n);
            if f.code[at..to].iter().any(waits) {
                f.code[at..to].rotate_left(1);
            }
        }
    }
}

/// In a block, copies of constants are constants.
fn copies(registers: &[Scalar], code: &mut [Inst]) {
    let mut known: HashMap<u32, u64> = HashMap::new();
    for inst in code {
        if let (Operation::Move(ty), [Src::Reg(r)]) = (inst.sem, &inst.src[..])
            && let Some(v) = known.get(r)
            && registers[*r as usize].bits() == ty.bits()
        {
            inst.src[0] = Src::Imm(*v);
        }
        writes(inst).for_each(|r| {
            known.remove(&r);
        });
        known.extend(constant(inst));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What each instruction of a kernel is once it is lowered, with a mark where it has a guard.
    fn lowered(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a) {{ .reg .b32 r<9>; .reg .b64 d<9>; .reg .pred p; .reg .pred q;\nld.param.u64 d0, [a]; mov.u32 r0, %tid.x; setp.lt.u32 p, r0, 5;\n{body}\nret; }}"
        );
        let module = cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap();
        let code = super::super::lower(&module, 0).unwrap().function.code;
        let guard = |inst: &Inst| match inst.guard {
            Some((_, Sense::True)) => "@",
            Some((_, Sense::False)) => "@!",
            None => "",
        };
        code.iter().skip(3).map(|inst| format!("{}{}", guard(inst), inst.sem.class())).collect()
    }

    fn has_branch(body: &str) -> bool {
        lowered(body).iter().any(|i| i.starts_with('@') && i.contains("control flow"))
    }

    #[test]
    fn a_branch_round_a_load_becomes_guards() {
        let load = "mov.u32 r1, 0; @p bra L; add.s64 d1, d0, 8; ld.global.u32 r1, [d1]; L: st.global.u32 [d0], r1;";
        let all = lowered(load);
        assert!(all[1..3].iter().map(|i| i.starts_with('@')).eq([false, true]), "{all:?}");
        assert!(all[2].starts_with("@!"), "{all:?}");
        assert!(!has_branch(load));
        assert!(!has_branch(&load.replace("@p", "@!p")));
    }

    #[test]
    fn other_branches_stay() {
        // No load; the loaded value is not used later; a store; the guard is written; others jump in between; a loop.
        for body in [
            "@p bra L; add.s32 r1, r1, 1; L: st.global.u32 [d0], r1;",
            "@p bra L; ld.global.u32 r1, [d0]; add.s32 r2, r1, 1; L: st.global.u32 [d0], r2;",
            "@p bra L; ld.global.u32 r1, [d0]; st.global.u32 [d0+4], r1; L: st.global.u32 [d0], r1;",
            "@p bra L; ld.global.u32 r1, [d0]; setp.lt.u32 p, r1, 9; L: @p st.global.u32 [d0], r1;",
            "@q bra M; @p bra L; add.s32 r1, r1, 1; M: ld.global.u32 r1, [d0]; L: st.global.u32 [d0], r1;",
            "L: ld.global.u32 r1, [d0]; @p bra L; st.global.u32 [d0], r1;",
            "@p bra L; ld.global.u32 r1, [d0]; div.s32 r1, r1, 3; L: st.global.u32 [d0], r1;",
        ] {
            assert!(has_branch(body), "{body}: {:?}", lowered(body));
        }
    }

    #[test]
    fn labels_behind_lead_where_they_did() {
        let body = "mov.u32 r1, 0; N: @p bra L; ld.global.u32 r1, [d0]; L: add.s32 r2, r2, r1; setp.lt.u32 q, r2, 9; @q bra N; st.global.u32 [d0], r2;";
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a) {{ .reg .b32 r<9>; .reg .b64 d0; .reg .pred p; .reg .pred q;\nld.param.u64 d0, [a];\n{body}\nret; }}"
        );
        let module = cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap();
        let f = super::super::lower(&module, 0).unwrap().function;
        let targets: Vec<u32> = f
            .code
            .iter()
            .flat_map(|i| &i.src)
            .filter_map(|s| match s {
                Src::Target(t) => Some(*t),
                _ => None,
            })
            .collect();
        let [to] = targets[..] else { panic!("{targets:?}") };
        assert!(is_load(&f.code[to as usize]), "{:?}", f.code);
    }

    #[test]
    fn constants_go_behind_barriers() {
        let kinds = |body| {
            let all = lowered(body);
            let at = |what: &str| all.iter().position(|i| i.contains(what));
            at("barrier").unwrap() < at("move").unwrap()
        };
        assert!(kinds("mov.u32 r1, 7; bar.sync 0; st.global.u32 [d0], r1;"));
        // It is read before, and by a copy after.
        assert!(!kinds("mov.u32 r1, 7; st.global.u32 [d0], r1; bar.sync 0; add.s32 r1, r1, 1;"));
        assert!(kinds("mov.u32 r1, 0; bar.sync 0; mov.u32 r2, r1; st.global.u32 [d0], r2;"));
        // In another block.
        assert!(!kinds("mov.u32 r1, 7; @q bra L; bar.sync 0; L: st.global.u32 [d0], r1;"));
    }
}
