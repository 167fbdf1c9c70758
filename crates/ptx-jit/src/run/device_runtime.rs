//! Functions of the device runtime that kernels call.

use super::lane::{lanes, warp};
use crate::warp::Site;
use crate::warp::Warp;
use cushim_ptx::exec::{Access, Caller, Cause, call_device_function};
use cushim_ptx::ir::{Callee, Src};
use cushim_ptx::types::Space;

/// A calling lane: its arguments are in the slots.
struct Outside<'a> {
    warp: &'a Warp,
    site: &'a Site,
    lane: usize,
}

impl Caller for Outside<'_> {
    fn argument(&self, n: usize) -> u64 {
        self.site.operands.get(n).map_or(0, |c| self.warp.value(n, *c, self.lane))
    }

    fn arguments(&self) -> usize {
        self.site.operands.len()
    }

    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        self.warp.read(self.lane, address, out).is_ok()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let shown = (Space::Generic, address);
        if self.warp.show_lane(self.site, self.lane, Access::Write, shown, bytes.len()).is_err() {
            return false;
        }
        let place = self.warp.place(Space::Generic, address, self.lane, bytes.len() as u64, true);
        // SAFETY: `place` has checked the range.
        place.map(|place| unsafe { super::access::write(place.at, bytes) }).is_ok()
    }

    fn place(&self) -> ([u32; 3], [u32; 3]) {
        (self.warp.block(), self.warp.thread(self.lane))
    }
}

/// Calls a function that the module does not define. Arguments are in the slots, the result goes to the first.
pub(super) unsafe fn call(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let exec = w.exec();
    let Some(Src::Call(call)) = site.inst.src.first() else { return 0 };
    let Callee::Direct(f) = call.callee else {
        // The one argument is the value that was used as a function.
        let Some(lane) = lanes(mask).next() else { return 0 };
        let value = w.value(0, site.operands[0], lane);
        return w.fail(site, lane, Cause::FunctionPointer { value });
    };
    let name = exec.launch.module.functions[f as usize].name.as_str();
    let mut failed = None;
    for l in lanes(mask) {
        match call_device_function(name, &mut Outside { warp: w, site, lane: l }, exec.host) {
            Ok(result) => w.results[0][l] = result,
            // Each thread says that its assertion failed (an H100 does so for all of a warp).
            Err(Cause::Assert) => failed = failed.or(Some(l)),
            Err(cause) => return w.fail(site, l, cause),
        }
    }
    if let Some(lane) = failed {
        return w.fail(site, lane, Cause::Assert);
    }
    w.publish(site, mask);
    0
}
