//! A second version of short regions, for whole warps whose accesses are all in range.
//!
//! Owns one check for all accesses of a region whose addresses are known before its first one, and the version after
//! the check. In the usual version each access has its own check and slow path, so loaded values must stay live
//! across the next check: two rows of values fill all registers. This version has nothing in between: the data of the
//! first lanes is loaded, used and dead before the next lanes' ([`super::schedule`]). Must not know the order of
//! warps.

use super::address::{DEVICE, PAGE};
use super::emitter::Emit;
use super::reach::{Reach, Whole};
use super::val::Val;
use crate::error::NotCompiled;
use crate::simt::plan::region::{reads, writes};
use crate::simt::plan::shape::Shape;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::sem::{Access, Operation};
use cushim_ptx::types::Space;
use std::collections::{BTreeSet, HashMap};

/// The most instructions of such a region, and of a kernel whose regions are made twice.
const LONGEST: usize = 64;
const LARGEST: usize = 2048;

impl Emit<'_> {
    /// The access of an instruction that may be done here.
    fn plain_access(&self, inst: &Inst) -> Option<Access> {
        let (Operation::Load(access) | Operation::Store(access)) = inst.sem else { return None };
        let space = matches!(access.space, Space::Global | Space::Const | Space::Shared);
        let from = matches!(inst.src.first(), Some(Src::Memory(Base::Reg(r, _), _))
            if self.plan.shapes[*r as usize] != Shape::Varying);
        (space && from && inst.guard.is_none() && !access.is_shared()).then_some(access)
    }

    /// Whether the present region is worth it: it has two rows to load or store, one of them to load.
    fn is_worth_two(&self) -> bool {
        let region = &self.plan.regions[self.region];
        let code = &self.f.code[region.start..region.end];
        if !self.checked.is_none()
            || code.len() > LONGEST
            || self.f.code.len() > LARGEST
            || region.result.is_some()
        {
            return false;
        }
        let row =
            |inst: &&Inst| self.plain_access(inst).is_some() && !self.is_uniform_address(inst);
        let loads = code.iter().filter(row).filter(|i| matches!(i.sem, Operation::Load(_)));
        loads.count() >= 1 && code.iter().filter(row).count() >= 2
    }

    /// Emits a version for whole warps before the usual version of the current region, if it is worth it.
    pub(super) fn whole(&mut self) -> Result<(), NotCompiled> {
        if !self.is_worth_two() {
            return Ok(());
        }
        self.whole.on = true;
        let entered = self.look_at_accesses()?;
        let (ours, usual) = (self.b.create_block(), self.b.create_block());
        let all = self.i32(-1);
        let mut checks = vec![self.b.ins().icmp(IntCC::Equal, self.act, all)];
        for (reach, _) in self.whole.accesses.values() {
            if !checks.contains(&reach.inside) {
                checks.push(reach.inside);
            }
        }
        self.if_all(&checks, ours, usual);

        self.b.switch_to_block(ours);
        self.cache = entered;
        self.written.clear();
        self.try_loads();
        self.region_code()?;
        self.whole = Whole::default();
        self.b.switch_to_block(usual);
        self.begin_region();
        Ok(())
    }

    /// Computes the addresses of accesses and whether all are in range; returns the values on entry of the registers
    /// that were read for that.
    fn look_at_accesses(&mut self) -> Result<HashMap<u32, Val>, NotCompiled> {
        let (f, region) = (self.f, &self.plan.regions[self.region]);
        let (start, end) = (region.start, region.end);
        let mut entered = self.cache.clone();
        // Registers that get their values after the check, and those that already differ from their value on entry.
        let (mut later, mut given) = (BTreeSet::new(), BTreeSet::new());
        let mut list = Vec::new();
        for at in start..end {
            let inst = &f.code[at];
            self.at = at;
            self.lanes_from(0);
            let access = self.plain_access(inst);
            match (access, inst.src.first()) {
                (Some(_), Some(Src::Memory(Base::Reg(r, _), _))) => list = vec![*r],
                _ => reads(inst, &mut list),
            }
            let known = list.iter().all(|r| !later.contains(r));
            let before = known && self.is_before(inst);
            if before || known && access.is_some() {
                for r in &list {
                    let v = self.raw(*r);
                    if !given.contains(r) {
                        entered.insert(*r, v);
                    }
                }
            }
            match access {
                Some(access) if known => self.look_at(inst, access),
                _ if before => self.instruction(inst)?,
                _ => {}
            }
            let mut values = Vec::new();
            for r in writes(inst) {
                given.insert(r);
                match self.cache.get(&r).filter(|_| before) {
                    Some(v) => {
                        values.push((r, v.clone()));
                        later.remove(&r);
                    }
                    None => {
                        later.insert(r);
                    }
                }
            }
            if before && values.len() == writes(inst).count() {
                self.whole.values.insert(at, values);
            }
        }
        Ok(entered)
    }

    /// Whether an instruction computes a uniform or affine value from what is known before the check.
    fn is_before(&self, inst: &Inst) -> bool {
        let simple = match inst.sem {
            Operation::Load(access) => access.space == Space::Param,
            op => op.is_pure() || op.is_move() || op.is_cvta(),
        };
        let known = |r: u32| self.plan.shapes[r as usize] != Shape::Varying;
        let apart = inst.guard.is_some() || self.activations.contains_key(&self.at);
        simple && !apart && writes(inst).all(known)
    }

    fn look_at(&mut self, inst: &Inst, access: Access) {
        let address = self.address_of(inst, 0);
        let uniform = address.base.uniform().is_some();
        let first = self.group_of.get(&self.at).is_none_or(|n| self.groups[*n].checked.is_none());
        let Some(reach) = self.reach(&address, access.space, access.bytes().into()) else { return };
        let fits = match inst.sem {
            Operation::Load(_) => self.can_load(inst, &reach, uniform),
            _ => self.can_store(inst, &reach),
        };
        if fits && (reach.shared || reach.length <= PAGE) {
            self.whole.accesses.insert(self.at, (reach, first));
        }
    }

    /// Touches the first and the last byte of each load before any other access, in order: an unmapped address faults
    /// here, and after that, loads may pass each other. Before, prefetches what is read soon.
    fn try_loads(&mut self) {
        let (f, region) = (self.f, &self.plan.regions[self.region]);
        let (start, end) = (region.start, region.end);
        let passes = |inst: &Inst| match inst.sem {
            Operation::Load(_) => true,
            op => op.is_pure() || op.is_move() || op.is_cvta(),
        };
        let until = (start..end).find(|at| !passes(&f.code[*at])).unwrap_or(end);
        let mut loads: Vec<(usize, Reach, bool)> = self
            .whole
            .accesses
            .iter()
            .filter(|(at, _)| matches!(f.code[**at].sem, Operation::Load(_)))
            .map(|(at, (reach, first))| (*at, reach.clone(), *first))
            .collect();
        for (at, reach, first) in &loads {
            if *first && !reach.shared && !reach.is_one() {
                self.at = *at;
                self.lanes_from(0);
                self.look_ahead(&f.code[*at], reach, super::group::total(&f.code[*at]));
            }
        }
        loads.retain(|(at, ..)| *at < until);
        if loads.iter().filter(|(_, reach, _)| !reach.is_one()).count() < 2 {
            return;
        }
        self.whole.until = until;
        // Kept, though its result is unused.
        for (at, reach, _) in loads.iter().filter(|(_, reach, _)| !reach.shared) {
            self.at = *at;
            self.tell(self.act, Space::Global);
            let by = |lane: &usize| reach.steps[*lane];
            let [least, most] =
                [(0..32).min_by_key(by), (0..32).max_by_key(by)].map(Option::unwrap_or_default);
            for lane in [least, most].into_iter().take(if reach.is_one() { 1 } else { 2 }) {
                self.lanes_from(lane);
                self.b.ins().uload8(types::I32, DEVICE, reach.pointer, reach.steps[lane] as i32);
            }
        }
        self.lanes_from(0);
    }

    /// How the code reads device and shared memory at the present instruction.
    pub(super) fn reading(&self) -> MemFlagsData {
        if self.whole.on && self.at < self.whole.until { DEVICE.with_can_move() } else { DEVICE }
    }
}
