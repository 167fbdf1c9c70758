//! One bit for each byte of device memory: set if an access needs no further check.
//!
//! Owns the bits, in a mapping of an eighth of the range's addresses, whose pages take memory once a bit in them is
//! set. Several threads set and clear neighbouring bits, so each change of part of a word is one atomic operation.
//! Must not know what a bit means.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Compiled code reads whole groups of bits, up to this many bytes before and after the range.
const MARGIN: u64 = 4096;

/// The bits of a range of addresses.
#[derive(Debug)]
pub struct Bits {
    /// Where the bits of the first address are.
    at: u64,
    first: u64,
    size: u64,
}

impl Bits {
    /// None set, for `size` bytes from `first` on, a multiple of 8. `None` where the system has no addresses for them.
    pub fn new(first: u64, size: u64) -> Option<Bits> {
        let length = (size / 8 + 2 * MARGIN) as usize;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the system's choice, unmapped with the bits.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        (at != libc::MAP_FAILED && first.is_multiple_of(8)).then(|| Bits {
            at: at as u64 + MARGIN,
            first,
            size,
        })
    }

    /// Where the bits of address 0 would be.
    pub fn base(&self) -> u64 {
        self.at.wrapping_sub(self.first / 8)
    }

    /// Whether all of these addresses have bits.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let at = address.wrapping_sub(self.first);
        at < self.size && bytes <= self.size - at
    }

    /// The bits of 64 addresses, the `number`-th of the range. The first of them must have one; x86's words have their
    /// lowest bits in their first bytes, so that these are the bits that compiled code reads.
    fn word(&self, number: u64) -> &AtomicU64 {
        let at = self.at + number * 8;
        // SAFETY: mapped as long as `self` lives (the margin holds what of the last word has no bits), zeroed, aligned, and only used
        // by atomic operations; `holds` was asked.
        unsafe { AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(at as usize)) }
    }

    /// Calls `change` with each word that has bits of these addresses, those bits, and its number, until it returns
    /// true.
    fn each(&self, address: u64, bytes: u64, mut change: impl FnMut(&AtomicU64, u64, u64) -> bool) {
        if bytes == 0 || !self.holds(address, bytes) {
            return;
        }
        let mut at = address - self.first;
        let end = at + bytes;
        while at < end {
            let next = (at / 64 * 64 + 64).min(end);
            let mask = (u64::MAX >> (64 - (next - at))) << (at % 64);
            if change(self.word(at / 64), mask, at / 64) {
                return;
            }
            at = next;
        }
    }

    /// Sets the bits of these addresses; addresses without bits are ignored.
    pub fn set(&self, address: u64, bytes: u64) {
        self.each(address, bytes, |word, mask, _| {
            if mask == u64::MAX {
                word.store(mask, Relaxed);
            } else {
                word.fetch_or(mask, Relaxed);
            }
            false
        });
    }

    /// Clears them.
    pub fn clear(&self, address: u64, bytes: u64) {
        self.each(address, bytes, |word, mask, _| {
            // Pages on which nothing was ever set stay untouched.
            if word.load(Relaxed) & mask != 0 {
                word.fetch_and(!mask, Relaxed);
            }
            false
        });
    }

    /// Whether all bits are set, of addresses that have bits.
    pub fn are_set(&self, address: u64, bytes: u64) -> bool {
        self.holds(address, bytes) && self.first_clear(address, bytes).is_none()
    }

    /// The first of these addresses whose bit is not set.
    pub fn first_clear(&self, address: u64, bytes: u64) -> Option<u64> {
        let mut found = None;
        self.each(address, bytes, |word, mask, number| {
            let clear = !word.load(Relaxed) & mask;
            found =
                (clear != 0).then(|| self.first + number * 64 + u64::from(clear.trailing_zeros()));
            found.is_some()
        });
        found
    }

    /// Gives the addresses from `to` on the bits of those from `from` on.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) {
        if self.first_clear(from, bytes).is_none() {
            return self.set(to, bytes);
        }
        // Backwards if the ranges overlap so that the other direction would read what it has written.
        let one = |n: u64| match self.first_clear(from + n, 1) {
            None => self.set(to + n, 1),
            Some(_) => self.clear(to + n, 1),
        };
        if to > from { (0..bytes).rev().for_each(one) } else { (0..bytes).for_each(one) }
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        let at = std::ptr::with_exposed_provenance_mut((self.at - MARGIN) as usize);
        // SAFETY: the mapping of `new`; whoever was told where the bits are does not look any more.
        unsafe { libc::munmap(at, (self.size / 8 + 2 * MARGIN) as usize) };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FIRST: u64 = 1 << 21;

    #[test]
    fn bits_of_a_part_leave_their_neighbours_alone() {
        let bits = Bits::new(FIRST, 1 << 20).unwrap();
        for (from, length) in [(0, 1), (3, 2), (5, 3), (6, 20), (64, 64), (129, 7), (200, 1000)] {
            let at = FIRST + from;
            bits.set(at, length);
            let set = |n: u64| bits.are_set(n, 1);
            let found: Vec<u64> = (FIRST..FIRST + 2000).filter(|n| set(*n)).collect();
            assert_eq!(found, (at..at + length).collect::<Vec<_>>());
            assert_eq!(bits.first_clear(at, length + 1), Some(at + length));
            bits.clear(at, length);
            assert!(!(FIRST..FIRST + 2000).any(set));
        }
    }

    #[test]
    fn what_has_no_bits_is_never_set() {
        let bits = Bits::new(FIRST, 1 << 20).unwrap();
        bits.set(FIRST + (1 << 20) - 4, 8);
        bits.set(FIRST - 1, 1);
        assert!(!bits.are_set(FIRST + (1 << 20) - 4, 4) && !bits.are_set(FIRST - 1, 1));
        assert!(!bits.are_set(0, 1) && !bits.are_set(u64::MAX, 8));
        assert_eq!(bits.base().wrapping_add(FIRST / 8), bits.at);
    }

    #[test]
    fn copies_carry_each_bit() {
        let bits = Bits::new(FIRST, 1 << 20).unwrap();
        for n in [0, 3, 4, 9, 17] {
            bits.set(FIRST + n, 1);
        }
        bits.set(FIRST + 101, 30);
        bits.copy(FIRST + 101, FIRST, 20);
        let set = |at: u64| (0..30).filter(|n| bits.are_set(at + n, 1)).collect::<Vec<u64>>();
        assert_eq!(set(FIRST + 101), [0, 3, 4, 9, 17, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
        // A copy within the same bits, to a higher address.
        bits.copy(FIRST + 2, FIRST, 20);
        assert_eq!(set(FIRST), [0, 2, 5, 6, 11, 19]);
    }
}
