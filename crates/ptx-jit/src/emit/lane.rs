//! Collective instructions of a warp.

use super::emitter::Emit;
use super::val::Val;
use crate::error::NotCompiled;
use crate::simt::plan::shape::Class;
use crate::warp::{Which, task};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{Collective, CollectiveOp, Operation, Vote};

impl Emit<'_> {
    /// Where all lanes that run are here; else the instruction ends its region.
    pub(super) fn collective(&mut self, inst: &Inst) -> Result<(), NotCompiled> {
        let Operation::Collective(Collective { op, sync }) = inst.sem else {
            return Err(self.unsupported(inst, "it is no collective"));
        };
        if op == CollectiveOp::Barrier {
            return Ok(());
        }
        let mut args = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            let class = self.collective_class(inst, n);
            args.push((self.operand(src, class), class));
        }
        let alone = self.plan.alone[self.region];
        // Lanes with the same member mask count each other, whatever other masks there are.
        let fixed = !sync || args.last().is_some_and(|(members, _)| members.uniform().is_some());
        let uniform = matches!(op, CollectiveOp::Vote(_) | CollectiveOp::Reduce { .. })
            && alone
            && fixed
            && sync;
        if let (CollectiveOp::Vote(question), true, [dst]) = (op, fixed, &inst.dst[..]) {
            let mask = self.guard(inst).unwrap_or(self.act);
            let v = self.vote(question, &args[0].0, mask);
            self.set(inst, *dst, v);
            return Ok(());
        }
        if let Some(sources) = self.known_sources(inst, &args) {
            let mask = self.guard(inst).unwrap_or(self.act);
            self.known_shuffle(inst, &sources, &args[0].0, mask);
            return Ok(());
        }
        self.pass(0, &args, false);
        let results = self.results(inst);
        let narrow = args[..args.len().min(3)].iter().all(|(_, c)| *c == Class::Narrow);
        if let Some(way) = task::shuffle_way(inst)
            && narrow
            && results[0] == Class::Narrow
        {
            let mask = self.guard(inst).unwrap_or(self.act);
            self.call_raw(Which::Shuffle, task::shuffle_mode(way), mask);
            for (n, (dst, class)) in inst.dst.iter().zip(results).enumerate() {
                let v = self.receive(n, class, false);
                self.set(inst, *dst, v);
            }
            return Ok(());
        }
        let operands = args.iter().map(|(_, c)| *c).collect();
        let site = self.site(inst, operands, results.clone());
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(Which::Collective, site, mask);
        for (n, (dst, class)) in inst.dst.iter().zip(results).enumerate() {
            let v = if uniform && n == 0 {
                self.uniform_result(n, class, mask)
            } else {
                self.receive(n, class, false)
            };
            self.set(inst, *dst, v);
        }
        Ok(())
    }

    /// The vote of all lanes in a mask, who are all members: no lane names others.
    fn vote(&mut self, question: Vote, said: &Val, mask: Value) -> Val {
        let bits = self.bits(said);
        let yes = self.b.ins().band(bits, mask);
        let zero = self.i32(0);
        let c = match question {
            Vote::Ballot => return Self::known(yes),
            Vote::All => self.b.ins().icmp(IntCC::Equal, yes, mask),
            Vote::Any => self.b.ins().icmp(IntCC::NotEqual, yes, zero),
            Vote::Uniform => {
                let all = self.b.ins().icmp(IntCC::Equal, yes, mask);
                let none = self.b.ins().icmp(IntCC::Equal, yes, zero);
                self.b.ins().bor(all, none)
            }
        };
        let c = self.b.ins().uextend(types::I32, c);
        Self::known(self.b.ins().ineg(c))
    }

    /// How an operand of a collective is stored in registers.
    pub(super) fn collective_class(&self, inst: &Inst, n: usize) -> Class {
        let Operation::Collective(what) = inst.sem else { return Class::Narrow };
        match (&inst.src[n], what.op, n) {
            (Src::Reg(r) | Src::Not(r), ..) => self.class(*r),
            (_, CollectiveOp::Vote(_), 0) => Class::Predicate,
            (_, CollectiveOp::Barrier, _) => Class::Narrow,
            (_, _, 0) => Class::of(inst.sem.ty()),
            _ => Class::Narrow,
        }
    }

    fn uniform_result(&mut self, n: usize, class: Class, mask: Value) -> Val {
        if class == Class::Predicate {
            let v = self.receive(n, class, false);
            let bits = self.bits(&v);
            let hit = self.b.ins().band(bits, mask);
            let zero = self.i32(0);
            let c = self.b.ins().icmp(IntCC::NotEqual, hit, zero);
            let c = self.b.ins().uextend(types::I32, c);
            return Self::known(self.b.ins().ineg(c));
        }
        self.first_of(n, class, mask)
    }
}
