//! This library's own heap, straight from the system.
//!
//! Owns the heap. The C library of this namespace has one, too, but valgrind replaces `realloc` and `free` of every C
//! library while memory from before is in use, and crashes. Must not know: what is stored in it.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Blocks of this size and more are returned to the system. Smaller ones have sizes of powers of two and are reused:
/// a program may load and unload libraries without end, and reading one takes thousands of blocks.
const LARGE: usize = 32 << 10;
/// The least size of a piece, which holds a pointer while it is free.
const LEAST: usize = 16;
const SIZES: usize = (LARGE / LEAST).trailing_zeros() as usize;
/// Small pieces are cut from blocks of this size.
const BLOCK: usize = 256 << 10;
/// What the system aligns to.
const PAGE: usize = 4096;

/// Blocks one after the other.
pub struct Heap {
    inside: Mutex<Inside>,
}

struct Inside {
    /// Begin and end of the free part of the latest block.
    room: (usize, usize),
    /// The first free piece of each size; each piece holds the address of the next.
    free: [*mut u8; SIZES],
}

// SAFETY: free pieces are nobody's.
unsafe impl Send for Inside {}

impl Heap {
    /// Empty.
    pub const fn new() -> Heap {
        Heap { inside: Mutex::new(Inside { room: (0, 0), free: [ptr::null_mut(); SIZES] }) }
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

/// The size of the pieces for such a layout, and its number among the sizes.
fn class(layout: &Layout) -> (usize, usize) {
    let size = layout.size().max(layout.align()).max(LEAST).next_power_of_two();
    (size, (size / LEAST).trailing_zeros() as usize)
}

impl Inside {
    fn take(&mut self, (size, number): (usize, usize)) -> *mut u8 {
        if let Some(first) = self.free.get_mut(number)
            && !first.is_null()
        {
            let piece = *first;
            // SAFETY: a free piece, in which `give` has stored the next.
            *first = unsafe { piece.cast::<*mut u8>().read() };
            return piece;
        }
        let mut at = self.room.0.next_multiple_of(size.min(PAGE));
        if self.room.0 == 0 || at + size > self.room.1 {
            at = pages(BLOCK) as usize;
            if at == 0 {
                return ptr::null_mut();
            }
            self.room.1 = at + BLOCK;
        }
        self.room.0 = at + size;
        at as *mut u8
    }

    /// # Safety
    /// `piece` is one of this size, and in use no more.
    unsafe fn give(&mut self, piece: *mut u8, number: usize) {
        if let Some(first) = self.free.get_mut(number) {
            // SAFETY: at least LEAST bytes, aligned to that.
            unsafe { piece.cast::<*mut u8>().write(*first) };
            *first = piece;
        }
    }
}

// SAFETY: pieces do not overlap, are aligned, and stay until they are given back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return ptr::null_mut();
        }
        let class = class(&layout);
        if class.0 >= LARGE {
            return pages(layout.size());
        }
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).take(class)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let (size, number) = class(&layout);
        if size >= LARGE {
            // SAFETY: `alloc` mapped just these pages.
            unsafe { libc::munmap(at.cast(), layout.size()) };
            return;
        }
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `alloc` gave it out for such a layout.
        unsafe { inside.give(at, number) };
    }
}
