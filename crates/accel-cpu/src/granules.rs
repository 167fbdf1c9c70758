//! The pages of the range, in granules of 2 MiB.
//!
//! Owns which granules are accessible, the number of allocations in each, and their backing pages. The system may use
//! one large page for a granule that is allocated completely, but not for others, so that unallocated bytes take no
//! memory until they are touched. Must not know: where allocations begin and end.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_accel::Access;

/// The page size of a GPU: all bytes on a page with an allocation are accessible.
pub const GRANULE: u64 = 2 << 20;
/// Pages of the system.
pub const PAGE: u64 = 4096;
/// Set in a granule's entry while it is accessible; the other bits count its allocations.
const COMMITTED: u32 = 1 << 31;
/// Set while the system may back it by a large page.
const WHOLE: u32 = 1 << 30;
/// Set while it can be read only.
const READ_ONLY: u32 = 1 << 29;
const COUNT: u32 = READ_ONLY - 1;

/// What there is of a granule.
struct Entry {
    /// See above.
    state: AtomicU32,
    /// Allocated bytes; changed only under the arena's lock.
    bytes: AtomicU32,
}

/// The granules of a range.
#[derive(Default)]
pub(super) struct Granules {
    base: u64,
    size: u64,
    /// In separate zeroed memory.
    entries: &'static [Entry],
}

fn map(bytes: u64, protection: i32) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the system's choice.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes as usize, protection, flags, -1, 0) };
    (at != libc::MAP_FAILED).then_some(at as u64)
}

/// Undoes [`map`] before the memory is used.
fn unmap(at: u64, bytes: u64) {
    // SAFETY: as above.
    unsafe { libc::munmap(at as *mut _, bytes as usize) };
}

impl Granules {
    /// A range of `size` bytes; `None` where the process may not have it, and then `rest` more.
    pub(super) fn reserve(size: u64, rest: u64) -> Option<Granules> {
        let whole = map(size + GRANULE, libc::PROT_NONE)?;
        let count = (size / GRANULE) as usize;
        let bytes = (count * size_of::<Entry>()) as u64;
        let entries = map(rest, libc::PROT_NONE).and_then(|more| {
            unmap(more, rest);
            map(bytes, libc::PROT_READ | libc::PROT_WRITE)
        });
        let Some(entries) = entries else {
            unmap(whole, size + GRANULE);
            return None;
        };
        // SAFETY: as many zero bytes that nobody else has, never unmapped; zero is a valid entry.
        let entries = unsafe { std::slice::from_raw_parts(entries as *const Entry, count) };
        let granules = Granules { base: whole.next_multiple_of(GRANULE), size, entries };
        granules.advise(granules.base, size, libc::MADV_NOHUGEPAGE);
        Some(granules)
    }

    /// Address and length.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.base, self.size)
    }

    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Whether something is on every granule of these bytes.
    #[inline]
    pub(super) fn is_live(&self, address: u64, bytes: u64) -> bool {
        self.all(address, bytes, |state| state & COUNT != 0)
    }

    /// Whether, besides, it may be written.
    #[inline]
    pub(super) fn is_writable(&self, address: u64, bytes: u64) -> bool {
        self.all(address, bytes, |state| state & COUNT != 0 && state & READ_ONLY == 0)
    }

    /// Whether the states of all granules of these bytes, of which there are some, are so.
    #[inline]
    fn all(&self, address: u64, bytes: u64, is: impl Fn(u32) -> bool) -> bool {
        let at = address.wrapping_sub(self.base);
        if at >= self.size || bytes > self.size - at {
            return false;
        }
        let counted = |granule: u64| {
            let entry = self.entries.get(granule as usize);
            entry.is_some_and(|entry| is(entry.state.load(Ordering::Relaxed)))
        };
        (at / GRANULE..=(at + bytes.max(1) - 1) / GRANULE).all(counted)
    }

    /// The granules of these bytes, by number.
    fn numbers(&self, address: u64, bytes: u64) -> std::ops::Range<usize> {
        let at = address - self.base;
        (at / GRANULE) as usize..(at + bytes).div_ceil(GRANULE) as usize
    }

    /// Runs of granules of a range for which `is` holds: address and bytes of each.
    fn runs(
        &self,
        range: std::ops::Range<usize>,
        is: impl Fn(&Entry) -> bool,
    ) -> Vec<(u64, u64, std::ops::Range<usize>)> {
        let mut found: Vec<std::ops::Range<usize>> = Vec::new();
        for number in range.filter(|n| self.entries.get(*n).is_some_and(&is)) {
            match found.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => found.push(number..number + 1),
            }
        }
        let place = |run: std::ops::Range<usize>| {
            let at = self.base + run.start as u64 * GRANULE;
            (at, run.len() as u64 * GRANULE, run)
        };
        found.into_iter().map(place).collect()
    }

    fn protect(&self, at: u64, bytes: u64, protection: i32) -> bool {
        // SAFETY: pages of the range.
        unsafe { libc::mprotect(at as *mut _, bytes as usize, protection) == 0 }
    }

    /// Bytes of whole pages that the system has memory for; all of them where it does not say.
    pub(super) fn touched(address: u64, bytes: u64) -> u64 {
        /// Pages per query.
        const PAGES: usize = 1 << 16;
        let mut pages = vec![0_u8; PAGES.min((bytes / PAGE) as usize)];
        let mut found = 0;
        for at in (address..address + bytes).step_by(PAGES * PAGE as usize) {
            let length = (address + bytes - at).min((PAGES as u64) * PAGE);
            // SAFETY: a byte for each of these pages.
            let done = unsafe { libc::mincore(at as *mut _, length as usize, pages.as_mut_ptr()) };
            let own = pages.get(..(length / PAGE) as usize).unwrap_or_default();
            let there = own.iter().filter(|page| **page & 1 != 0).count() as u64 * PAGE;
            found += if done == 0 { there } else { length };
        }
        found
    }

    /// A wish: a system that refuses it changes nothing else.
    fn advise(&self, at: u64, bytes: u64, advice: i32) {
        // SAFETY: pages of the range, and only how they are backed changes, or what nobody has any more goes.
        unsafe { libc::madvise(at as *mut _, bytes as usize, advice) };
    }

    fn set(&self, range: std::ops::Range<usize>, change: impl Fn(u32) -> u32) {
        for entry in self.entries.get(range).unwrap_or_default() {
            entry.state.store(change(entry.state.load(Ordering::Relaxed)), Ordering::Release);
        }
    }

    /// The bytes of a range that lie in a granule.
    fn part(&self, number: usize, address: u64, bytes: u64) -> u32 {
        let at = self.base + number as u64 * GRANULE;
        let end = (address + bytes).min(at + GRANULE);
        end.saturating_sub(address.max(at)) as u32
    }

    /// Makes the granules of an allocation usable, and counts it on each. False where the system has no more.
    pub(super) fn commit(&self, address: u64, bytes: u64) -> bool {
        let range = self.numbers(address, bytes);
        let state = |entry: &Entry| entry.state.load(Ordering::Relaxed);
        for (at, length, run) in self.runs(range.clone(), |e| state(e) & COMMITTED == 0) {
            if !self.protect(at, length, libc::PROT_READ | libc::PROT_WRITE) {
                return false;
            }
            self.set(run, |state| state | COMMITTED);
        }
        for number in range.clone() {
            if let Some(entry) = self.entries.get(number) {
                entry.bytes.fetch_add(self.part(number, address, bytes), Ordering::Relaxed);
            }
        }
        self.set(range.clone(), |state| state + 1);
        let full = |e: &Entry| e.bytes.load(Ordering::Relaxed) as u64 == GRANULE;
        for (at, length, run) in self.runs(range, |e| full(e) && state(e) & WHOLE == 0) {
            self.advise(at, length, libc::MADV_HUGEPAGE);
            self.set(run, |state| state | WHOLE);
        }
        true
    }

    /// An allocation was freed. `give`: the system gets its pages back, and the granules that are empty now. Pages
    /// that the system refuses stay usable, which does no harm.
    pub(super) fn leave(&self, address: u64, bytes: u64, give: bool) {
        let range = self.numbers(address, bytes);
        let state = |entry: &Entry| entry.state.load(Ordering::Relaxed);
        for number in range.clone() {
            if let Some(entry) = self.entries.get(number) {
                entry.bytes.fetch_sub(self.part(number, address, bytes), Ordering::Relaxed);
            }
        }
        self.set(range.clone(), |state| state - 1);
        if !give {
            return;
        }
        self.advise(address, bytes, libc::MADV_DONTNEED);
        for (at, length, run) in self.runs(range.clone(), |e| state(e) & WHOLE != 0) {
            self.advise(at, length, libc::MADV_NOHUGEPAGE);
            self.set(run, |state| state & !WHOLE);
        }
        for (at, length, run) in self.runs(range, |e| state(e) & COUNT == 0) {
            // The program may have written beyond the end of its allocation.
            self.advise(at, length, libc::MADV_DONTNEED);
            if self.protect(at, length, libc::PROT_NONE) {
                self.set(run, |_| 0);
            }
        }
    }

    /// Puts pages of a file into whole granules, or of nothing. What was there has gone.
    pub(super) fn replace(
        &self,
        at: u64,
        bytes: u64,
        file: Option<(i32, u64)>,
        open: bool,
    ) -> bool {
        let protection = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        let (kind, fd, from) = match file {
            Some((fd, from)) => (libc::MAP_SHARED, fd, from),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0),
        };
        let (length, flags) = (bytes as usize, kind | libc::MAP_FIXED);
        // SAFETY: pages of the range, which nobody uses.
        let made = unsafe { libc::mmap(at as *mut _, length, protection, flags, fd, from as i64) };
        if made == libc::MAP_FAILED {
            return false;
        }
        let range = self.numbers(at, bytes);
        self.advise(at, bytes, libc::MADV_NOHUGEPAGE);
        self.set(range, |state| state & !WHOLE);
        true
    }

    /// Lets whole granules that no allocation has be accessed so from now on.
    pub(super) fn open(&self, at: u64, bytes: u64, access: Access) -> bool {
        let (protection, now) = match access {
            Access::None => (libc::PROT_NONE, 0),
            Access::Read => (libc::PROT_READ, COMMITTED | READ_ONLY | 1),
            Access::Write => (libc::PROT_READ | libc::PROT_WRITE, COMMITTED | 1),
        };
        let range = self.numbers(at, bytes);
        // The entries stay cleared until the protection has changed.
        self.set(range.clone(), |_| 0);
        let done = self.protect(at, bytes, protection);
        if done {
            self.set(range, |_| now);
        }
        done
    }
}
