//! Loads of neighbouring words at arbitrary addresses of each lane, which are done together before the first of them.
//!
//! Owns which loads of a region those are: at consecutive offsets from one register, with no store, atomic operation or fence between
//! them. Must not know how they are done ([`super::words`]).

use crate::simt::plan::Plan;
use crate::simt::plan::region::writes;
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::{Base, Function, Inst, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use std::collections::BTreeMap;

/// Bytes of a word.
pub(super) const WORD: i64 = 4;

/// Loads that are done together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wide {
    /// The first of them.
    first: usize,
    pub(super) register: u32,
    pub(super) shared: bool,
    /// The offset of the first word in bytes, and how many there are: two or four.
    pub(super) low: i64,
    pub(super) count: u32,
}

/// Those of a region, and the word of each load.
#[derive(Debug, Default)]
pub(super) struct Wides {
    pub(super) all: Vec<Wide>,
    of: BTreeMap<usize, (usize, u32)>,
}

impl Wides {
    pub(super) fn of_region(f: &Function, plan: &Plan, region: usize) -> Wides {
        let mut wides = Wides::default();
        let mut open: BTreeMap<(u32, bool), Vec<(usize, i64)>> = BTreeMap::new();
        let region = &plan.regions[region];
        for at in region.start..region.end {
            let inst = &f.code[at];
            if let Some((register, shared, offset)) = word(plan, inst) {
                open.entry((register, shared)).or_default().push((at, offset));
            }
            let closed = |key: &(u32, bool)| !may_pass(inst) || writes(inst).any(|w| w == key.0);
            let keys: Vec<_> = open.keys().copied().filter(closed).collect();
            for key in keys {
                wides.add(key, &open.remove(&key).unwrap_or_default());
            }
        }
        open.iter().for_each(|(key, loads)| wides.add(*key, loads));
        wides
    }

    /// Adds what may be done together of loads from one register.
    fn add(&mut self, (register, shared): (u32, bool), loads: &[(usize, i64)]) {
        let mut offsets: Vec<i64> = loads.iter().map(|(_, offset)| *offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut left = &offsets[..];
        while let Some(low) = left.first().copied() {
            let run = left.iter().zip(0..4).take_while(|(o, n)| **o == low + n * WORD).count();
            let count = [4, 2, 1].into_iter().find(|n| run >= *n).unwrap_or(1);
            left = &left[count..];
            if count == 1 {
                continue;
            }
            let within = |o: i64| (low..low + count as i64 * WORD).contains(&o);
            let own = loads.iter().filter(|(_, o)| within(*o));
            let n = self.all.len();
            self.of.extend(own.clone().map(|(at, o)| (*at, (n, ((o - low) / WORD) as u32))));
            let first = own.map(|(at, _)| *at).min().unwrap_or_default();
            self.all.push(Wide { first, register, shared, low, count: count as u32 });
        }
    }

    /// The number of a load's wide load, and which word it is.
    pub(super) fn of(&self, at: usize) -> Option<(usize, u32)> {
        self.of.get(&at).copied()
    }

    /// Those that are done before an instruction, and their numbers.
    pub(super) fn before(&self, at: usize) -> Vec<(usize, Wide)> {
        self.all.iter().cloned().enumerate().filter(|(_, w)| w.first == at).collect()
    }
}

/// The register, whether it is shared memory, and the offset of a load of a word that may be one of these.
fn word(plan: &Plan, inst: &Inst) -> Option<(u32, bool, i64)> {
    let Operation::Load(access) = inst.sem else { return None };
    let Some(Src::Memory(Base::Reg(r, _), offset)) = inst.src.first() else { return None };
    let shared = match inst.space(0) {
        Space::Shared => true,
        Space::Global | Space::Const => false,
        _ => return None,
    };
    let alone = inst.guard.is_none() && inst.dst.len() == 1 && !access.is_shared();
    let fits = i64::from(access.element.bytes()) == WORD && offset % WORD == 0;
    let varies = plan.shapes[*r as usize] == Shape::Varying;
    (alone && fits && varies && offset.abs() < 1 << 15).then_some((*r, shared, *offset))
}

/// Whether later loads may be done before an instruction.
fn may_pass(inst: &Inst) -> bool {
    match inst.sem {
        Operation::Load(access) => !access.is_shared(),
        Operation::Move(_) | Operation::Nothing | Operation::Address(_) => true,
        op => op.is_pure(),
    }
}

#[cfg(test)]
mod tests {
    use super::Wides;

    #[test]
    fn neighbours_are_taken_by_fours_and_twos() {
        let mut wides = Wides::default();
        let loads =
            [(9, 8), (3, 0), (5, 4), (7, 12), (11, 20), (13, 24), (15, 40), (17, 4), (19, 28)];
        wides.add((1, false), &loads);
        let all: Vec<_> = wides.all.iter().map(|w| (w.first, w.low, w.count)).collect();
        assert_eq!(all, [(3, 0, 4), (11, 20, 2)]);
        assert_eq!(
            [3, 9, 17, 13].map(|at| wides.of(at)),
            [Some((0, 0)), Some((0, 2)), Some((0, 1)), Some((1, 1))]
        );
        assert_eq!([15, 19].map(|at| wides.of(at)), [None, None]);
    }
}
