//! Prefetching, and loops that stride through memory.
//!
//! Owns which loops those are, and prefetching lines before they are read: processors predict within a page only, and
//! threads of a grid stride further. Warps of such a loop take turns after some rounds, so that a block reads
//! contiguous memory. Must not know how a warp yields.

use super::emitter::Emit;
use crate::simt::plan::Plan;
use crate::simt::plan::region::{Term, writes};
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::{Base, Function, Inst, Src};
use cushim_ptx::sem::{IntegerOp, Operation};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of such a loop in one turn of a warp: the prefetch distance, so that a warp finds in the cache what it
/// prefetched in its last turn.
const ROUNDS: u32 = 8;
/// The prefetch distance without loops, in bytes: two blocks of 256 threads.
const AHEAD: usize = 2048;
/// Processors predict addresses that are at most so many bytes from the last round's.
const PAGE: u64 = 4096;
/// The most warps of a block.
pub(super) const WARPS: u32 = 32;

/// The one-region loops that stride through device memory, and the rounds of a turn: one if they store.
pub(super) fn turns(f: &Function, plan: &Plan) -> BTreeMap<usize, u32> {
    let waits = |n: &usize| {
        plan.regions.iter().any(|r| matches!(r.term, Term::Wait { .. }) && r.next.contains(n))
    };
    let mut found = BTreeMap::new();
    for (k, region) in plan.regions.iter().enumerate() {
        let code = &f.code[region.start..region.end];
        let streams = code.iter().any(|inst| is_row(plan, inst) && !is_near(code, inst));
        if k > 0 && region.next.contains(&k) && streams && !waits(&k) {
            let writes = code.iter().any(|inst| matches!(inst.sem, Operation::Store(_)));
            found.insert(k, if writes { 1 } else { ROUNDS });
        }
    }
    found
}

/// The regions of loops that have barriers: there a block loads a tile, and the next one in the next round.
pub(super) fn tiles(plan: &Plan) -> BTreeSet<usize> {
    let reached: Vec<BTreeSet<usize>> = (0..plan.regions.len())
        .map(|k| {
            let mut found = BTreeSet::new();
            let mut todo = plan.regions[k].next.clone();
            while let Some(n) = todo.pop() {
                if found.insert(n) {
                    todo.extend(&plan.regions[n].next);
                }
            }
            found
        })
        .collect();
    let waits = |n: &usize| matches!(plan.regions[*n].term, Term::Wait { .. });
    let tile = |k: &usize| reached[*k].iter().any(|n| waits(n) && reached[*n].contains(k));
    (0..plan.regions.len()).filter(tile).collect()
}

/// Whether it is an unguarded load of device memory at affine addresses.
fn is_row(plan: &Plan, inst: &Inst) -> bool {
    let Some(Src::Memory(Base::Reg(r, _), _)) = inst.src.first() else { return false };
    let steps =
        matches!(plan.shapes[*r as usize], Shape::Affine { .. } | Shape::ScaledAffine { .. });
    let device = matches!(inst.space(0), Space::Global | Space::Const);
    steps && device && inst.guard.is_none() && matches!(inst.sem, Operation::Load(_))
}

/// Whether one warp alone reads contiguous memory: its address grows by a small constant per round.
fn is_near(code: &[Inst], load: &Inst) -> bool {
    let Some(Src::Memory(Base::Reg(r, _), _)) = load.src.first() else { return false };
    let mut steps = code.iter().filter(|inst| writes(inst).any(|w| w == *r)).peekable();
    let small = |inst: &Inst| match (inst.sem, &inst.src[..]) {
        (Operation::Integer(i), [Src::Reg(from), Src::Imm(by)]) => {
            matches!(i.op, IntegerOp::Add { .. })
                && from == r
                && (*by as i64).unsigned_abs() <= PAGE
        }
        _ => false,
    };
    steps.peek().is_some() && steps.all(small)
}

impl Emit<'_> {
    /// Prefetches for a full warp that reads a row of `bytes` from a pointer on.
    pub(super) fn look_ahead(&mut self, first: &str, bytes: usize) {
        if self.turns.contains_key(&self.region) {
            self.rounds_ahead(first, bytes, ROUNDS);
        } else if self.tiles.contains(&self.region) {
            self.rounds_ahead(first, bytes, 1);
        } else if self.plan.steps().is_some() {
            let p = self.offset_by(first, AHEAD);
            self.touch(&p, bytes);
        }
    }

    /// Prefetches `rounds` times as far ahead as this round's address is from the last one's. In a warp's first round
    /// the last address is arbitrary: prefetching it does no harm.
    fn rounds_ahead(&mut self, first: &str, bytes: usize, rounds: u32) {
        let name = format!("%last{}", self.b.number());
        self.b.variable(&format!("{name} = alloca [{WARPS} x i64]"));
        let number = self.load_variable("number");
        let number = self.scalar().typed(number);
        let last = self.pointer();
        self.b.line(&format!("{last} = getelementptr i64, ptr {name}, {number}"));
        let b = self.scalar();
        let now = b.result(Type::Int(64), &format!("ptrtoint ptr {first} to i64"));
        let before = b.result(Type::Int(64), &format!("load i64, ptr {last}"));
        let kept = b.typed(now);
        b.line(&format!("store {kept}, ptr {last}"));
        let step = b.op("sub", now, before);
        let by = b.op("mul", step, Value::int(64, rounds.into()));
        let by = b.typed(by);
        let p = self.pointer();
        self.b.line(&format!("{p} = getelementptr i8, ptr {first}, {by}"));
        self.touch(&p, bytes);
    }

    fn touch(&mut self, p: &str, bytes: usize) {
        self.b.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        for line in (0..bytes).step_by(64) {
            let p = self.offset_by(p, line);
            self.b.line(&format!("call void @llvm.prefetch.p0(ptr {p}, i32 0, i32 3, i32 1)"));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simt::plan::Layout;

    #[test]
    fn tiles_are_loaded_in_loops_with_barriers() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 from) {
            .reg .u64 p; .reg .u64 q; .reg .f32 v; .reg .u32 i; .reg .u32 t; .reg .pred c; .shared .align 4 .f32 s[256];
            ld.param.u64 p, [from]; mov.u32 t, %tid.x; mul.wide.u32 q, t, 4; add.u64 p, p, q; mov.u32 i, 0;
            ALONE: ld.global.f32 v, [p]; add.u64 p, p, 4096; add.u32 i, i, 1; setp.lt.u32 c, i, 9; @c bra ALONE;
            TILE: ld.global.f32 v, [p]; shl.b32 i, t, 2; st.shared.f32 [i], v; bar.sync 0;
            xor.b32 i, i, 4; ld.shared.f32 v, [i]; st.global.f32 [p], v; bar.sync 0;
            add.u64 p, p, 4096; setp.lt.u64 c, p, 99999; @c bra TILE;
            st.global.f32 [p], v; ret; }";
        let module = cushim_ptx::check(&cushim_ptx::parse(text).unwrap()).unwrap();
        let lowered = crate::simt::calls::lower(&module, 0).unwrap();
        let plan = Plan::new(&lowered.function, Layout::of([256, 1, 1]));
        // The entry, the loop without barriers and the end are none.
        let all = plan.regions.len();
        assert_eq!(tiles(&plan), (2..all - 1).collect());
    }
}
