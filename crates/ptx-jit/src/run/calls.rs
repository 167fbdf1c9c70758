//! Functions that may call themselves: where their frames end, and what they keep meanwhile.

use super::helpers::{lanes, warp};
use super::warp::{Slot, Warp};
use crate::plan::form::Class;
use cushim_ptx::interp::Cause;
use cushim_ptx::ir::Src;

/// The most that a lane keeps, in registers: functions without local memory have no other bound.
const MOST_SAVED: u32 = 1 << 18;

impl Warp {
    /// Makes local memory of every lane larger.
    fn grow(&mut self, size: u32) {
        let (old, new) = (self.local_size as usize, (size as usize).next_multiple_of(64));
        let mut grown = vec![0u128; new * 32 / 16];
        let to = grown.as_mut_ptr().cast::<u8>();
        for lane in 0..32 {
            // SAFETY: both have that much for every lane, and neither is part of the other.
            unsafe {
                std::ptr::copy_nonoverlapping(self.local.add(lane * old), to.add(lane * new), old);
            }
        }
        (self.local, self.local_size, self.grown) = (to, new as u64, grown);
    }

    /// For the next block nothing is kept, and local memory that has grown is zeros where kernels begin.
    pub(super) fn forget(&mut self) {
        self.height = [0; 32];
        if self.grown.is_empty() {
            return;
        }
        let (size, whole) = (self.exec().local_size as usize, self.local_size as usize);
        for lane in 0..32 {
            // SAFETY: it is `whole` bytes for each lane, which is more than `size`.
            unsafe { std::ptr::write_bytes(self.local.add(lane * whole), 0, size) };
        }
    }
}

pub(super) unsafe extern "C" fn enter(w: *mut Warp, n: u32, mask: u32) -> u32 {
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

/// The common height of some lanes.
fn level(w: &Warp, mask: u32) -> Option<u32> {
    let first = w.height[mask.trailing_zeros() as usize & 31];
    let same = lanes(mask).all(|l| w.height[l] == first);
    same.then_some(first)
}

fn unpack(slot: &Slot, class: Class, out: &mut Slot) {
    for (l, v) in out.iter_mut().enumerate() {
        *v = match class {
            Class::Wide => slot[l],
            Class::Narrow => slot[l / 2] >> (l % 2 * 32) & 0xffff_ffff,
            Class::Predicate => slot[0] >> l & 1,
        };
    }
}

fn pack(row: &Slot, class: Class, out: &mut Slot) {
    match class {
        Class::Wide => *out = *row,
        Class::Narrow => {
            for (to, pair) in out.iter_mut().zip(row.chunks_exact(2)) {
                *to = pair[0] & 0xffff_ffff | pair[1] << 32;
            }
        }
        Class::Predicate => {
            out[0] = row.iter().enumerate().fold(0, |m, (l, v)| m | (v & 1) << l);
        }
    }
}

pub(super) unsafe extern "C" fn save(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let count = site.operands.len() as u32;
    let top = lanes(mask).map(|l| w.height[l]).max().unwrap_or(0) + count;
    if top > MOST_SAVED {
        let limit = w.exec().launch.local_limit;
        return w.fail(site, mask.trailing_zeros() as usize & 31, Cause::Stack { limit });
    }
    if w.saved.len() < top as usize {
        w.saved.resize(top as usize, [0; 32]);
    }
    let whole = (mask == u32::MAX).then(|| level(w, mask)).flatten();
    for (k, class) in site.operands.iter().enumerate() {
        let mut row = [0; 32];
        unpack(&w.scratch[k], *class, &mut row);
        match whole {
            Some(height) => w.saved[height as usize + k] = row,
            None => lanes(mask).for_each(|l| w.saved[w.height[l] as usize + k][l] = row[l]),
        }
    }
    lanes(mask).for_each(|l| w.height[l] += count);
    0
}

pub(super) unsafe extern "C" fn restore(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let count = site.results.len() as u32;
    // Every return has its call: there is as much.
    lanes(mask).for_each(|l| w.height[l] = w.height[l].saturating_sub(count));
    let whole = (mask == u32::MAX).then(|| level(w, mask)).flatten();
    for (k, class) in site.results.iter().enumerate() {
        let mut row = [0; 32];
        match whole {
            Some(height) => row = w.saved[height as usize + k],
            None => lanes(mask).for_each(|l| row[l] = w.saved[w.height[l] as usize + k][l]),
        }
        pack(&row, *class, &mut w.scratch[k]);
    }
    0
}
