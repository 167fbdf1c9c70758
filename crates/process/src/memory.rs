//! Memory that is never freed, in blocks whose pages are populated.
//!
//! A library registers its kernels in one burst, 21,504 of them for PyTorch: page faults and an allocation for each
//! kernel took most of that time. Must not know: what is stored.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks of memory that pieces are cut from, one after another.
pub struct Blocks {
    at: AtomicUsize,
    end: AtomicUsize,
}

const BLOCK: usize = 64 << 10;

impl Blocks {
    /// None yet.
    pub const fn new() -> Self {
        Blocks { at: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    /// `size` bytes of zeros, aligned to `align` (a power of two, at most a page), for ever; `None`
    /// for more than a quarter of a block, or where the system gives no memory.
    ///
    /// # Safety
    /// One caller at a time: two at once could be given the same bytes.
    pub unsafe fn take(&self, size: usize, align: usize) -> Option<*mut u8> {
        if size > BLOCK / 4 {
            return None;
        }
        let mut at = self.at.load(Ordering::Relaxed).next_multiple_of(align);
        if at == 0 || at + size > self.end.load(Ordering::Relaxed) {
            // A fork may happen between any two of these stores: then the child takes a new block.
            self.at.store(0, Ordering::Release);
            at = pages(BLOCK)?.expose_provenance();
            self.end.store(at + BLOCK, Ordering::Release);
        }
        self.at.store(at + size, Ordering::Release);
        Some(std::ptr::with_exposed_provenance_mut(at))
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

/// `size` bytes of zeros whose pages are present.
pub fn pages(size: usize) -> Option<*mut u8> {
    // SAFETY: a new anonymous mapping.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
            -1,
            0,
        )
    };
    (base != libc::MAP_FAILED).then(|| base.cast())
}

/// Whether the whole range is mapped. `msync` with `MS_ASYNC` has done nothing else since Linux
/// 2.6.19.
pub fn is_mapped(address: usize, length: usize) -> bool {
    const PAGE: usize = 4096;
    let start = address & !(PAGE - 1);
    let Some(end) = address.checked_add(length) else { return false };
    // SAFETY: it looks at the mappings only.
    let answer = unsafe {
        libc::msync(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MS_ASYNC)
    };
    answer == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zero_aligned_and_apart() {
        let blocks = Blocks::new();
        let mut last = 0;
        for size in (1..2000).chain([BLOCK / 4; 9]) {
            // SAFETY: only this thread has the blocks.
            let place = unsafe { blocks.take(size, 8) }.unwrap();
            assert!(place.addr().is_multiple_of(8) && !(last..last + 1).contains(&place.addr()));
            // SAFETY: `size` bytes that no other code uses.
            let piece = unsafe { std::slice::from_raw_parts_mut(place, size) };
            assert!(piece.iter().all(|&b| b == 0), "nobody else wrote here");
            piece.fill(1);
            last = place.addr();
        }
        // SAFETY: no other code uses these blocks.
        assert!(unsafe { blocks.take(BLOCK / 4 + 1, 1) }.is_none());
    }
}
