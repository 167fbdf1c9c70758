//! Floating-point operations.
//!
//! Owns how many operations an instruction counts as: 2 for a fused multiply-add, 1 for any other that rounds, 0 for
//! selections and changes of sign. Must not know who executes it.

use cushim_ptx::sem::{CollectiveOp, Float, FloatOp, Operation};
use cushim_ptx::types::Scalar;

use super::count::Count;

/// Which counter an instruction adds to, how much for each lane, and how much for the warp.
pub fn of(operation: &Operation) -> Option<(Count, u64, u64)> {
    match operation {
        Operation::Float(float) => Some((counter(float.ty), each(*float), 0)),
        Operation::Collective(what) => match what.op {
            CollectiveOp::Multiply(product) if product.logic.is_none() => {
                let [m, n, k] = [product.shape.m, product.shape.n, product.shape.k].map(u64::from);
                // Four products of a quarter of the warp each.
                let products =
                    if (m, n, k) == (8, 8, 4) && product.a == Scalar::F16 { 4 } else { 1 };
                Some((Count::FlopsMatrix, 0, 2 * m * n * k * products))
            }
            _ => None,
        },
        _ => None,
    }
}

fn counter(ty: Scalar) -> Count {
    match ty {
        Scalar::F64 => Count::FlopsDouble,
        Scalar::F32 => Count::FlopsSingle,
        _ => Count::FlopsHalf,
    }
}

fn each(float: Float) -> u64 {
    let one = match float.op {
        FloatOp::Abs | FloatOp::Neg | FloatOp::Min(_) | FloatOp::Max(_) | FloatOp::Copysign => 0,
        FloatOp::Fma => 2,
        _ => 1,
    };
    if float.packed { 2 * one } else { one }
}
