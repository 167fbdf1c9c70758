//! Asynchronous stores, reductions and bulk copies, as in the interpreter, lane by lane.

use super::access::{self, get, put};
use super::arena::update as exchange;
use super::lane::{lanes, warp};
use crate::warp::{FAULT, Site, Warp};
use cushim_ptx::exec::asynchronous::{Reach, run};
use cushim_ptx::exec::{Access, Cause};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;

/// Memory as one lane has it.
struct Lane<'a> {
    warp: &'a Warp,
    site: &'a Site,
    lane: usize,
}

impl Lane<'_> {
    fn show(&self, access: Access, space: Space, at: u64, bytes: usize) -> Result<(), Cause> {
        self.warp.show_lane(self.site, self.lane, access, (space, at), bytes)
    }
}

impl Reach for Lane<'_> {
    type Error = Cause;

    fn read(&mut self, space: Space, address: u64, out: &mut [u8]) -> Result<(), Cause> {
        self.show(Access::Read, space, address, out.len())?;
        let place = self.warp.place(space, address, self.lane, out.len() as u64, false)?;
        // SAFETY: `place` has checked the range; `out` is not in it.
        unsafe { access::read(place.at, out) };
        Ok(())
    }

    fn write(&mut self, space: Space, address: u64, bytes: &[u8]) -> Result<(), Cause> {
        self.show(Access::Write, space, address, bytes.len())?;
        let place = self.warp.place(space, address, self.lane, bytes.len() as u64, true)?;
        // SAFETY: `place` has checked the range.
        unsafe { access::write(place.at, bytes) };
        Ok(())
    }

    fn update(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<(), Cause> {
        if !address.is_multiple_of(bytes.into()) {
            return Err(Cause::Misaligned { address, bytes });
        }
        self.show(Access::Atomic, space, address, bytes as usize)?;
        let place = self.warp.place(space, address, self.lane, bytes.into(), true)?;
        // SAFETY: `place` has checked the range, which is aligned.
        unsafe {
            if place.public {
                exchange(place.at, bytes, new);
            } else {
                let old = get(place.at, bytes as usize);
                put(place.at, bytes as usize, new(old));
            }
        }
        Ok(())
    }

    fn rank(&self) -> u64 {
        self.warp.rank.into()
    }

    fn fail(&self, cause: Cause) -> Cause {
        cause
    }
}

pub(super) unsafe fn asynchronous(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let Operation::Asynchronous(what) = site.inst.sem else { return 0 };
    for lane in lanes(mask) {
        if let Err(cause) = run(&what, &operands(w, site, lane), &mut Lane { warp: w, site, lane })
        {
            w.fail(site, lane, cause);
            return FAULT;
        }
    }
    0
}

fn operands(w: &Warp, site: &Site, lane: usize) -> Vec<u64> {
    site.operands.iter().enumerate().map(|(n, class)| w.value(n, *class, lane)).collect()
}
