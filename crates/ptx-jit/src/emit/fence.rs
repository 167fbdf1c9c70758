//! Fences.
//!
//! Must not know: which fences need an instruction ([`cushim_ptx::fence`]).
//!
//! Generated code keeps accesses in the kernel's order: no pass merges equal loads or stores (the generator's
//! optimiser is off), and [`super::schedule`] moves no access past another. So a fence weaker than a full fence needs
//! no code.

use super::emitter::{Emit, OWN};
use crate::warp::INTERFACE;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, types};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::Operation;

impl Emit<'_> {
    /// A full fence is an operation under lock that changes nothing of the warp's own: it takes half the time of
    /// `mfence` (measured: 30 cycles and 60). Lanes that a guard keeps from it lose nothing by it.
    pub(super) fn fence(&mut self, inst: &Inst) {
        let Operation::Fence(fence) = inst.sem else { return };
        if !cushim_ptx::fence::is_total(fence) {
            return;
        }
        let at = self.b.ins().iadd_imm_s(self.warp, INTERFACE.warp.answer as i64);
        let none = self.i32(0);
        self.b.ins().atomic_rmw(types::I32, OWN, AtomicRmwOp::Or, at, none);
    }
}
