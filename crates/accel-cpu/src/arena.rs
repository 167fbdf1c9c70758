//! One reserved range of addresses, from which all memory of the CPU's devices is allocated.
//!
//! Owns the range, its allocations, and their pages: device, managed and page-locked host memory alike. So one
//! comparison tells whether a kernel's access is in the range (`base <= address < base + size`). [`Arena::is_live`]
//! tells more exactly whether it touches memory, without a lock, at the granularity of a GPU, pages of 2 MiB
//! ([`GRANULE`]). All bytes of a granule with an allocation can be read and written, and take no memory until they
//! are. Must not know: devices, kernels, what is shared with which process ([`super::shared`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use cushim_accel::locks::lock;

use super::granules::Granules;
pub use super::granules::{GRANULE, PAGE};
use super::shared::Shared;

/// Every allocation begins at a multiple of this, as CUDA promises.
pub const ALIGN: u64 = 256;
/// Allocations from this size on have their own pages, which are returned to the system with them.
const LARGE: u64 = 64 << 10;
/// Larger allocations have their own granules, as on a GPU: a write beyond their end reaches no other allocation.
const ALONE: u64 = 1 << 20;
/// The largest range and the smallest: virtual addresses cost nothing, but a process may be limited in them.
const SIZES: (u64, u64) = (1 << 40, 32 << 20);

/// The range.
pub struct Arena {
    pub(super) granules: Granules,
    pub(super) state: Mutex<State>,
}

/// What of the range is in use.
#[derive(Default)]
pub(super) struct State {
    /// Unused ranges: length by address, and (length, address).
    free: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    /// Allocations by address.
    pub(super) live: BTreeMap<u64, Allocation>,
    /// Addresses that were reserved without memory: length by address.
    pub(super) reserved: BTreeMap<u64, u64>,
    /// Pages that are backed by files, by address.
    pub(super) shared: BTreeMap<u64, Shared>,
}

/// An allocation.
#[derive(Clone, Copy)]
pub(super) struct Allocation {
    /// Bytes of the range that belong to this allocation alone.
    pub(super) span: u64,
    /// Bytes of the allocation.
    pub(super) length: u64,
    /// The requested bytes.
    pub(super) bytes: u64,
}

impl State {
    fn put(&mut self, address: u64, length: u64) {
        if length > 0 {
            self.free.insert(address, length);
            self.by_length.insert((length, address));
        }
    }

    fn remove(&mut self, address: u64) -> Option<u64> {
        let length = self.free.remove(&address)?;
        self.by_length.remove(&(length, address));
        Some(length)
    }

    /// The smallest unused range that fits: its address, its length, and the aligned address in it. An allocation
    /// that is no larger than a granule lies in one.
    pub(super) fn find(&self, length: u64, align: u64) -> Option<(u64, u64, u64)> {
        self.by_length.range((length, 0)..).find_map(|&(found, address)| {
            let mut at = address.checked_next_multiple_of(align)?;
            if length <= GRANULE && at / GRANULE != (at + length - 1) / GRANULE {
                at = at.next_multiple_of(GRANULE).checked_next_multiple_of(align)?;
            }
            (at + length <= address + found).then_some((address, found, at))
        })
    }

    /// Takes a part of an unused range.
    pub(super) fn take(&mut self, (address, found, at): (u64, u64, u64), length: u64) {
        self.remove(address);
        self.put(address, at - address);
        self.put(at + length, address + found - at - length);
    }

    /// The unused range that contains all of these bytes.
    pub(super) fn unused(&self, at: u64, length: u64) -> Option<(u64, u64, u64)> {
        let (&address, &found) = self.free.range(..=at).next_back()?;
        let end = at.checked_add(length)?;
        (end <= address + found).then_some((address, found, at))
    }

    /// Puts a range to the unused ones.
    pub(super) fn give_back(&mut self, address: u64, length: u64) {
        let (mut from, mut to) = (address, address + length);
        let before = self.free.range(..address).next_back().map(|(at, n)| (*at, *n));
        if let Some((at, _)) = before.filter(|(at, n)| at + n == address) {
            self.remove(at);
            from = at;
        }
        if let Some(n) = self.remove(to) {
            to += n;
        }
        self.put(from, to - from);
    }
}

impl Arena {
    /// Reserves the range, of 1 TiB or of a part of what the process may have, which needs the rest for itself; of nothing
    /// where it may have none, and then every allocation is refused.
    pub fn reserve() -> Arena {
        let (most, least) = SIZES;
        let mut sizes =
            std::iter::successors(Some(most), |size| (*size > least).then_some(size / 2));
        let granules = sizes.find_map(|size| Granules::reserve(size, size / 4)).unwrap_or_default();
        let (base, size) = granules.range();
        let arena = Arena { granules, state: Mutex::default() };
        // The first page stays unused: no allocation begins where the range does.
        lock(&arena.state).put(base + PAGE, size.saturating_sub(PAGE));
        arena
    }

    /// Bytes of all allocations.
    pub fn taken(&self) -> u64 {
        lock(&self.state).live.values().map(|found| found.length).sum()
    }

    /// Bytes of large allocations that have no pages yet, because they were not touched.
    pub fn untouched(&self) -> u64 {
        let state = lock(&self.state);
        let large = state.live.iter().filter(|(_, found)| found.length >= LARGE);
        large.map(|(at, found)| found.length - Granules::touched(*at, found.length)).sum()
    }

    /// Where it lies: address and length.
    pub fn range(&self) -> (u64, u64) {
        self.granules.range()
    }

    /// Memory of `bytes`, aligned to `align` and at least [`ALIGN`]; the content is anything.
    /// `None` where there is no more.
    pub fn allocate(&self, bytes: u64, align: u64) -> Option<u64> {
        let mut length = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let mut align = align.max(ALIGN);
        if length >= LARGE {
            length = length.checked_next_multiple_of(PAGE)?;
            align = align.max(PAGE);
        }
        let mut state = lock(&self.state);
        let alone = (length > ALONE).then(|| {
            let span = length.checked_next_multiple_of(GRANULE)?;
            Some((span, state.find(span, align.max(GRANULE))?))
        });
        // There may be room for the bytes without room for whole granules.
        let close = || Some((length, state.find(length, align)?));
        let (span, place) = alone.flatten().or_else(close)?;
        let at = place.2;
        // The state changes only after the system call has succeeded.
        if !self.granules.commit(at, length) {
            return None;
        }
        state.take(place, span);
        state.live.insert(at, Allocation { span, length, bytes });
        Some(at)
    }

    /// Gives memory back; false if nothing was allocated at this address.
    pub fn free(&self, address: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(gone) = state.live.remove(&address) else { return false };
        self.unshare(&mut state, address, gone.length);
        self.granules.leave(address, gone.length, gone.length >= LARGE);
        state.give_back(address, gone.span);
        true
    }

    /// The allocation nearest to some bytes: its address and its requested size.
    pub fn nearest(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let state = lock(&self.state);
        let own = |(at, found): (&u64, &Allocation)| (*at, found.bytes);
        let before = state.live.range(..=address).next_back().map(own);
        let after = state.live.range(address..).next().map(own);
        let below = |(at, size): &(u64, u64)| address.saturating_sub(at.saturating_add(*size));
        let above = |(at, _): &(u64, u64)| at.saturating_sub(address.saturating_add(bytes));
        match (before, after) {
            (Some(b), Some(a)) => Some(if below(&b) <= above(&a) { b } else { a }),
            (b, a) => b.or(a),
        }
    }

    /// Whether bytes lie inside an allocation, to the byte, or in a mapping at reserved addresses.
    pub fn is_inside(&self, address: u64, bytes: u64) -> bool {
        let state = lock(&self.state);
        let within =
            |at: u64, length: u64| address - at <= length && bytes <= length - (address - at);
        let found = state.live.range(..=address).next_back();
        if found.is_some_and(|(at, found)| within(*at, found.bytes)) {
            return true;
        }
        let found = state.reserved.range(..=address).next_back();
        found.is_some_and(|(at, length)| within(*at, *length)) && self.is_live(address, bytes)
    }

    /// Whether the address lies in the range, allocated or not.
    pub fn contains(&self, address: u64) -> bool {
        self.granules.contains(address)
    }

    /// Whether every granule of these bytes has an allocation.
    #[inline]
    pub fn is_live(&self, address: u64, bytes: u64) -> bool {
        self.granules.is_live(address, bytes)
    }

    /// Whether, besides, the bytes may be written.
    #[inline]
    pub fn is_writable(&self, address: u64, bytes: u64) -> bool {
        self.granules.is_writable(address, bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_taken_back_and_given_again() {
        let arena = Arena::reserve();
        let small: Vec<u64> = (1..50).map(|n| arena.allocate(n * 40, 1).unwrap()).collect();
        assert!(small.iter().all(|at| at % ALIGN == 0 && arena.is_live(*at, 1)));
        let large = arena.allocate(3 << 20, 1 << 16).unwrap();
        assert_eq!(large % GRANULE, 0);
        // SAFETY: just allocated, up to the end of its last granule.
        unsafe {
            (large as *mut u64).write(7);
            ((large + 2 * GRANULE - 8) as *mut u64).write(7);
        }
        assert!(arena.is_live(large, 2 * GRANULE), "to the end of its last granule");
        assert!(!arena.is_live(large, 2 * GRANULE + 1));
        assert!(arena.free(large) && !arena.free(large) && !arena.is_live(large, 1));
        let again = arena.allocate(4 << 20, 1 << 16).unwrap();
        assert_eq!(again, large);
        // SAFETY: just allocated.
        let found = unsafe {
            [(again as *const u64).read(), ((again + (4 << 20) - 8) as *const u64).read()]
        };
        assert_eq!(found, [0; 2], "large memory comes back empty");
        for at in small.into_iter().chain([again]) {
            assert!(arena.free(at));
        }
        let state = lock(&arena.state);
        assert!(state.live.is_empty() && state.free.len() == 1, "ranges join again");
    }

    #[test]
    fn what_is_small_lies_on_one_granule() {
        let arena = Arena::reserve();
        for bytes in [700 << 10, 900 << 10, 1 << 20, 300 << 10, 1 << 20, 512, 800 << 10] {
            let at = arena.allocate(bytes, 1).unwrap();
            assert_eq!(at / GRANULE, (at + bytes - 1) / GRANULE, "{bytes}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let arena = Arena::reserve();
        let (_, size) = arena.range();
        assert_eq!(arena.allocate(size, 1), None);
        assert_eq!(arena.allocate(u64::MAX, 1), None);
        assert!(!arena.free(1) && !arena.contains(1) && !arena.is_live(u64::MAX, 8));
    }

    #[test]
    fn what_is_not_touched_takes_no_memory() {
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * PAGE
        };
        let arena = Arena::reserve();
        let before = resident();
        // One page of each granule is written; the other pages are mapped, too.
        let all: Vec<u64> = (0..64).map(|_| arena.allocate(ALONE + PAGE, 1).unwrap()).collect();
        for at in &all {
            // SAFETY: just allocated.
            unsafe { (*at as *mut u64).write(7) };
        }
        let taken = resident().saturating_sub(before);
        assert!(taken < 32 * GRANULE, "{taken} bytes");
    }
}
