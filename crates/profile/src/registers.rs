//! The register pressure of a kernel.
//!
//! Owns the estimate: the largest number of 32-bit registers that are live at one point of the kernel or of a
//! function that it may call. A GPU's compiler needs some more for addresses and loops, or fewer if it recomputes
//! values; predicates are not counted. Must not know any GPU.

use cushim_ptx::ir::{Arg, Base, Callee, Dst, Function, Inst, Module, Src};

/// The estimate for a kernel.
pub fn estimate(module: &Module, kernel: u32) -> u64 {
    let functions = module.reachable(kernel).into_iter();
    let all = functions.filter_map(|n| module.functions.get(n as usize)).map(most);
    all.max().unwrap_or(0)
}

/// Registers that an instruction reads.
fn reads(inst: &Inst, mut each: impl FnMut(u32)) {
    if let Some((p, _)) = inst.guard {
        each(p);
    }
    for src in &inst.src {
        match src {
            Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => each(*r),
            Src::Call(call) => {
                for arg in &call.args {
                    if let Arg::Reg(r, _) = arg {
                        each(*r);
                    }
                }
                if let Callee::Register(r) = call.callee {
                    each(r);
                }
            }
            _ => {}
        }
    }
}

/// Registers that it writes, with their bits.
fn writes(inst: &Inst, mut each: impl FnMut(u32, u32)) {
    for dst in &inst.dst {
        if let Dst::Reg(r, bits) = dst {
            each(*r, *bits);
        }
    }
    for src in &inst.src {
        let Src::Call(call) = src else { continue };
        for arg in &call.returns {
            if let Arg::Reg(r, bits) = arg {
                each(*r, *bits);
            }
        }
    }
}

/// A set of registers.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn put(&mut self, n: u32, there: bool) {
        if let Some(word) = self.0.get_mut(n as usize / 64) {
            let bit = 1 << (n % 64);
            *word = if there { *word | bit } else { *word & !bit };
        }
    }

    fn join(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(n, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| n * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// The most 32-bit registers of a function that are live at once.
fn most(function: &Function) -> u64 {
    let words = function.registers.len().div_ceil(64);
    // How many registers of 32 bits each is; none for predicates.
    let mut width = vec![0u64; function.registers.len()];
    for inst in &function.code {
        writes(inst, |r, bits| {
            if let Some(width) = width.get_mut(r as usize) {
                *width = if bits == 1 { 0 } else { u64::from(bits.div_ceil(32)) };
            }
        });
    }
    let mut before = vec![Set(vec![0; words]); function.blocks.len()];
    let mut most = 0;
    loop {
        let mut changed = false;
        for (number, block) in function.blocks.iter().enumerate().rev() {
            let mut live = Set(vec![0; words]);
            for next in &block.successors {
                if let Some(set) = before.get(*next as usize) {
                    live.join(set);
                }
            }
            let code = function.code.get(block.start as usize..block.end as usize);
            for inst in code.unwrap_or_default().iter().rev() {
                if inst.guard.is_none() {
                    writes(inst, |r, _| live.put(r, false));
                }
                reads(inst, |r| live.put(r, true));
                let now = live.all().filter_map(|r| width.get(r)).sum();
                most = most.max(now);
            }
            if let Some(known) = before.get_mut(number).filter(|known| **known != live) {
                *known = live;
                changed = true;
            }
        }
        if !changed {
            return most;
        }
    }
}
