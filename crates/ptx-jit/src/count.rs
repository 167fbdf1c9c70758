//! A second emitter: it generates no code and counts instead.
//!
//! Owns the operations that a warp executes in a kernel, by class: their number, and how many of them need only one
//! lane's work because all lanes have the same operands. It uses the same three interfaces as the code generator: the
//! operations of the IR, call lowering and the plan of the warp ([`crate::simt`]); it must not know code, frames, or
//! how anything is run. So it shows what another emitter has to import.

use crate::error::NotCompiled;
use crate::simt::calls;
use crate::simt::plan::region::{Region, Term};
use crate::simt::plan::shape::Shape;
use crate::simt::plan::{Layout, Plan, special};
use cushim_ptx::ir::{Base, Function, Inst, Module, Src};
use cushim_ptx::sem::{Class, Operation};
use cushim_ptx::types::Space;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Operations of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many there are in the code, calls lowered.
    pub all: u32,
    /// How many of them have the same operands in all lanes, for any active lanes.
    pub uniform: u32,
    /// How many are in a loop.
    pub looped: u32,
}

/// What a warp has to do for a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// By class; those that do not occur are not there.
    pub classes: BTreeMap<Class, Count>,
    /// Loads, stores and atomics by the space of their memory, as PTX calls it.
    pub spaces: BTreeMap<&'static str, u32>,
    /// Regions: code within which lanes neither part nor wait.
    pub regions: usize,
    /// Branches that may part the lanes of a warp.
    pub divergent: usize,
    /// Places where lanes wait, for others of the warp or of the block.
    pub waits: usize,
    /// The most operations that a warp executes, however its lanes diverge; `None` if there is a loop.
    pub longest: Option<u64>,
}

/// Counts the operations of a kernel and of the functions it calls, for blocks of a shape (threads in x, y, z).
///
/// # Errors
/// [`NotCompiled::TooLarge`] if calls make too much code.
pub fn count(module: &Module, kernel: u32, block: [u32; 3]) -> Result<Counts, NotCompiled> {
    let lowered = calls::lower(module, kernel)?;
    let f = &lowered.function;
    let plan = Plan::new(f, Layout::of(block));
    let looped = looped(&plan.regions);
    let mut starts: HashMap<usize, u32> = HashMap::new();
    plan.regions.iter().for_each(|region| *starts.entry(region.start).or_default() += 1);
    let mut out = Counts {
        classes: BTreeMap::new(),
        spaces: BTreeMap::new(),
        regions: plan.regions.len(),
        divergent: 0,
        waits: 0,
        longest: plan.steps(),
    };
    for (region, looped) in plan.regions.iter().zip(looped) {
        // The instruction that ends a region follows its others.
        let last = f.code.get(region.end).filter(|_| ends_apart(region, f, &starts));
        let last = last.map(|inst| (region.end, inst));
        let own = (region.start..).zip(&f.code[region.start..region.end]);
        for (at, inst) in own.chain(last) {
            let added = lowered.activations.contains_key(&at);
            let class = if added { Class::Call } else { inst.sem.class() };
            let count = out.classes.entry(class).or_default();
            count.all += 1;
            count.uniform += u32::from(is_uniform(&plan, inst));
            count.looped += u32::from(looped);
            if let Some(space) = memory(&inst.sem) {
                *out.spaces.entry(space).or_default() += 1;
            }
        }
        match &region.term {
            Term::Branch { guard: (p, _), .. } => {
                out.divergent += usize::from(!is_one(&plan.shapes[*p as usize]));
            }
            Term::Table { inst, .. } => {
                out.divergent += usize::from(!is_uniform(&plan, &f.code[*inst]));
            }
            Term::Wait { .. } => out.waits += 1,
            Term::Jump(_) => {}
        }
    }
    Ok(out)
}

/// Whether a separate instruction after the region's others ends it; else that is the next region's first. `starts`:
/// how many regions begin at an instruction.
fn ends_apart(region: &Region, f: &Function, starts: &HashMap<usize, u32>) -> bool {
    let Term::Jump(_) = region.term else { return true };
    let own = u32::from(region.start == region.end);
    let others = starts.get(&region.end).map_or(0, |n| n - own);
    let ends = |inst: &Inst| matches!(inst.sem, Operation::Control(c) if c.ends_block());
    others == 0 && f.code.get(region.end).is_some_and(|inst| inst.guard.is_none() && ends(inst))
}

/// Whether each region is in a loop: it can be reached from itself.
fn looped(regions: &[Region]) -> Vec<bool> {
    // Regions are numbered so that a back edge goes to a lower number: the regions in between are in the loop, or
    // beside it.
    let mut found = vec![false; regions.len()];
    for (k, region) in regions.iter().enumerate() {
        for head in region.next.iter().copied().filter(|next| *next <= k) {
            let mut reached = vec![false; regions.len()];
            let mut stack = vec![head];
            while let Some(at) = stack.pop() {
                if at < head || at > k || std::mem::replace(&mut reached[at], true) {
                    continue;
                }
                stack.extend(&regions[at].next);
            }
            // They must also reach the back edge.
            let mut back = vec![false; regions.len()];
            back[k] = reached[k];
            for at in (head..k).rev() {
                back[at] =
                    reached[at] && regions[at].next.iter().any(|next| *next > at && back[*next]);
            }
            (head..=k).filter(|at| back[*at]).for_each(|at| found[at] = true);
        }
    }
    found
}

fn is_one(shape: &Shape<()>) -> bool {
    matches!(shape, Shape::Uniform(()))
}

/// Whether all lanes have the same operands, the guard included.
fn is_uniform(plan: &Plan, inst: &Inst) -> bool {
    let register = |r: u32| plan.shapes.get(r as usize).is_some_and(is_one);
    let operand = |src: &Src| match src {
        Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => register(*r),
        Src::Special(s) => is_one(&special(*s, plan.layout)),
        _ => true,
    };
    inst.guard.is_none_or(|(p, _)| register(p)) && inst.src.iter().all(operand)
}

/// The space that an operation accesses, if it accesses memory.
fn memory(sem: &Operation) -> Option<&'static str> {
    if !matches!(sem.class(), Class::Load | Class::Store | Class::Atomic) {
        return None;
    }
    Some(match (sem, sem.space(0)) {
        (Operation::Load(a), _) if a.constant => "const",
        (_, Space::Global) => "global",
        (_, Space::Shared) => "shared",
        (_, Space::Local) => "local",
        (_, Space::Param) => "param",
        _ => "generic",
    })
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, n) in &self.classes {
            writeln!(f, "{:>7} {class} ({} uniform, {} in loops)", n.all, n.uniform, n.looped)?;
        }
        let spaces: Vec<String> = self.spaces.iter().map(|(s, n)| format!("{n} {s}")).collect();
        if !spaces.is_empty() {
            writeln!(f, "accesses: {}", spaces.join(", "))?;
        }
        for (n, one, more) in [
            (self.regions, "region", "regions"),
            (self.divergent, "divergent branch", "divergent branches"),
            (self.waits, "wait for other lanes", "waits for other lanes"),
        ] {
            write!(f, "{n} {}, ", if n == 1 { one } else { more })?;
        }
        match self.longest {
            Some(n) => write!(f, "at most {n} operations of a warp"),
            None => f.write_str("loops"),
        }
    }
}
