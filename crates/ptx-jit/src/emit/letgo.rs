//! Spilling in long regions.
//!
//! Owns the choice of values that are stored to the frame (or dropped, if the frame has them) before a region ends:
//! vectors that were not used for a while. The register allocator would otherwise keep each in a stack slot of its
//! own until the end, and the better allocator takes time quadratic in the number of values that are live at once.
//! Must not know what is computed.

use super::emitter::Emit;
use super::touched::KEPT;
use super::val::Val;
use crate::simt::plan::shape::Shape;

/// So many instructions from one look to the next.
const EACH: usize = 32;

impl Emit<'_> {
    /// After an instruction of a region.
    pub(super) fn let_go(&mut self) {
        // An iteration that may be repeated must not change the frame.
        let again = self.fast_loop.is_some();
        if !self.touched.is_long() || again || !self.at.is_multiple_of(EACH) || self.at < KEPT {
            return;
        }
        let live_out = &self.plan.regions[self.region].live_out;
        let mut old = self.touched.before(self.at - KEPT);
        old.retain(|r| {
            let lanes = matches!(self.cache.get(r), Some(Val::Lanes(_) | Val::Mask { .. }));
            let place = self.plan.slots[*r as usize].is_some();
            // A register that is not live out may have values of waiting lanes in its slot: it is not spilled there.
            let there = !self.written.contains(r) || live_out.has(*r as usize);
            lanes && place && there && self.plan.shapes[*r as usize] == Shape::Varying
        });
        let written = old.iter().copied().filter(|r| self.written.remove(r)).collect();
        self.write_back(written);
        old.iter().for_each(|r| drop(self.cache.remove(r)));
    }
}
