//! Barriers of a block.
//!
//! Owns that all of a block's threads wait at the hardware's one barrier. Barriers that count threads, or at which some only
//! arrive, are refused.

use super::function::Emitter;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{Barrier, Reduction};

/// The word in shared memory through which warps add up.
pub(super) const SUM: &str = "@cushim.sum";

impl Emitter<'_> {
    pub(super) fn barrier(&mut self, inst: &Inst, what: Barrier) -> Result<(), Refused> {
        if !matches!(inst.src.get(1), None | Some(Src::None)) {
            return Err(self.refused("a barrier that counts threads"));
        }
        match what {
            Barrier::Sync => self.wait(),
            Barrier::Arrive => return Err(self.refused("a barrier at which threads do not wait")),
            Barrier::ClusterArrive | Barrier::ClusterWait => {
                return Err(self.refused("a barrier of a cluster"));
            }
            Barrier::Reduce(how) => {
                let Some(src) = inst.src.get(2) else {
                    return Err(self.refused("a reduction without a predicate"));
                };
                let p = self.operand(src)?;
                let p = self.b.fit(p, 1);
                // Whether all are true is whether none is false.
                let counted = if how == Reduction::And { self.b.not(p) } else { p };
                let sum = self.sum(counted);
                let out = match how {
                    Reduction::Count => sum,
                    Reduction::Or => self.b.icmp_with("ne", sum, 0),
                    Reduction::And => self.b.icmp_with("eq", sum, 0),
                };
                self.give(inst, 0, out);
            }
        }
        Ok(())
    }

    /// Waits for all threads of the block, whose accesses before it are seen behind it.
    fn wait(&mut self) {
        self.b.declare("declare void @llvm.amdgcn.s.barrier()");
        self.b.line("fence syncscope(\"workgroup\") release");
        self.b.line("call void @llvm.amdgcn.s.barrier()");
        self.b.line("fence syncscope(\"workgroup\") acquire");
    }

    /// How many threads of the block have a true predicate.
    fn sum(&mut self, p: Value) -> Value {
        self.b.declare(&format!("{SUM} = internal addrspace(3) global i32 undef, align 4"));
        // All that come write the same; who has left the kernel is not asked.
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
