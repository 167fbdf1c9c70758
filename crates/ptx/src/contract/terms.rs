//! Classifies instructions as products and sums.

use crate::ir::Inst;
use crate::sem::{Clamp, Float, FloatOp};
use crate::types::Scalar;

/// Whether sums of this type are fused by the rules of `.f32` and `.f64`; halves have their own rules.
pub(super) fn is_wide(ty: Scalar) -> bool {
    !matches!(ty, Scalar::F16x2 | Scalar::Bf16x2)
}

/// A product that may become part of a sum.
pub(super) fn is_product(inst: &Inst) -> bool {
    let product = |f: Float| f.op == FloatOp::Mul && f.contract && f.clamp == Clamp::None;
    inst.guard.is_none() && inst.sem.float().is_some_and(product)
}

/// A sum that may take a product in, also a guarded one.
pub(super) fn is_sum(inst: &Inst) -> bool {
    let sum = |f: Float| matches!(f.op, FloatOp::Add | FloatOp::Sub) && f.contract;
    inst.sem.float().is_some_and(sum)
}

/// Whether a sum adds, and does not subtract.
pub(super) fn is_plus(inst: &Inst) -> bool {
    inst.sem.float().is_some_and(|f| f.op == FloatOp::Add)
}

/// Whether subnormal numbers become zeros.
pub(super) fn flushes(inst: &Inst) -> bool {
    inst.sem.float().is_some_and(|f| f.flush)
}
