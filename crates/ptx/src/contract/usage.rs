//! The registers that instructions read and write, dead instructions, and live registers.

use super::regions::Regions;
use super::ways::Ways;
use crate::ir::{Arg, Base, Callee, Dst, Function, Inst, Place, Src};
use crate::sem::{Control, Operation};

/// Calls `each` with every register that an instruction reads.
pub(super) fn reads(inst: &Inst, mut each: impl FnMut(u32)) {
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

/// Calls `each` with every register that an instruction writes.
pub(super) fn writes(inst: &Inst, mut each: impl FnMut(u32)) {
    for dst in &inst.dst {
        if let Dst::Reg(r, _) = dst {
            each(*r);
        }
    }
    for src in &inst.src {
        if let Src::Call(call) = src {
            for arg in &call.returns {
                if let Arg::Reg(r, _) = arg {
                    each(*r);
                }
            }
        }
    }
}

/// Registers that hold results of the function, which its caller reads.
fn results(f: &Function) -> impl Iterator<Item = u32> + '_ {
    f.returns.iter().filter_map(|p| match p.place {
        Place::Register(r) => Some(r),
        Place::Memory(_) => None,
    })
}

/// For each instruction, whether its result reaches nothing that has an effect. Each read is followed to the writes
/// that reach it.
pub(super) fn dead(f: &Function) -> Vec<bool> {
    let chains = Chains::of(f);
    let mut dead = vec![true; f.code.len()];
    let mut stack = Vec::new();
    for (b, block) in f.blocks.iter().enumerate() {
        let last = f.code[block.end as usize - 1].sem;
        if matches!(last, Operation::Control(Control::Return | Control::Exit)) {
            stack.extend(results(f).map(|r| Read::Exit(r, b as u32)));
        }
    }
    for (n, inst) in f.code.iter().enumerate() {
        if !(inst.sem.is_pure() || inst.sem.is_move() || inst.sem.is_cvta()) {
            dead[n] = false;
            stack.extend(chains.reads(n));
        }
    }
    let mut ways = Ways::of(f, &chains);
    // A guarded write may be the only one that reaches itself.
    let mut written = vec![false; chains.writes.len()];
    loop {
        while let Some(read) = stack.pop() {
            match read {
                // For a register with one write, it is that write.
                Read::Entry(r, _) | Read::Exit(r, _) if chains.ends[r as usize].len() < 2 => {
                    stack.extend(chains.ends[r as usize].iter().map(|(_, w)| Read::Write(*w)));
                }
                Read::Entry(r, b) => ways.enter(r, b),
                Read::Exit(r, b) => ways.leave(r, b),
                Read::Write(w) => {
                    let write = &chains.writes[w as usize];
                    if std::mem::replace(&mut written[w as usize], true) {
                        continue;
                    }
                    if std::mem::replace(&mut dead[write.inst as usize], false) {
                        stack.extend(chains.reads(write.inst as usize));
                    }
                    stack.extend(write.before);
                }
            }
        }
        if !ways.step(&chains, &mut stack) {
            return dead;
        }
    }
}

/// The source of a value: a write, or the register's value at the start or end of a block.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Write(u32),
    Entry(u32, u32),
    Exit(u32, u32),
}

struct Write {
    inst: u32,
    /// Under a guard the value before may stay.
    before: Option<Read>,
}

pub(super) struct Chains {
    writes: Vec<Write>,
    /// What the instructions read, and where the list of each begins.
    reads: Vec<Read>,
    starts: Vec<usize>,
    /// For each register, the blocks that write it, in order, and the last write of each.
    pub(super) ends: Vec<Vec<(u32, u32)>>,
}

impl Chains {
    fn of(f: &Function) -> Chains {
        let mut out = Chains {
            writes: Vec::new(),
            reads: Vec::new(),
            starts: Vec::with_capacity(f.code.len() + 1),
            ends: vec![Vec::new(); f.registers.len()],
        };
        let mut last: Vec<Option<u32>> = vec![None; f.registers.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            let b = b as u32;
            let mut touched = Vec::new();
            for n in block.start..block.end {
                let inst = &f.code[n as usize];
                out.starts.push(out.reads.len());
                let now = |r: u32, last: &[Option<u32>]| {
                    last[r as usize].map_or(Read::Entry(r, b), Read::Write)
                };
                reads(inst, |r| out.reads.push(now(r, &last)));
                writes(inst, |r| {
                    let before = inst.guard.map(|_| now(r, &last));
                    out.writes.push(Write { inst: n, before });
                    last[r as usize] = Some(out.writes.len() as u32 - 1);
                    touched.push(r);
                });
            }
            for r in touched {
                if let Some(write) = last[r as usize].take() {
                    out.ends[r as usize].push((b, write));
                }
            }
        }
        out.starts.push(out.reads.len());
        out
    }

    fn reads(&self, n: usize) -> impl Iterator<Item = Read> + '_ {
        self.reads[self.starts[n]..self.starts[n + 1]].iter().copied()
    }
}

/// Which of the given registers, each with a region, are live at the end of that region.
pub(super) fn live_out(
    f: &Function,
    regions: &Regions,
    dead: &[bool],
    asked: &[(u32, u32)],
) -> Vec<bool> {
    let exposed = exposed(f, regions, dead);
    // Registers that are never read before they are written are live nowhere.
    let mut number = vec![u32::MAX; f.registers.len()];
    let mut count = 0;
    for (_, r) in asked {
        let n = &mut number[*r as usize];
        if exposed[*r as usize] && *n == u32::MAX {
            *n = count;
            count += 1;
        }
    }
    if count == 0 {
        return vec![false; asked.len()];
    }
    let sets = Sets::of(f, regions, dead, &number, count as usize);
    let held =
        |region: u32, n: u32| regions.successors[region as usize].iter().any(|s| sets.has(*s, n));
    asked
        .iter()
        .map(|(region, r)| match number[*r as usize] {
            u32::MAX => false,
            n => held(*region, n),
        })
        .collect()
}

/// Registers that some region reads before it writes them.
fn exposed(f: &Function, regions: &Regions, dead: &[bool]) -> Vec<bool> {
    let mut exposed = vec![false; f.registers.len()];
    results(f).for_each(|r| exposed[r as usize] = true);
    let mut written = vec![u32::MAX; f.registers.len()];
    for (region, code) in regions.code.iter().enumerate() {
        for n in code.iter().filter(|n| !dead[**n as usize]) {
            let inst = &f.code[*n as usize];
            reads(inst, |r| exposed[r as usize] |= written[r as usize] != region as u32);
            if inst.guard.is_none() {
                writes(inst, |r| written[r as usize] = region as u32);
            }
        }
    }
    exposed
}

/// The numbered registers that are live where each region begins, as bits.
struct Sets {
    words: usize,
    live: Vec<u64>,
}

impl Sets {
    fn has(&self, region: u32, n: u32) -> bool {
        self.live[region as usize * self.words + n as usize / 64] >> (n % 64) & 1 != 0
    }

    fn of(f: &Function, regions: &Regions, dead: &[bool], number: &[u32], count: usize) -> Sets {
        let words = count.div_ceil(64);
        let mut sets = Sets { words, live: vec![0; words * regions.code.len()] };
        let mut kept = vec![u64::MAX; words * regions.code.len()];
        for (region, code) in regions.code.iter().enumerate() {
            let at = region * words;
            for n in code.iter().filter(|n| !dead[**n as usize]) {
                let inst = &f.code[*n as usize];
                let place = |r: u32| match number[r as usize] {
                    u32::MAX => None,
                    n => Some((at + n as usize / 64, 1 << (n % 64))),
                };
                reads(inst, |r| {
                    if let Some((word, bit)) = place(r) {
                        sets.live[word] |= bit & kept[word];
                    }
                });
                if inst.guard.is_none() {
                    writes(inst, |r| {
                        if let Some((word, bit)) = place(r) {
                            kept[word] &= !bit;
                        }
                    });
                }
            }
        }
        let mut before = vec![Vec::new(); regions.code.len()];
        for (region, next) in regions.successors.iter().enumerate() {
            next.iter().for_each(|s| before[*s as usize].push(region));
        }
        let mut stack: Vec<usize> = (0..regions.code.len()).collect();
        let mut waits = vec![true; regions.code.len()];
        while let Some(region) = stack.pop() {
            waits[region] = false;
            for p in &before[region] {
                let mut changed = false;
                for k in 0..words {
                    let new = sets.live[region * words + k] & kept[p * words + k];
                    let old = &mut sets.live[p * words + k];
                    changed |= new & !*old != 0;
                    *old |= new;
                }
                if changed && !std::mem::replace(&mut waits[*p], true) {
                    stack.push(*p);
                }
            }
        }
        sets
    }
}
