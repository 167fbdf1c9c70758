//! Accesses of a region whose addresses are one register's value and constants: one check stands before the first of them.
//!
//! Owns which accesses those are, and the bytes that they reach together. Accesses to variables of the module at known places
//! need no check at all. Must not know how a check is made.

use crate::simt::plan::Plan;
use crate::simt::plan::region::writes;
use crate::simt::plan::shape::{Class, Shape};
use cushim_ptx::ir::{Base, Function, Inst, Module, Src, Symbol};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use std::collections::BTreeMap;

/// The most bytes that a group reaches over: less than any arena has.
const MOST_BYTES: i64 = 1 << 15;

/// What some accesses reach.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The instruction that the check stands before.
    pub(super) first: usize,
    pub(super) register: u32,
    pub(super) shared: bool,
    /// Bytes from the register's value, without what lanes add, to the lowest and behind the highest.
    pub(super) low: i64,
    pub(super) high: i64,
    /// What the value has to be a multiple of; so are all constants and steps.
    pub(super) align: i64,
}

/// The groups of a region, and which access belongs to which.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    of: BTreeMap<usize, usize>,
}

impl Groups {
    /// Those of a region. Accesses with a guard have checks of their own, as their addresses may be anything where it fails.
    pub(super) fn of_region(f: &Function, plan: &Plan, region: usize) -> Groups {
        let mut groups = Groups::default();
        // By register and whether it is shared memory, as long as the register is not written.
        let mut open: BTreeMap<(u32, bool), usize> = BTreeMap::new();
        let region = &plan.regions[region];
        for at in region.start..region.end {
            let inst = &f.code[at];
            if let Some(group) = alone(f, plan, at) {
                let key = (group.register, group.shared);
                let all = &mut groups.all;
                let n = *open.entry(key).or_insert_with(|| {
                    all.push(group.clone());
                    all.len() - 1
                });
                let g = &mut all[n];
                let (low, high) = (g.low.min(group.low), g.high.max(group.high));
                let align = g.align.max(group.align);
                // The larger alignment is to hold for what the others add, too.
                if high - low <= MOST_BYTES {
                    (g.low, g.high, g.align) = (low, high, align);
                    groups.of.insert(at, n);
                }
            }
            for w in writes(inst) {
                open.remove(&(w, true));
                open.remove(&(w, false));
            }
        }
        groups
    }

    /// Whether a check that stands before an access is one of its group.
    pub(super) fn has(&self, at: usize) -> bool {
        self.of.contains_key(&at)
    }

    /// Whether an access is none of a group, or the first of its group.
    pub(super) fn is_first(&self, at: usize) -> bool {
        self.of.get(&at).is_none_or(|n| self.all[*n].first == at)
    }

    /// The groups whose check stands before an instruction.
    pub(super) fn before(&self, at: usize) -> Vec<Group> {
        self.all.iter().filter(|g| g.first == at).cloned().collect()
    }
}

/// Bytes of each lane in an access.
pub(super) fn total(inst: &Inst) -> Option<i64> {
    match inst.sem {
        Operation::Load(a) | Operation::Store(a) => Some(a.bytes().into()),
        _ => None,
    }
}

/// What an access reaches, if it may be in a group.
fn alone(f: &Function, plan: &Plan, at: usize) -> Option<Group> {
    let inst = &f.code[at];
    let total = total(inst).filter(|t| t.count_ones() == 1 && *t <= 16)?;
    let Some(Src::Memory(Base::Reg(r, _), offset)) = inst.src.first() else { return None };
    let shared = match inst.space(0) {
        Space::Shared => true,
        Space::Global | Space::Const => false,
        _ => return None,
    };
    if inst.guard.is_some() || offset % total != 0 || offset.abs() > MOST_BYTES {
        return None;
    }
    let (least, most) = match &plan.shapes[*r as usize] {
        Shape::Uniform(()) => (0, 0),
        // A sum of 32 bits may wrap around before it is an address of 64: in shared memory it is none.
        Shape::Affine { steps, .. } if shared || plan.classes[*r as usize] == Class::Wide => {
            reach(total, steps.iter().copied())?
        }
        Shape::ScaledAffine { steps, scale, .. } => {
            reach(total, steps.iter().map(|s| s.checked_mul(*scale).unwrap_or(i64::MAX)))?
        }
        _ => return None,
    };
    let (low, high) = (offset + least, offset + most + total);
    Some(Group { first: at, register: *r, shared, low, high, align: total })
}

/// The least and the largest of what lanes add, if all of it is a multiple of what an access takes, and small.
fn reach(total: i64, steps: impl Iterator<Item = i64> + Clone) -> Option<(i64, i64)> {
    let fine = steps.clone().all(|s| s % total == 0 && s.unsigned_abs() < MOST_BYTES as u64);
    Some((steps.clone().min()?, steps.max()?)).filter(|_| fine)
}

/// Whether an access is one of a variable of the module, inside it and aligned.
pub(super) fn of_variable(module: &Module, inst: &Inst) -> bool {
    let Some(Src::Memory(Base::Symbol(Symbol::Global(n)), offset)) = inst.src.first() else {
        return false;
    };
    let (Some(g), Some(total)) = (module.globals.get(*n as usize), total(inst)) else {
        return false;
    };
    let aligned = total > 0 && offset % total == 0 && i64::from(g.align) % total == 0;
    let end = offset.checked_add(total).and_then(|end| u64::try_from(end).ok());
    aligned && *offset >= 0 && end.is_some_and(|end| end <= g.size)
}
