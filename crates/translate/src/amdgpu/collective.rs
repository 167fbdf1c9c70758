//! Collective operations of a warp: shuffles, votes, matches, reductions.
//!
//! Owns how a warp is a part of a wave: its lanes' bits in a ballot, its lanes' numbers. The participating lanes are
//! those that are active together, as in [`cushim_ptx::exec::participants`]; lanes in a mask do not wait for lanes
//! that diverged elsewhere.

use super::atomic::{float_operation, integer_operation};
use super::function::Emitter;
use crate::llvm::{Type, Value};
use crate::ops;
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{BitOp, Bits, Collective, CollectiveOp, Extreme, FloatOp, Operation};
use cushim_ptx::sem::{Update, Vote, Way};

impl Emitter<'_> {
    /// The active lanes of the warp for which a condition holds.
    pub(super) fn ballot(&mut self, c: Value) -> Value {
        let wave = Type::Int(self.target.wave);
        let all = self.b.intrinsic("llvm.amdgcn.ballot", &[wave], wave, &[c], &[]);
        if self.target.wave == 32 {
            return all;
        }
        let by = self.first_lane();
        let by = self.b.fit(by, 64);
        let own = self.b.op("lshr", all, by);
        self.b.fit(own, 32)
    }

    /// The active lanes.
    pub(super) fn here(&mut self) -> Value {
        self.ballot(Value::int(1, 1))
    }

    /// Another lane's value: 32 bits; 0 for an inactive lane.
    fn of_lane(&mut self, v: Value, lane: Value) -> Value {
        let first = self.first_lane();
        let lane = self.b.op("add", first, lane);
        let place = self.b.with("shl", lane, 2);
        self.b.intrinsic("llvm.amdgcn.ds.bpermute", &[], Type::Int(32), &[place, v], &[])
    }

    pub(super) fn collective(&mut self, inst: &Inst, what: Collective) -> Result<(), Refused> {
        let n = what.op.operands();
        let mut a = Vec::new();
        for src in inst.src.iter().take(n) {
            a.push(self.operand(src)?);
        }
        let given = |k: usize| a.get(k).copied().unwrap_or(Value::int(32, 0));
        let named = if what.sync { inst.src.get(n) } else { None };
        match what.op {
            CollectiveOp::Shuffle(way) => {
                let (d, p) = self.shuffle(way, [given(0), given(1), given(2)]);
                self.give(inst, 0, d);
                self.give(inst, 1, p);
            }
            CollectiveOp::Multiply(_) => {
                return Err(self.refused("a matrix instruction"));
            }
            CollectiveOp::Barrier => {
                self.b.line("fence syncscope(\"wavefront\") acq_rel");
                self.b.declare("declare void @llvm.amdgcn.wave.barrier()");
                self.b.line("call void @llvm.amdgcn.wave.barrier()");
            }
            CollectiveOp::Vote(question) => {
                let here = self.participants(named)?;
                let v = self.vote(question, here, given(0));
                self.give(inst, 0, v);
            }
            CollectiveOp::Match { ty, all } => {
                let here = self.participants(named)?;
                let (d, p) = self.matched(ty.bits(), all, here, given(0));
                self.give(inst, 0, d);
                self.give(inst, 1, p);
            }
            CollectiveOp::Reduce { update, absolute, nan } => {
                let here = self.participants(named)?;
                let v = self.b.fit(given(0), 32);
                let v = if absolute { self.b.with("and", v, 0x7fff_ffff) } else { v };
                let d = self.reduced(update, nan, here, v)?;
                self.give(inst, 0, d);
            }
        }
        Ok(())
    }

    /// The participating lanes: all active ones if they name the same mask, else those in the lane's own mask.
    fn participants(&mut self, named: Option<&Src>) -> Result<Value, Refused> {
        let here = self.here();
        let Some(named) = named.filter(|src| !matches!(src, Src::Imm(_))) else { return Ok(here) };
        let member = self.operand(named)?;
        let member = self.b.fit(member, 32);
        let first = self.b.intrinsic("llvm.cttz", &[here.ty], here.ty, &[here], &["i1 false"]);
        let others = self.of_lane(member, first);
        let differs = self.b.icmp("ne", member, others);
        let differing = self.ballot(differs);
        let same = self.b.icmp_with("eq", differing, 0);
        let some = self.b.op("and", here, member);
        Ok(self.b.select(same, here, some))
    }

    /// ISA, `shfl`: the third operand holds the clamp value in bits 0-4 and the segment mask in bits 8-12.
    fn shuffle(&mut self, way: Way, [a, by, c]: [Value; 3]) -> (Value, Value) {
        let [a, by, c] = [a, by, c].map(|v| self.b.fit(v, 32));
        let lane = self.lane();
        let offset = self.b.with("and", by, 31);
        let clamp = self.b.with("and", c, 31);
        let segment = self.b.with("lshr", c, 8);
        let segment = self.b.with("and", segment, 31);
        let outside = self.b.not(segment);
        let base = self.b.op("and", lane, segment);
        let limit = self.b.op("and", clamp, outside);
        let bound = self.b.op("or", base, limit);
        let from = match way {
            Way::Up => self.b.op("sub", lane, offset),
            Way::Down => self.b.op("add", lane, offset),
            Way::Butterfly => self.b.op("xor", lane, offset),
            Way::Index => {
                let within = self.b.op("and", offset, outside);
                self.b.op("or", base, within)
            }
        };
        let inside = self.b.icmp(if way == Way::Up { "sge" } else { "sle" }, from, bound);
        let from = self.b.select(inside, from, lane);
        let from = self.b.with("and", from, 31);
        (self.of_lane(a, from), inside)
    }

    fn vote(&mut self, question: Vote, here: Value, a: Value) -> Value {
        let a = self.b.icmp_with("ne", a, 0);
        let yes = self.ballot(a);
        let yes = self.b.op("and", yes, here);
        match question {
            Vote::Ballot => yes,
            Vote::Any => self.b.icmp_with("ne", yes, 0),
            Vote::All => self.b.icmp("eq", yes, here),
            Vote::Uniform => {
                let (all, none) = (self.b.icmp("eq", yes, here), self.b.icmp_with("eq", yes, 0));
                self.b.op("or", all, none)
            }
        }
    }

    /// Does something for each lane's number: `body` gets it and a variable of 32 bits that lasts.
    fn for_lanes(
        &mut self,
        first: Value,
        mut body: impl FnMut(&mut Self, Value, Value) -> Result<Value, Refused>,
    ) -> Result<Value, Refused> {
        let n = self.b.number();
        for name in ["s", "i"] {
            self.b.variable(&format!("%{name}{n} = alloca i32, addrspace(5)"));
        }
        let first = self.b.typed(first);
        self.b.line(&format!("store {first}, ptr addrspace(5) %s{n}"));
        self.b.line(&format!("store i32 0, ptr addrspace(5) %i{n}"));
        self.b.line(&format!("br label %each{n}"));
        self.b.label(&format!("each{n}"));
        let word = Type::Int(32);
        let lane = self.b.result(word, &format!("load i32, ptr addrspace(5) %i{n}"));
        let state = self.b.result(word, &format!("load i32, ptr addrspace(5) %s{n}"));
        let state = body(self, lane, state)?;
        let state = self.b.typed(state);
        self.b.line(&format!("store {state}, ptr addrspace(5) %s{n}"));
        let next = self.b.with("add", lane, 1);
        let text = self.b.typed(next);
        self.b.line(&format!("store {text}, ptr addrspace(5) %i{n}"));
        let more = self.b.icmp_with("ult", next, 32);
        let more = self.b.typed(more);
        self.b.line(&format!("br {more}, label %each{n}, label %done{n}"));
        self.b.label(&format!("done{n}"));
        Ok(self.b.result(word, &format!("load i32, ptr addrspace(5) %s{n}")))
    }

    fn is_here(&mut self, here: Value, lane: Value) -> Value {
        let bit = self.b.op("lshr", here, lane);
        self.b.fit(bit, 1)
    }

    fn matched(&mut self, bits: u32, all: bool, here: Value, a: Value) -> (Value, Value) {
        let a = self.b.fit(a, bits);
        let whole = self.for_lanes(Value::int(32, 0), |e, lane, state| {
            let mut same = e.is_here(here, lane);
            for part in 0..bits / 32 {
                let own = e.b.with("lshr", a, (32 * part).into());
                let own = e.b.fit(own, 32);
                let other = e.of_lane(own, lane);
                let equal = e.b.icmp("eq", own, other);
                same = e.b.op("and", same, equal);
            }
            let bit = e.b.fit(same, 32);
            let bit = e.b.op("shl", bit, lane);
            Ok(e.b.op("or", state, bit))
        });
        let equal = whole.unwrap_or(Value::int(32, 0));
        let same = self.b.icmp("eq", equal, here);
        match all {
            false => (equal, Value::int(1, 0)),
            true => (self.b.select(same, equal, Value::int(32, 0)), same),
        }
    }

    fn reduced(
        &mut self,
        update: Update,
        nan: bool,
        here: Value,
        a: Value,
    ) -> Result<Value, Refused> {
        let operation = reduction(update, nan);
        let operation = operation.ok_or_else(|| self.refused("a reduction"))?;
        let ty = here.ty;
        let first = self.b.intrinsic("llvm.cttz", &[ty], ty, &[here], &["i1 false"]);
        let start = self.of_lane(a, first);
        self.for_lanes(start, |e, lane, state| {
            let other = e.of_lane(a, lane);
            let out = ops::eval(&mut e.b, &operation, 32, &[state, other]);
            let out = out.map_err(|what| e.refused(what))?;
            let counted = e.is_here(here, lane);
            let later = e.b.icmp("ugt", lane, first);
            let counted = e.b.op("and", counted, later);
            let new = e.b.fit(out.0, 32);
            Ok(e.b.select(counted, new, state))
        })
    }
}

/// How two lanes' values combine.
fn reduction(update: Update, nan: bool) -> Option<Operation> {
    let logic = match update {
        Update::And(ty) => Some((BitOp::And, ty)),
        Update::Or(ty) => Some((BitOp::Or, ty)),
        Update::Xor(ty) => Some((BitOp::Xor, ty)),
        _ => None,
    };
    if let Some((op, ty)) = logic {
        return Some(Operation::Bits(Bits { op, ty }));
    }
    let found = integer_operation(update).or_else(|| float_operation(update, false))?;
    Some(match found {
        Operation::Float(mut f) => {
            let how = Extreme { nan, absolute: false, xorsign: false, three: false };
            f.op = match f.op {
                FloatOp::Min(_) => FloatOp::Min(how),
                FloatOp::Max(_) => FloatOp::Max(how),
                other => other,
            };
            Operation::Float(f)
        }
        other => other,
    })
}
