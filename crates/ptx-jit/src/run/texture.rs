//! Texture and surface instructions, as in the interpreter, lane by lane.

use super::lane::{lanes, warp, width};
use crate::warp::Warp;
use cushim_ptx::alu;
use cushim_ptx::texture::{OPERANDS, RESULTS, Unit};

pub(super) unsafe fn texture(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let count = site.operands.len().min(OPERANDS);
    let mut unit = Unit::new(w.exec().memory);
    for l in lanes(mask) {
        let mut operands = [0; OPERANDS];
        for (k, (to, class)) in operands.iter_mut().zip(&site.operands).enumerate() {
            *to = w.value(k, *class, l);
        }
        let mut out = [0; RESULTS];
        if let Err(cause) = unit.run(&inst.sem, &operands[..count], &mut out) {
            return w.fail(site, l, cause);
        }
        for (k, (dst, v)) in inst.dst.iter().zip(out).enumerate() {
            w.results[k][l] = v & alu::mask(width(*dst));
        }
    }
    w.publish(site, mask);
    0
}
