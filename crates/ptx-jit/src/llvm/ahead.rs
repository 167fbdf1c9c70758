//! Memory that is wanted soon, and loops that stride through it.
//!
//! Owns which loops those are, and asking for lines before they are read: processors guess within a page only, and threads of
//! a grid stride further. Warps of such a loop take turns by some rounds, so that a block reads side by side. Must not know
//! how a warp lets others have their turn.

use super::emitter::Emit;
use crate::simt::plan::Plan;
use crate::simt::plan::region::{Term, writes};
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::{Base, Function, Inst, Src};
use cushim_ptx::sem::{IntegerOp, Operation};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};
use std::collections::BTreeMap;

/// Rounds of such a loop that a warp runs before others have their turn: as many as memory is asked for ahead, so that a
/// warp finds in the cache what it asked for in its last turn.
const ROUNDS: u32 = 8;
/// Without loops: bytes to what warps some blocks from now read beside this one, two blocks of 256 threads.
const AHEAD: usize = 2048;
/// What is no further than this from the last round's place, processors guess themselves.
const PAGE: u64 = 4096;
/// The most warps of a block.
pub(super) const WARPS: u32 = 32;

/// The loops of one region that read memory at addresses of lanes side by side, and rounds of a turn: one where they write.
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

/// Whether it is a load of device memory at addresses that lanes add steps to.
fn is_row(plan: &Plan, inst: &Inst) -> bool {
    let Some(Src::Memory(Base::Reg(r, _), _)) = inst.src.first() else { return false };
    let steps =
        matches!(plan.shapes[*r as usize], Shape::Affine { .. } | Shape::ScaledAffine { .. });
    let device = matches!(inst.space(0), Space::Global | Space::Const);
    steps && device && inst.guard.is_none() && matches!(inst.sem, Operation::Load(_))
}

/// Whether a warp goes through memory side by side itself: its address grows by a small constant from round to round.
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
    /// Asks for what will be read soon, where a whole warp reads a row of `bytes` from a pointer on.
    pub(super) fn look_ahead(&mut self, first: &str, bytes: usize) {
        if self.turns.contains_key(&self.region) {
            self.rounds_ahead(first, bytes);
        } else if self.plan.steps().is_some() {
            let p = self.behind(first, AHEAD);
            self.touch(&p, bytes);
        }
    }

    /// As much further as this round's place is from the last one's, by rounds of a turn. In a warp's first round the last
    /// place is any: asking for that does no harm.
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
            let p = self.behind(p, line);
            self.b.line(&format!("call void @llvm.prefetch.p0(ptr {p}, i32 0, i32 3, i32 1)"));
        }
    }
}
