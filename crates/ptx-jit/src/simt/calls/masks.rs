//! Masks, clamps and distances of collective instructions that are constants in registers, where compilers leave
//! them.
//!
//! Owns which such registers have one certain value. A collective's properties depend on its mask: whether its result
//! is uniform, and whether a shuffle needs a helper. Must not know what collectives do.

use crate::simt::plan::region::{is_collective, writes};
use cushim_ptx::ir::{Dst, Function, Inst, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Scalar;
use std::collections::BTreeMap;

/// What is written to a register.
struct Written {
    /// The constant, where it is always the same.
    value: Option<u64>,
    at: Vec<usize>,
}

/// Replaces registers that hold constants in all operands of collectives but the first.
pub(super) fn constant(f: &mut Function) {
    let mut all: BTreeMap<u32, Option<Written>> = BTreeMap::new();
    for inst in f.code.iter().filter(|inst| is_collective(inst)) {
        let operands = inst.src.iter().skip(1).filter_map(|src| register(f, src));
        all.extend(operands.map(|r| (r, None)));
    }
    if all.is_empty() {
        return;
    }
    for (at, inst) in f.code.iter().enumerate() {
        for r in writes(inst) {
            let Some(known) = all.get_mut(&r) else { continue };
            let value = moved(inst);
            let written = known.get_or_insert(Written { value, at: Vec::new() });
            written.value = written.value.filter(|v| Some(*v) == value);
            written.at.push(at);
        }
    }
    for (register, written) in all {
        if let Some(Written { value: Some(value), at }) = written {
            replace(f, register, value, &at);
        }
    }
}

/// The register of an operand, if it is one of 32 bits.
fn register(f: &Function, src: &Src) -> Option<u32> {
    let Src::Reg(r) = src else { return None };
    let ty = f.registers.get(*r as usize)?;
    (*ty != Scalar::Pred && ty.bits() == 32).then_some(*r)
}

/// The constant that an instruction moves to its one result, on every lane.
fn moved(inst: &Inst) -> Option<u64> {
    match (inst.sem, &inst.src[..], &inst.dst[..]) {
        (Operation::Move(ty), [Src::Imm(v)], [Dst::Reg(..)]) if inst.guard.is_none() => {
            (ty != Scalar::Pred && ty.bits() == 32).then_some(v & 0xffff_ffff)
        }
        _ => None,
    }
}

/// Replaces a register that is always written with this value, where no lane arrives without one of the writes.
fn replace(f: &mut Function, register: u32, value: u64, written: &[usize]) {
    let mut bare = vec![false; f.blocks.len()];
    let mut stack = vec![0];
    while let Some(b) = stack.pop() {
        if std::mem::replace(&mut bare[b], true) {
            continue;
        }
        let block = &f.blocks[b];
        let inside = block.start as usize..block.end as usize;
        if !written.iter().any(|at| inside.contains(at)) {
            stack.extend(block.successors.iter().map(|s| *s as usize));
        }
    }
    for (b, bare) in bare.into_iter().enumerate() {
        let (mut bare, block) = (bare, &f.blocks[b]);
        for at in block.start as usize..block.end as usize {
            let inst = &mut f.code[at];
            if !bare && is_collective(inst) {
                for src in inst.src.iter_mut().skip(1) {
                    if matches!(src, Src::Reg(r) if *r == register) {
                        *src = Src::Imm(value);
                    }
                }
            }
            bare &= !written.contains(&at);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What collectives of a kernel have as their last operand.
    fn masks(body: &str) -> Vec<Option<u64>> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k {{ .reg .b32 r<9>; .reg .pred p; .reg .pred q;\n{body}\nret; }}"
        );
        let module = cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap();
        let lowered = super::super::lower(&module, 0).unwrap();
        let code = lowered.function.code.iter().filter(|inst| is_collective(inst));
        code.map(|inst| match inst.src.last() {
            Some(Src::Imm(v)) => Some(*v),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_register_that_is_always_a_constant_is_one() {
        let all = Some(0xffff_ffff);
        let vote = "vote.sync.ballot.b32 r2, p, r1;";
        assert_eq!(masks(&format!("mov.u32 r1, -1; {vote}")), [all]);
        assert_eq!(masks("vote.sync.ballot.b32 r2, p, -1;"), [all]);
        // In a loop, and written twice.
        let text = format!("mov.u32 r1, -1; L: {vote} mov.u32 r1, -1; @q bra L; {vote}");
        assert_eq!(masks(&text), [all, all]);
        // Another value, a computed one, and no write on one path.
        assert_eq!(masks(&format!("mov.u32 r1, -1; @q mov.u32 r1, 7; {vote}")), [None]);
        assert_eq!(masks(&format!("mov.u32 r1, -1; @q bra L; mov.u32 r1, 7; L: {vote}")), [None]);
        assert_eq!(masks(&format!("add.u32 r1, r1, -1; {vote}")), [None]);
        assert_eq!(masks(&format!("@q bra L; mov.u32 r1, -1; L: {vote}")), [None]);
        assert_eq!(masks(&format!("{vote} mov.u32 r1, -1;")), [None]);
        assert_eq!(masks(&format!("@q mov.u32 r1, -1; {vote}")), [None]);
    }
}
