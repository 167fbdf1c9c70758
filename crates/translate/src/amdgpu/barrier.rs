//! Barriers of a block.
//!
//! Owns that all of a block's threads wait at the hardware's one barrier, and that barriers that count threads, or at
//! which some only arrive, are words in shared memory (`library/barrier.ll`). In a kernel, warps arrive whole
//! (`step.rs`). In a function, the lanes of a warp that arrive together are counted, and its first lane also counts
//! the lanes that a partial last warp lacks.

use super::function::Emitter;
use crate::layout::counted;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{Barrier, Reduction};

/// The word in shared memory through which warps add up.
pub(super) const SUM: &str = "@cushim.sum";

impl Emitter<'_> {
    /// Whether a barrier's number is, or may be, one that counts threads.
    fn is_counted(&self, inst: &Inst) -> bool {
        let Some(numbers) = counted::numbers(self.module) else { return true };
        match inst.src.first() {
            Some(Src::Imm(n)) => numbers.contains(n),
            _ => !numbers.is_empty(),
        }
    }

    pub(super) fn barrier(&mut self, inst: &Inst, what: Barrier) -> Result<(), Refused> {
        let p = match what {
            Barrier::ClusterArrive | Barrier::ClusterWait => {
                return Err(self.refused("a barrier of a cluster"));
            }
            Barrier::Warpgroup => return Err(self.refused("a product of four warps")),
            Barrier::Sync | Barrier::Arrive => Value::int(1, 0),
            Barrier::Reduce(how) => {
                let Some(src) = inst.src.get(2) else {
                    return Err(self.refused("a reduction without a predicate"));
                };
                let p = self.operand(src)?;
                let p = self.b.fit(p, 1);
                // Whether all are true is whether none is false.
                if how == Reduction::And { self.b.not(p) } else { p }
            }
        };
        let sum = match (self.is_counted(inst), what) {
            (true, _) => self.counted(inst, what, p)?,
            (false, Barrier::Reduce(_)) => self.sum(p),
            (false, _) => {
                self.wait();
                return Ok(());
            }
        };
        if let Barrier::Reduce(how) = what {
            let out = match how {
                Reduction::Count => sum,
                Reduction::Or => self.b.icmp_with("ne", sum, 0),
                Reduction::And => self.b.icmp_with("eq", sum, 0),
            };
            self.give(inst, 0, out);
        }
        Ok(())
    }

    /// Comes to a barrier that counts; how many have a true predicate.
    fn counted(&mut self, inst: &Inst, what: Barrier, p: Value) -> Result<Value, Refused> {
        let number = match inst.src.first() {
            Some(src) => self.operand(src)?,
            None => return Err(self.refused("a barrier without a number")),
        };
        let number = self.b.fit(number, 32);
        let threads = self.threads();
        let (count, all) = match inst.src.get(1) {
            None | Some(Src::None) => {
                let up = self.b.with("add", threads, 31);
                (self.b.with("and", up, !31), true)
            }
            Some(src) => {
                let count = self.operand(src)?;
                (self.b.fit(count, 32), false)
            }
        };
        let all = Value::int(1, all.into());
        let more = match (&self.steps, self.f.entry) {
            // All lanes of the warp have arrived, or have exited, or do not exist in the block.
            (Some(_), true) => Value::int(32, 32),
            _ => self.come_together(threads),
        };
        let yes = self.ballot(p);
        let yes = self.b.same("llvm.ctpop", &[yes]);
        let waits = Value::int(1, (what != Barrier::Arrive).into());
        let given = [number, count, all, more, waits, yes].map(|v| self.b.typed(v)).join(", ");
        Ok(self.b.result(Type::Int(32), &format!("call i32 @cushim.barrier({given}) #1")))
    }

    /// Where a kernel's warp has ended: tells those that wait for all of the block.
    pub(super) fn end_at_barriers(&mut self) {
        if !counted::reached(self.module, self.number) {
            return;
        }
        let threads = self.threads();
        let first = self.b.with("and", self.thread, !31);
        let there = self.b.icmp("ult", first, threads);
        let there = self.b.typed(there);
        self.b.line(&format!("br {there}, label %leave, label %left"));
        self.b.label("leave");
        self.b.line("call void @cushim.barriers.end() #1");
        self.b.line("br label %left");
        self.b.label("left");
    }

    /// How many lanes count that come together, with those of the last warp that the block does not have.
    fn come_together(&mut self, threads: Value) -> Value {
        let first = self.b.with("and", self.thread, !31);
        let there = self.b.op("sub", threads, first);
        let absent = self.b.same("llvm.usub.sat", &[Value::int(32, 32), there]);
        let here = self.here();
        let lowest = self.b.with("and", here, 1);
        let absent = self.b.op("mul", absent, lowest);
        let lanes = self.b.same("llvm.ctpop", &[here]);
        self.b.op("add", lanes, absent)
    }

    /// Waits for all threads of the block, and makes their earlier accesses visible.
    fn wait(&mut self) {
        self.b.declare("declare void @llvm.amdgcn.s.barrier()");
        self.b.line("fence syncscope(\"workgroup\") release");
        self.b.line("call void @llvm.amdgcn.s.barrier()");
        self.b.line("fence syncscope(\"workgroup\") acquire");
    }

    /// How many threads of the block have a true predicate.
    fn sum(&mut self, p: Value) -> Value {
        self.b.declare(&format!("{SUM} = internal addrspace(3) global i32 undef, align 4"));
        // All arriving threads write the same; exited threads do not count.
        self.b.line(&format!(
            "store atomic i32 0, ptr addrspace(3) {SUM} syncscope(\"workgroup\") monotonic, align 4"
        ));
        self.wait();
        let own = self.b.fit(p, 32);
        let own = self.b.typed(own);
        let text = format!(
            "atomicrmw add ptr addrspace(3) {SUM}, {own} syncscope(\"workgroup\") monotonic"
        );
        self.b.result(Type::Int(32), &text);
        self.wait();
        let text = format!(
            "load atomic i32, ptr addrspace(3) {SUM} syncscope(\"workgroup\") monotonic, align 4"
        );
        let sum = self.b.result(Type::Int(32), &text);
        self.wait();
        sum
    }
}
