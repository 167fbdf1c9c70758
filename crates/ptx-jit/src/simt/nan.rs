//! Which registers may hold any NaN.
//!
//! Owns finding them. Every NaN result of single-precision arithmetic is the canonical NaN; making it so costs
//! operations. So a register that only ever receives such results may hold any NaN, and is canonicalised where its
//! bits are observed. Must not know any code generator.

use cushim_ptx::ir::{Dst, Function, Inst, Src};
use cushim_ptx::sem::{Clamp, Convert, FloatOp, Operation};
use cushim_ptx::types::Scalar;

/// The registers whose NaNs are all canonical in the sense of the language,
/// with the type of their numbers.
pub(crate) fn clean(f: &Function) -> Vec<Option<Scalar>> {
    let mut out: Vec<Option<Scalar>> =
        f.registers.iter().map(|t| (*t == Scalar::F32).then_some(*t)).collect();
    for p in &f.params {
        if let cushim_ptx::ir::Place::Register(r) = p.place {
            out[r as usize] = None;
        }
    }
    loop {
        let mut changed = false;
        for inst in &f.code {
            for (n, dst) in inst.dst.iter().enumerate() {
                let Dst::Reg(r, _) = dst else { continue };
                let Some(ty) = out[*r as usize] else { continue };
                if n > 0 || !gives_canonical(inst, ty, &out) {
                    out[*r as usize] = None;
                    changed = true;
                }
            }
        }
        if !changed {
            return out;
        }
    }
}

fn gives_canonical(inst: &Inst, ty: Scalar, clean: &[Option<Scalar>]) -> bool {
    let src = |s: &Src| match s {
        Src::Reg(r) => clean[*r as usize] == Some(ty),
        Src::Imm(v) if ty == Scalar::F32 => !f32::from_bits(*v as u32).is_nan(),
        Src::Imm(v) => !f64::from_bits(*v).is_nan(),
        _ => false,
    };
    match inst.sem {
        Operation::Float(f) => f.op != FloatOp::Copysign && !f.packed && f.ty == ty,
        // Conversions from other formats and moves may keep a NaN's payload.
        Operation::Convert(Convert::FromInteger { to, .. }) => to == ty,
        Operation::Convert(Convert::Float { from, to, mode }) => {
            let computed = mode.whole || mode.flush || mode.clamp == Clamp::Unit;
            to == ty && (from == Scalar::F32 && computed || from == Scalar::F16)
        }
        Operation::Select(_) => inst.src[..2].iter().all(src),
        _ => {
            let one = inst.src.len() == 1 && inst.dst.len() == 1;
            inst.sem.is_move() && one && inst.src.iter().all(src)
        }
    }
}
