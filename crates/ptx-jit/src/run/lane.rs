//! How helpers access a warp: lanes' operands and results, faults.

use super::launch::Exec;
use crate::simt::plan::shape::Class;
use crate::warp::{FAULT, Site, Warp};
pub(crate) use cushim_ptx::exec::lanes;
use cushim_ptx::exec::{Cause, Fault};
use cushim_ptx::ir::Dst;

/// The warp of a helper's first argument.
///
/// # Safety
/// Generated code passes the warp it was entered with, which nothing else uses until it leaves.
pub(crate) unsafe fn warp<'a>(w: *mut Warp) -> &'a mut Warp {
    // SAFETY: the warp is there and nobody else refers to it until generated code goes on, by the caller's promise.
    unsafe { &mut *w }
}

impl Warp {
    /// The site with a number. A missing one is an error of the emitter, which ends the launch.
    #[inline]
    pub(crate) fn site<'a>(&self, n: u32) -> &'a Site {
        assert!((n as usize) < self.site_count, "site {n} of {}", self.site_count);
        // SAFETY: below the number of sites, which whoever placed the warp promised to outlive it.
        unsafe { &*self.sites.add(n as usize) }
    }

    /// An operand of a lane, as the interpreter has it.
    pub(crate) fn value(&self, slot: usize, class: Class, lane: usize) -> u64 {
        match class {
            Class::Narrow => self.narrow(slot, lane).into(),
            Class::Wide => self.slot(slot)[lane],
            Class::Predicate => self.slot(slot)[0] >> lane & 1,
        }
    }

    /// A result of a lane.
    pub(crate) fn set_value(&mut self, slot: usize, class: Class, lane: usize, v: u64) {
        match class {
            Class::Narrow => self.set_narrow(slot, lane, v as u32),
            Class::Wide => self.scratch[slot][lane] = v,
            Class::Predicate => {
                let bit = 1 << lane;
                let cell = &mut self.scratch[slot][0];
                *cell = if v & 1 != 0 { *cell | bit } else { *cell & !bit };
            }
        }
    }

    /// Remembers why the launch ends.
    pub(crate) fn fail(&mut self, site: &Site, lane: usize, cause: Cause) -> u32 {
        let fault = self.fault_at(site, lane, cause);
        self.fault = Some(Box::new(fault));
        FAULT
    }

    pub(crate) fn fault_at(&self, site: &Site, lane: usize, cause: Cause) -> Fault {
        let pos = Some(site.inst.pos);
        self.exec().fault(cause, pos, self.block(), self.thread(lane)).by(&site.inst)
    }

    /// The index of a lane's thread in the block.
    pub(super) fn thread(&self, lane: usize) -> [u32; 3] {
        self.tid.map(|axis| axis[lane & 31])
    }

    pub(crate) fn exec<'a>(&self) -> &'a Exec<'a> {
        assert!(!self.exec.is_null(), "a warp without a launch");
        // SAFETY: whoever placed the warp promised that the launch outlives it.
        unsafe { &*self.exec.cast() }
    }

    /// Puts results where the code looks for them, which is where operands were.
    pub(super) fn publish(&mut self, site: &Site, mask: u32) {
        for k in 0..site.inst.dst.len() {
            for l in lanes(mask) {
                let v = self.results[k][l];
                self.set_value(k, site.results[k], l, v);
            }
        }
    }

    pub(super) fn mask(&mut self, region: usize) -> &mut u32 {
        // SAFETY: there are as many masks as regions, and no other number occurs.
        unsafe { &mut *self.masks.add(region) }
    }
}

/// The width of the register that a result goes to.
pub(crate) fn width(dst: Dst) -> u32 {
    match dst {
        Dst::Reg(_, bits) => bits,
        Dst::Sink => 32,
    }
}
