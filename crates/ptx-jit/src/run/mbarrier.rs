//! Barrier objects, as in the interpreter, lane by lane.

use super::lane::{lanes, warp, width};
use crate::warp::Warp;
use cushim_ptx::alu;
use cushim_ptx::exec;
use cushim_ptx::sem::{Mbarrier, MbarrierOp, Operation};

pub(super) unsafe fn mbarrier(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let Operation::Mbarrier(Mbarrier { op, .. }) = inst.sem else { return 0 };
    let first = usize::from(op != MbarrierOp::Pending);
    for l in lanes(mask) {
        let operand = site.operands.get(first).map_or(1, |c| w.value(first, *c, l));
        let mut old = 0;
        let mut place = None;
        if first > 0 {
            let address = w.value(0, site.operands[0], l);
            let at = match w.place(site.space, address, l, 8, true) {
                Ok(p) => p.at.cast::<u64>(),
                Err(cause) => return w.fail(site, l, cause),
            };
            // SAFETY: `place` has checked the range.
            old = unsafe { at.read_unaligned() };
            place = Some(at);
        }
        let (new, out) = exec::barrier_object(op, old, operand);
        if let (Some(at), Some(new)) = (place, new) {
            // SAFETY: `place` has found eight bytes there that may be written.
            unsafe { at.write_unaligned(new) };
        }
        w.results[0][l] = out & alu::mask(inst.dst.first().map_or(64, |d| width(*d)));
    }
    w.publish(site, mask);
    0
}
