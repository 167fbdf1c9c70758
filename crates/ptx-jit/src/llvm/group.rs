//! Accesses of a region at constant offsets from one register: one check precedes the first of them.
//!
//! Owns which accesses those are, and the bytes that they cover together. Accesses to variables of the module at known
//! offsets need no check at all. Must not know how a check is made.

use crate::simt::plan::Plan;
use crate::simt::plan::region::writes;
use crate::simt::plan::shape::{Class, Shape};
use cushim_ptx::ir::{Base, Function, Inst, Module, Src, Symbol};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use std::collections::BTreeMap;

/// The most bytes that a group covers: fewer than any arena has.
const MOST_BYTES: i64 = 1 << 15;

/// A group of accesses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The instruction before which the check stands.
    pub(super) first: usize,
    pub(super) register: u32,
    pub(super) shared: bool,
    /// Offsets in bytes from the register's base to the first byte, and past the last.
    pub(super) low: i64,
    pub(super) high: i64,
    /// The alignment that the base must have.
    pub(super) align: i64,
}

/// The groups of a region, and which access belongs to which.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    of: BTreeMap<usize, usize>,
}

impl Groups {
    /// The groups of a region. Guarded accesses have checks of their own, as their addresses are arbitrary where the
    /// guard is false.
    pub(super) fn of_region(f: &Function, plan: &Plan, region: usize) -> Groups {
        let mut groups = Groups::default();
        // By register and whether it is shared memory, until the register is written.
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
                // The largest alignment is required for all accesses.
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

    /// Whether a group's check covers an access.
    pub(super) fn has(&self, at: usize) -> bool {
        self.of.contains_key(&at)
    }

    /// The number of an access's group.
    pub(super) fn number(&self, at: usize) -> Option<usize> {
        self.of.get(&at).copied()
    }

    /// Whether an access is in no group, or the first of its group.
    pub(super) fn is_first(&self, at: usize) -> bool {
        self.of.get(&at).is_none_or(|n| self.all[*n].first == at)
    }

    /// The groups whose check stands before an instruction, and their numbers.
    pub(super) fn before(&self, at: usize) -> Vec<(usize, Group)> {
        self.all.iter().cloned().enumerate().filter(|(_, g)| g.first == at).collect()
    }
}

/// Bytes per lane of an access.
pub(super) fn total(inst: &Inst) -> Option<i64> {
    match inst.sem {
        Operation::Load(a) | Operation::Store(a) => Some(a.bytes().into()),
        _ => None,
    }
}

/// A group of this access alone, if it may be in a group.
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
        // A 32-bit sum may wrap around before it is extended to an address; in shared memory it is the address.
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

/// The least and the largest step, if all are small multiples of the access's size.
fn reach(total: i64, steps: impl Iterator<Item = i64> + Clone) -> Option<(i64, i64)> {
    let fine = steps.clone().all(|s| s % total == 0 && s.unsigned_abs() < MOST_BYTES as u64);
    Some((steps.clone().min()?, steps.max()?)).filter(|_| fine)
}

/// Whether an access is to a variable of the module, in range and aligned.
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
