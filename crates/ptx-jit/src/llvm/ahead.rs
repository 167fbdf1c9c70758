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
use std::collections::BTreeMap;

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
            self.rounds_ahead(first, bytes);
        } else if self.plan.steps().is_some() {
            let p = self.offset_by(first, AHEAD);
            self.touch(&p, bytes);
        }
    }

    /// Prefetches [`ROUNDS`] times as far ahead as this round's address is from the last one's. In a warp's first round
    /// the last address is arbitrary: prefetching it does no harm.
    fn rounds_ahead(&mut self, first: &str, bytes: usize) {
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
        let by = b.op("mul", step, Value::int(64, ROUNDS.into()));
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
