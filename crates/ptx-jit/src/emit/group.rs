//! Accesses of a region whose addresses are one register's value plus constants: their ranges are checked together,
//! once.
//!
//! Owns finding them. Must not know how a check is made.

use crate::simt::plan::region::writes;
use cranelift_codegen::ir::Value;
use cushim_ptx::ir::{Base, Function, Inst, Sense, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use std::collections::HashMap;

/// The most bytes between the first and the last of a group.
const MOST_BYTES: i64 = 1 << 15;

/// Accesses that may form one group: to shared memory or not, under one guard, which may have excluded lanes with
/// invalid addresses.
type Kind = (bool, Option<(u32, Sense)>);

/// What a group of accesses touches, from the register's value on.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) low: i64,
    /// Past the last byte.
    pub(super) high: i64,
    /// The alignment that all have if the value has it.
    pub(super) align: i64,
    /// How many accesses they are.
    pub(super) count: usize,
    /// The address that steps are added to, and whether all is inside.
    pub(super) checked: Option<(Value, Value)>,
    /// Whether, besides, all lanes of the warp are here.
    pub(super) whole: Option<Value>,
}

/// Bytes of each lane in an access.
pub(super) fn total(inst: &Inst) -> i64 {
    match inst.sem {
        Operation::Load(a) | Operation::Store(a) => a.bytes().into(),
        // Only called for accesses.
        _ => i64::from(inst.sem.ty().bytes()),
    }
}

/// The groups of a run of instructions, and to which each access belongs.
pub(super) fn find(f: &Function, start: usize, end: usize) -> (HashMap<usize, usize>, Vec<Group>) {
    let mut of = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    // By register, as long as it is not written.
    let mut open: HashMap<u32, Vec<(Kind, usize)>> = HashMap::new();
    for at in start..end {
        let inst = &f.code[at];
        if matches!(inst.sem, Operation::Load(_) | Operation::Store(_))
            && let Some(Src::Memory(Base::Reg(r, _), offset)) = inst.src.first()
            && let Some(shared) = kind(inst.space(0))
        {
            let size = total(inst);
            if offset % size == 0 && offset.abs() < MOST_BYTES {
                let some = open.entry(*r).or_default();
                let known = some.iter().find(|(kind, _)| *kind == (shared, inst.guard));
                let n = known.map_or(groups.len(), |(_, n)| *n);
                if n == groups.len() {
                    some.push(((shared, inst.guard), n));
                    let (low, high) = (*offset, offset + size);
                    let (align, count, checked, whole) = (size, 0, None, None);
                    groups.push(Group { low, high, align, count, checked, whole });
                }
                let g = &mut groups[n];
                let (low, high) = (g.low.min(*offset), g.high.max(offset + size));
                if high - low <= MOST_BYTES {
                    (g.low, g.high, g.align) = (low, high, g.align.max(size));
                    g.count += 1;
                    of.insert(at, n);
                }
            }
        }
        for w in writes(inst) {
            open.remove(&w);
        }
    }
    (of, groups)
}

/// Whether an access goes to shared memory; `None` where the code does none itself.
pub(super) fn kind(space: Space) -> Option<bool> {
    match space {
        Space::Shared => Some(true),
        Space::Global | Space::Const | Space::Generic => Some(false),
        _ => None,
    }
}
