//! One reserved range of addresses, from which all memory of the CPU's devices comes.
//!
//! Owns the range, what of it is allocated, and the pages behind it: device, managed and page-locked
//! host memory alike. So a kernel's access is inside if it is inside one range (`base <= address <
//! base + size`), and [`Arena::is_live`] says more exactly whether it touches an allocation: by pages
//! of 4 KiB, without a lock. Must not know: devices, kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use cushim_accel::locks::lock;

/// Every allocation begins at a multiple of this, as CUDA promises.
pub const ALIGN: u64 = 256;
const PAGE: u64 = 4096;
/// Allocations from here on have pages of their own, which are given back with them.
const LARGE: u64 = 64 << 10;
/// Set in a page's entry while it can be touched; the other bits count its allocations.
const COMMITTED: u8 = 0x80;
/// Ranges that are tried: virtual addresses cost nothing, but a process may be limited in them.
const SIZES: [u64; 6] = [1 << 40, 256 << 30, 64 << 30, 8 << 30, 1 << 30, 64 << 20];

/// The range.
pub struct Arena {
    base: u64,
    size: u64,
    /// A byte for each page, in zeroed memory of its own.
    pages: &'static [AtomicU8],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Unused ranges: length by address, and (length, address).
    free: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    /// Allocations: length by address, and how much of it was asked for.
    live: BTreeMap<u64, (u64, u64)>,
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

    /// The smallest unused range that fits: its address, its length, and the aligned address in it.
    fn find(&self, length: u64, align: u64) -> Option<(u64, u64, u64)> {
        self.by_length.range((length, 0)..).find_map(|&(found, address)| {
            let at = address.next_multiple_of(align);
            (at + length <= address + found).then_some((address, found, at))
        })
    }
}

fn map(bytes: u64, protection: i32) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the system's choice.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes as usize, protection, flags, -1, 0) };
    (at != libc::MAP_FAILED).then_some(at as u64)
}

impl Arena {
    /// Reserves the range, of 1 TiB or of what the process may have; of nothing where it may have none,
    /// and then every allocation is refused.
    pub fn reserve() -> Arena {
        let both = |size: &u64| {
            let base = map(*size, libc::PROT_NONE)?;
            let Some(pages) = map(*size / PAGE, libc::PROT_READ | libc::PROT_WRITE) else {
                // SAFETY: mapped above, and nobody has seen it.
                unsafe { libc::munmap(base as *mut _, *size as usize) };
                return None;
            };
            let (pages, count) = (pages as *const AtomicU8, (*size / PAGE) as usize);
            // SAFETY: `count` zero bytes that nobody else has, never unmapped; zero is a valid entry.
            Some((*size, base, unsafe { std::slice::from_raw_parts(pages, count) }))
        };
        let (size, base, pages) = SIZES.iter().find_map(both).unwrap_or_default();
        // Kernels go through large arrays in large steps, of which small pages make misses of the page tables.
        // A wish: a system without large pages refuses it, and nothing else changes.
        // SAFETY: the range is ours, and only how it is backed changes.
        unsafe { libc::madvise(base as *mut _, size as usize, libc::MADV_HUGEPAGE) };
        let arena = Arena { base, size, pages, state: Mutex::default() };
        // The first page stays unused: no allocation begins where the range does.
        lock(&arena.state).put(base + PAGE, size.saturating_sub(PAGE));
        arena
    }

    /// Where it lies: address and length.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.size)
    }

    fn entries(&self, address: u64, bytes: u64) -> &[AtomicU8] {
        let first = ((address - self.base) / PAGE) as usize;
        let last = ((address - self.base + bytes.max(1) - 1) / PAGE) as usize;
        self.pages.get(first..=last).unwrap_or_default()
    }

    fn protect(&self, first: usize, count: usize, protection: i32) -> bool {
        let at = self.base + first as u64 * PAGE;
        // SAFETY: pages of the range.
        unsafe { libc::mprotect(at as *mut _, count * PAGE as usize, protection) == 0 }
    }

    /// Makes pages usable, in as few calls as there are gaps; counts the allocation on each.
    fn commit(&self, address: u64, bytes: u64) -> bool {
        let first = ((address - self.base) / PAGE) as usize;
        let entries = self.entries(address, bytes);
        let is_in = |entry: &AtomicU8| entry.load(Ordering::Relaxed) & COMMITTED != 0;
        let mut at = 0;
        while let Some(gap) = entries.iter().skip(at).position(|entry| !is_in(entry)) {
            let start = at + gap;
            let length = entries.iter().skip(start).take_while(|entry| !is_in(entry)).count();
            if !self.protect(first + start, length, libc::PROT_READ | libc::PROT_WRITE) {
                return false;
            }
            for entry in entries.iter().skip(start).take(length) {
                entry.store(COMMITTED, Ordering::Relaxed);
            }
            at = start + length;
        }
        for entry in entries {
            entry.fetch_add(1, Ordering::Release);
        }
        true
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
        let (address, found, at) = state.find(length, align)?;
        // The state changes after the system has agreed.
        if !self.commit(at, length) {
            return None;
        }
        state.remove(address);
        state.put(address, at - address);
        state.put(at + length, address + found - at - length);
        state.live.insert(at, (length, bytes));
        Some(at)
    }

    /// Gives memory back; false if nothing was allocated at this address.
    pub fn free(&self, address: u64) -> bool {
        let mut state = lock(&self.state);
        let Some((length, _)) = state.live.remove(&address) else { return false };
        for entry in self.entries(address, length) {
            entry.fetch_sub(1, Ordering::Release);
        }
        if length >= LARGE {
            self.decommit(address, length);
        }
        let (mut from, mut to) = (address, address + length);
        let before = state.free.range(..address).next_back().map(|(at, n)| (*at, *n));
        if let Some((at, n)) = before.filter(|(at, n)| at + n == address) {
            state.remove(at);
            from = to - length - n;
        }
        if let Some(n) = state.remove(to) {
            to += n;
        }
        state.put(from, to - from);
        true
    }

    /// Gives the system its pages back. What it refuses stays usable, which harms nobody.
    fn decommit(&self, address: u64, length: u64) {
        // SAFETY: whole pages of an allocation that is gone.
        unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_DONTNEED) };
        let first = ((address - self.base) / PAGE) as usize;
        if self.protect(first, (length / PAGE) as usize, libc::PROT_NONE) {
            for entry in self.entries(address, length) {
                entry.store(0, Ordering::Release);
            }
        }
    }

    /// The allocation that is nearest to bytes: its address and what was asked for.
    pub fn nearest(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let state = lock(&self.state);
        let own = |(at, (_, size)): (&u64, &(u64, u64))| (*at, *size);
        let before = state.live.range(..=address).next_back().map(own);
        let after = state.live.range(address..).next().map(own);
        let below = |(at, size): &(u64, u64)| address.saturating_sub(at.saturating_add(*size));
        let above = |(at, _): &(u64, u64)| at.saturating_sub(address.saturating_add(bytes));
        match (before, after) {
            (Some(b), Some(a)) => Some(if below(&b) <= above(&a) { b } else { a }),
            (b, a) => b.or(a),
        }
    }

    /// Whether the address lies in the range, allocated or not.
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Whether every page of these bytes belongs to an allocation.
    #[inline]
    pub fn is_live(&self, address: u64, bytes: u64) -> bool {
        let at = address.wrapping_sub(self.base);
        if at >= self.size || bytes > self.size - at {
            return false;
        }
        let counted = |page: u64| {
            let entry = self.pages.get(page as usize);
            entry.is_some_and(|entry| entry.load(Ordering::Relaxed) & !COMMITTED != 0)
        };
        (at / PAGE..=(at + bytes.max(1) - 1) / PAGE).all(counted)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_taken_back_and_given_again() {
        let arena = Arena::reserve();
        let (base, _) = arena.range();
        let small: Vec<u64> = (1..50).map(|n| arena.allocate(n * 40, 1).unwrap()).collect();
        assert!(small.iter().all(|at| at % ALIGN == 0 && arena.is_live(*at, 1)));
        let large = arena.allocate(1 << 20, 1 << 16).unwrap();
        assert_eq!(large % (1 << 16), 0);
        // SAFETY: just allocated.
        unsafe { (large as *mut u64).write(7) };
        assert!(arena.is_live(large, 1 << 20));
        assert!(!arena.is_live(large + (1 << 20) - 1, 1 << 20) && !arena.is_live(base, 1));
        assert!(arena.free(large) && !arena.free(large) && !arena.is_live(large, 1));
        let again = arena.allocate(1 << 20, 1 << 16).unwrap();
        assert_eq!(again, large);
        // SAFETY: just allocated.
        assert_eq!(unsafe { (again as *const u64).read() }, 0, "large memory comes back empty");
        for at in small.into_iter().chain([again]) {
            assert!(arena.free(at));
        }
        let state = lock(&arena.state);
        assert!(state.live.is_empty() && state.free.len() == 1, "ranges join again");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let arena = Arena::reserve();
        let (_, size) = arena.range();
        assert_eq!(arena.allocate(size, 1), None);
        assert_eq!(arena.allocate(u64::MAX, 1), None);
        assert!(!arena.free(1) && !arena.contains(1) && !arena.is_live(u64::MAX, 8));
    }
}
