//! Memory of this library's own, straight from the system.
//!
//! Owns the heap. The C library of this namespace has one, too, but valgrind takes `realloc` and `free` of every C library for its own
//! while memory from before is in use, and ends in a fault. Must not know: what is kept in it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::{Mutex, PoisonError};

/// Pieces of this size and more are given back to the system; lesser ones are not: what is looked at in one
/// object takes a few.
const LARGE: usize = 32 << 10;
/// Small pieces are cut from blocks of this size.
const BLOCK: usize = 256 << 10;
/// What the system aligns to.
const PAGE: usize = 4096;

/// Blocks one after the other.
pub struct Heap {
    /// From where to where there is room in the latest block.
    room: Mutex<(usize, usize)>,
}

impl Heap {
    /// Empty.
    pub const fn new() -> Heap {
        Heap { room: Mutex::new((0, 0)) }
    }
}

/// Pages; null if there are none.
fn pages(bytes: usize) -> *mut u8 {
    let (access, how) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at a place that the system chooses.
    let found = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, how, -1, 0) };
    if found == libc::MAP_FAILED { std::ptr::null_mut() } else { found.cast() }
}

// SAFETY: pieces do not overlap, are aligned, and stay until they are given back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return std::ptr::null_mut();
        }
        if layout.size() >= LARGE {
            return pages(layout.size());
        }
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = room.0.next_multiple_of(layout.align());
        if room.0 == 0 || at + layout.size() > room.1 {
            at = pages(BLOCK) as usize;
            if at == 0 {
                return std::ptr::null_mut();
            }
            room.1 = at + BLOCK;
        }
        room.0 = at + layout.size();
        at as *mut u8
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            // SAFETY: `alloc` mapped just these pages.
            unsafe { libc::munmap(at.cast(), layout.size()) };
        }
    }
}
