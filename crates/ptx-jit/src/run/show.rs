//! Reports what lanes are about to do to the observer ([`cushim_ptx::exec::watch`]).
//!
//! Owns how a warp's accesses and barriers are reported. Must not know what the observer looks for.

use super::lane::warp;
use crate::warp::{FAULT, Site, Warp};
use cushim_ptx::exec::{Access, BlockWatch, Cause, Touch};
use cushim_ptx::ir::Src;
use cushim_ptx::sem::{Barrier, Operation};
use cushim_ptx::types::Space;

impl Warp {
    /// The block's observer.
    fn watch<'a>(&self) -> Option<&'a mut Box<dyn BlockWatch>> {
        // SAFETY: null, or the slot's, which outlives the code that runs in it and is used by one helper at a time.
        unsafe { self.watch.as_mut() }
    }

    /// One lane's part of an instruction that copies.
    pub(super) fn show_lane(
        &self,
        site: &Site,
        lane: usize,
        access: Access,
        (space, address): (Space, u64),
        bytes: usize,
    ) -> Result<(), Cause> {
        let Some(watch) = self.watch().filter(|_| bytes > 0) else { return Ok(()) };
        let addresses = [address; 32];
        let touch = Touch {
            inst: &site.inst,
            access,
            warp: self.index,
            lanes: 1 << (lane & 31),
            space,
            addresses: &addresses,
            bytes: bytes as u64,
        };
        watch.touch(&touch).map_err(|(_, cause)| cause)
    }
}

/// Lanes are about to run an instruction.
pub(super) unsafe fn show(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let Some(watch) = w.watch().filter(|_| mask != 0) else { return 0 };
    let site = w.site(n);
    let inst = &site.inst;
    let (access, bytes) = match inst.sem {
        Operation::Load(a) => (Access::Read, a.bytes()),
        Operation::Store(a) => (Access::Write, a.bytes()),
        Operation::Atomic(a) => (Access::Atomic, a.access.bytes()),
        Operation::Fence(_) | Operation::Barrier(Barrier::ClusterArrive | Barrier::ClusterWait) => {
            watch.order(w.index, mask, inst, None);
            return 0;
        }
        Operation::Collective(_) => {
            let members = std::array::from_fn(|lane| w.narrow(0, lane));
            watch.order(w.index, mask, inst, Some(&members));
            return 0;
        }
        Operation::Barrier(what) => {
            let lane = mask.trailing_zeros() as usize & 31;
            let number = what.number(w.narrow(0, lane));
            let given = !matches!(inst.src.get(1), None | Some(Src::None));
            let count = given.then(|| w.narrow(1, lane));
            watch.arrive(w.index, mask, inst, number, count);
            return 0;
        }
        _ => match Access::of(inst, "") {
            Some(access) => (access, 8),
            None => return 0,
        },
    };
    let addresses = w.addresses(site);
    let touch = Touch {
        inst,
        access,
        warp: w.index,
        lanes: mask,
        space: site.space,
        addresses: &addresses,
        bytes: bytes.into(),
    };
    match watch.touch(&touch) {
        Ok(()) => 0,
        Err((lane, cause)) => {
            w.fail(site, lane, cause);
            FAULT
        }
    }
}
