//! The text of a module in which no product is fused with a sum.
//!
//! Owns how PTX text keeps the effect of ptxas's `--fmad=false` and nvJitLink's `-fma=0`: `add`, `sub` and `mul`
//! without a rounding modifier may be fused; with `.rn` they never are, and compute the same (PTX ISA, `add`, `mul`).
//! Must not know: other changes of the text.

use crate::ast::{Instruction, Module, Statement};

/// `text`, of which `module` is the tree, with `.rn` where a compiler might fuse.
pub fn unfused(text: &str, module: &Module<'_>) -> String {
    let mut ends = Vec::new();
    for function in &module.functions {
        gather(text, function.body.as_deref().unwrap_or_default(), &mut ends);
    }
    ends.sort_unstable();
    let mut out = String::with_capacity(text.len() + 3 * ends.len());
    let mut at = 0;
    for end in ends {
        out.push_str(text.get(at..end).unwrap_or_default());
        out.push_str(".rn");
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The ends of the opcodes that get the modifier.
fn gather(text: &str, statements: &[Statement<'_>], ends: &mut Vec<usize>) {
    for statement in statements {
        match statement {
            Statement::Block(inner) => gather(text, inner, ends),
            Statement::Instruction(inst) if may_fuse(inst) => {
                // Every name of the tree is a part of the text.
                let opcode = inst.opcode.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
                ends.push(opcode + inst.opcode.len());
            }
            _ => {}
        }
    }
}

fn may_fuse(inst: &Instruction<'_>) -> bool {
    const TYPES: [&str; 7] = ["f32", "f32x2", "f64", "f16", "f16x2", "bf16", "bf16x2"];
    const ROUNDING: [&str; 4] = ["rn", "rz", "rm", "rp"];
    ["add", "sub", "mul"].contains(&inst.opcode)
        && inst.modifiers.iter().any(|m| TYPES.contains(m))
        && !inst.modifiers.iter().any(|m| ROUNDING.contains(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_of_floats_get_their_rounding() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .f32 %f<3>;\n.reg .b32 %r<3>;\n\
            .reg .pred %p;\n@%p mul.ftz.f32 %f1, %f2, %f2;\n{ add.f32 %f1, %f1, %f2; }\nsub.rz.f32 %f1, %f1, %f2;\n\
            add.s32 %r1, %r1, %r2;\nret;\n}\n";
        let whole = unfused(text, &crate::parse(text).unwrap());
        assert!(whole.contains("@%p mul.rn.ftz.f32 %f1, %f2, %f2;\n{ add.rn.f32 %f1"), "{whole}");
        assert!(whole.contains("\nsub.rz.f32") && whole.contains("\nadd.s32"), "{whole}");
        assert!(crate::check(&crate::parse(&whole).unwrap()).is_ok());
    }
}
