//! Recursive functions: the end of their frames, and the registers that they save.

use super::lane::{lanes, warp};
use crate::simt::plan::shape::Class;
use crate::warp::{Row, Warp, stride};
use cushim_ptx::exec::Cause;
use cushim_ptx::ir::Src;

/// The most that a lane keeps, in registers: functions without local memory have no other bound.
const MOST_SAVED: u32 = 1 << 18;
/// Rows of the stacks when they are first used.
const FIRST_ROOM: usize = 64;

impl Warp {
    /// Makes local memory of every lane larger.
    fn grow(&mut self, size: u32) {
        let new_size = u64::from(size).next_multiple_of(64);
        let (old, new) = (self.local_stride as usize, stride(new_size) as usize);
        let size = self.local_size as usize;
        let mut grown = vec![0u128; new * 32 / 16];
        let to = grown.as_mut_ptr().cast::<u8>();
        for lane in 0..32 {
            // SAFETY: both have that much for every lane, and neither is part of the other.
            unsafe {
                std::ptr::copy_nonoverlapping(self.local.add(lane * old), to.add(lane * new), size);
            }
        }
        (self.local, self.local_size, self.local_stride) = (to, new_size, new as u64);
        self.grown = grown;
    }

    /// Resets the state for the next block: nothing is saved, and grown local memory is zeroed where kernels begin.
    pub(super) fn forget(&mut self) {
        self.height = [0; 32];
        if self.grown.is_empty() {
            return;
        }
        let (size, whole) = (self.exec().local_size as usize, self.local_stride as usize);
        for lane in 0..32 {
            // SAFETY: it is `whole` bytes for each lane, which is more than `size`.
            unsafe { std::ptr::write_bytes(self.local.add(lane * whole), 0, size) };
        }
    }
}

pub(super) unsafe fn enter(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let Some(Src::Imm(size)) = site.inst.src.get(1) else { return 0 };
    let limit = w.exec().launch.local_limit;
    let end = |w: &Warp, l: usize| w.value(0, site.operands[0], l) + size;
    if let Some(lane) = lanes(mask).find(|l| end(w, *l) > u64::from(limit)) {
        return w.fail(site, lane, Cause::Stack { limit });
    }
    let most = lanes(mask).map(|l| end(w, l)).max().unwrap_or(0);
    if most > w.local_size {
        let wanted = most.max(2 * w.local_size).min(limit.into()).max(most);
        w.grow(wanted as u32);
    }
    0
}

impl Warp {
    /// The stacks have so many rows at least.
    fn make_room(&mut self, rows: usize) {
        if self.saved.len() < rows {
            let more = (2 * self.saved.len()).min(MOST_SAVED as usize);
            self.saved.resize(more.max(rows).max(FIRST_ROOM), Row([[0; 32]; 2]));
        }
        (self.rows, self.room) = (self.saved.as_mut_ptr(), self.saved.len() as u64);
    }
}

pub(super) unsafe fn save(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let count = site.operands.len() as u32;
    let top = lanes(mask).map(|l| w.height[l]).max().unwrap_or(0) + count;
    if top > MOST_SAVED {
        let limit = w.exec().launch.local_limit;
        return w.fail(site, mask.trailing_zeros() as usize & 31, Cause::Stack { limit });
    }
    w.make_room(top as usize);
    for (k, class) in site.operands.iter().enumerate() {
        for l in lanes(mask) {
            let v = w.value(k, *class, l);
            let Row([low, high]) = &mut w.saved[w.height[l] as usize + k];
            (low[l], high[l]) = match class {
                Class::Predicate => ((v as u32).wrapping_neg(), 0),
                _ => (v as u32, (v >> 32) as u32),
            };
        }
    }
    lanes(mask).for_each(|l| w.height[l] += count);
    0
}

/// Collects rows of lanes of different heights above everything that is saved.
pub(super) unsafe fn restore(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let count = w.site(n).results.len();
    let top = w.height.iter().max().map_or(0, |h| *h as usize);
    w.make_room(top + count);
    for l in lanes(mask) {
        // Every restore follows its save, so that the stack holds as many rows.
        w.height[l] = w.height[l].saturating_sub(count as u32);
        for k in 0..count {
            let from = w.saved[w.height[l] as usize + k].0;
            let Row([low, high]) = &mut w.saved[top + k];
            (low[l], high[l]) = (from[0][l], from[1][l]);
        }
    }
    w.gathered = &raw const w.saved[top];
    0
}
