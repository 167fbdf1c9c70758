//! The library's own heap, straight from the system.
//!
//! A program's `malloc` may be a sanitizer's, which reports every block that is neither freed nor reachable, and may
//! call CUDA. Blocks have sizes of powers of two, and are in a lock-free list for each size: a fork may come between
//! any two instructions of another thread, and the child has consistent lists. Small blocks are never returned to the
//! system. Must not know: what is stored in it.

use std::alloc::{GlobalAlloc, Layout};
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The least size of a piece, and the exponent of it.
const LEAST: usize = 16;
const LEAST_BITS: u32 = LEAST.trailing_zeros();
/// From this size on pages are mapped for each piece.
const LARGE: usize = 1 << 20;
const SIZES: usize = (LARGE.trailing_zeros() - LEAST_BITS) as usize;
/// How much is cut into pieces at a time; at least four pieces, or one of this size and more.
const BLOCK: usize = 16 << 10;
const PAGE: usize = 4096;

/// A heap.
pub struct Heap {
    free: [List; SIZES],
}

/// Free pieces of one size: the first, and a count against the ABA problem.
#[repr(C, align(16))]
struct List(UnsafeCell<[u64; 2]>);

/// The contents of a free block.
struct Piece {
    next: AtomicPtr<Piece>,
}

// SAFETY: changed by atomic instructions alone.
unsafe impl Sync for List {}

impl List {
    const fn new() -> Self {
        List(UnsafeCell::new([0; 2]))
    }

    /// Sets both words to `new` if they are `old`; returns what they were.
    fn exchange(&self, old: [u64; 2], new: [u64; 2]) -> Result<(), [u64; 2]> {
        let (mut low, mut high) = (old[0], old[1]);
        let done: u8;
        // SAFETY: an aligned place of 16 bytes. The instruction needs rbx, which cannot be named as
        // an operand, hence the exchange; the compiler might place another operand there and read
        // or write it meanwhile, so each has a fixed register. Every x86-64 processor that runs
        // CUDA has the instruction (x86-64-v2).
        unsafe {
            asm!(
                "xchg rsi, rbx",
                "lock cmpxchg16b [rdi]",
                "sete r8b",
                "mov rbx, rsi",
                inout("rsi") new[0] => _,
                in("rdi") self.0.get(),
                out("r8b") done,
                inout("rax") low,
                inout("rdx") high,
                in("rcx") new[1],
                options(nostack),
            );
        }
        if done != 0 { Ok(()) } else { Err([low, high]) }
    }

    /// Both words, perhaps not of one moment: the exchange finds out.
    fn look(&self) -> [u64; 2] {
        let words = self.0.get().cast::<AtomicU64>();
        // SAFETY: two aligned words that are only touched as atomics.
        unsafe { [(*words).load(Ordering::Acquire), (*words.add(1)).load(Ordering::Acquire)] }
    }

    fn take(&self) -> *mut Piece {
        let mut seen = self.look();
        loop {
            let first = seen[0] as *mut Piece;
            let next = match first.is_null() {
                true => ptr::null_mut(),
                // SAFETY: pieces stay mapped. Another thread may own it by now and write here; then
                // the count differs, and what was read is not used.
                false => unsafe { (*first).next.load(Ordering::Acquire) },
            };
            match self.exchange(seen, [next.addr() as u64, seen[1].wrapping_add(1)]) {
                Ok(()) => return first,
                Err(now) => seen = now,
            }
        }
    }

    /// Puts the pieces from `first` to `last`, which name each other, in front.
    ///
    /// # Safety
    /// Nobody else has these pieces, which stay for ever.
    unsafe fn put(&self, first: *mut Piece, last: *mut Piece) {
        let mut seen = self.look();
        loop {
            // SAFETY: the caller hands over pieces that nobody else has, from `first` to `last`.
            unsafe { (*last).next.store(seen[0] as *mut Piece, Ordering::Release) };
            match self.exchange(seen, [first.addr() as u64, seen[1].wrapping_add(1)]) {
                Ok(()) => return,
                Err(now) => seen = now,
            }
        }
    }
}

impl Heap {
    /// Empty.
    pub const fn new() -> Self {
        Heap { free: [const { List::new() }; SIZES] }
    }

    /// The list of pieces for `layout`, and their size.
    fn list(&self, layout: Layout) -> Option<(&List, usize)> {
        let size = layout.size().max(layout.align()).max(LEAST).checked_next_power_of_two()?;
        Some((self.free.get((size.trailing_zeros() - LEAST_BITS) as usize)?, size))
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

/// Pages; null if there are none.
fn pages(bytes: usize) -> *mut u8 {
    let (access, how) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at a place that the system chooses.
    let found = unsafe { libc::mmap(ptr::null_mut(), bytes, access, how, -1, 0) };
    if found == libc::MAP_FAILED { ptr::null_mut() } else { found.cast() }
}

/// Memory for when the system gives no more (a sandbox, RLIMIT_AS): std would end the process where
/// an allocation fails. Untouched it costs nothing.
#[repr(C, align(4096))]
struct Reserve(UnsafeCell<[u8; 1 << 20]>);

// SAFETY: pieces of it are handed out once.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new([0; 1 << 20]));
static RESERVED: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn reserved(size: usize) -> *mut u8 {
    let place = |used: usize| {
        let at = used.next_multiple_of(size.min(PAGE));
        (at + size <= 1 << 20).then_some(at + size)
    };
    match RESERVED.fetch_update(Ordering::AcqRel, Ordering::Acquire, place) {
        Ok(used) => {
            RESERVE.0.get().cast::<u8>().wrapping_add(used.next_multiple_of(size.min(PAGE)))
        }
        Err(_) => ptr::null_mut(),
    }
}

/// Cuts fresh memory into pieces: one for the caller, the others into the list.
#[cold]
fn cut(list: &List, size: usize) -> *mut u8 {
    let count = if size < BLOCK { (BLOCK / size).max(4) } else { 1 };
    let base = pages(count * size);
    if count == 1 && !base.is_null() {
        return base;
    }
    if !base.is_null() {
        let piece = |n: usize| base.wrapping_add(n * size).cast::<Piece>();
        for n in 1..count - 1 {
            // SAFETY: inside the memory, which nobody else has seen.
            unsafe { (*piece(n)).next = AtomicPtr::new(piece(n + 1)) };
        }
        // SAFETY: pieces of memory that was mapped just now, each naming the next one.
        unsafe { list.put(piece(1), piece(count - 1)) };
        return base;
    }
    reserved(size)
}

// SAFETY: pieces do not overlap, are aligned to their own size (to a page at most), and stay until they are given back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return ptr::null_mut();
        }
        let Some((list, size)) = self.list(layout) else { return pages(layout.size()) };
        match list.take() {
            piece if piece.is_null() => cut(list, size),
            piece => piece.cast(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let piece = unsafe { self.alloc(layout) };
        if !piece.is_null() && self.list(layout).is_some() {
            // SAFETY: a fresh piece of this size; pages are zero as they come.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match self.list(layout) {
            // SAFETY: a piece of this list's size, which whoever had it gives back.
            Some((list, _)) => unsafe { list.put(at.cast(), at.cast()) },
            // SAFETY: `alloc` mapped just these pages.
            None => unsafe {
                libc::munmap(at.cast(), layout.size());
            },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        match (self.list(layout), self.list(wanted)) {
            (Some((_, had)), Some((_, new))) if had == new => return at,
            (None, None) => {
                // SAFETY: pages that `alloc` mapped.
                let moved =
                    unsafe { libc::mremap(at.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                return if moved == libc::MAP_FAILED { ptr::null_mut() } else { moved.cast() };
            }
            _ => {}
        }
        // SAFETY: a layout of at least one byte, as the caller promises.
        let fresh = unsafe { self.alloc(wanted) };
        if !fresh.is_null() {
            // SAFETY: both have so many bytes, and are apart.
            unsafe {
                fresh.copy_from_nonoverlapping(at, layout.size().min(size));
                self.dealloc(at, layout);
            }
        }
        fresh
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    static HEAP: Heap = Heap::new();

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn pieces_are_aligned_apart_and_used_again() {
        for (size, align) in [
            (1, 1),
            (16, 16),
            (17, 8),
            (100, 64),
            (5000, 4096),
            (40_000, 8),
            (100_000, 8),
            (1 << 20, 8),
        ] {
            let layout = layout(size, align);
            // SAFETY: a layout of nonzero size; each piece is freed once.
            unsafe {
                let pieces: Vec<*mut u8> = (0..50).map(|_| HEAP.alloc(layout)).collect();
                for (n, piece) in pieces.iter().enumerate() {
                    assert!(!piece.is_null() && piece.addr().is_multiple_of(align), "{size}");
                    piece.write_bytes(n as u8, size);
                }
                for (n, piece) in pieces.iter().enumerate() {
                    let bytes = std::slice::from_raw_parts(*piece, size);
                    assert!(bytes.iter().all(|b| *b == n as u8), "{size}: {n}");
                    HEAP.dealloc(*piece, layout);
                }
                let zeros = HEAP.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(zeros, size).iter().all(|b| *b == 0));
                HEAP.dealloc(zeros, layout);
            }
        }
        // SAFETY: the bytes are not accessed.
        assert!(unsafe { HEAP.alloc(layout(8, 8192)) }.is_null());
    }

    #[test]
    fn one_block_is_cut_into_many_pieces() {
        static ONE: Heap = Heap::new();
        // SAFETY: layouts of nonzero size.
        let pieces: Vec<usize> =
            (0..BLOCK / 64).map(|_| unsafe { ONE.alloc(layout(64, 8)) }.addr()).collect();
        let first = pieces[0];
        assert!(pieces.iter().all(|piece| (first..first + BLOCK).contains(piece)), "{pieces:x?}");
    }

    #[test]
    fn what_grows_or_shrinks_keeps_its_bytes() {
        let sizes = [1, 16, 17, 1000, 65_537, 1 << 20, (1 << 20) + 1, 5_000_000, 70_000, 30_000, 3];
        // SAFETY: each call passes the previous size.
        unsafe {
            let mut at = HEAP.alloc(layout(1, 8));
            at.write(9);
            for pair in sizes.windows(2) {
                at = HEAP.realloc(at, layout(pair[0], 8), pair[1]);
                let kept = pair[0].min(pair[1]);
                assert_eq!((at.read(), at.add(kept - 1).read()), (9, 9), "{pair:?}");
                at.write_bytes(9, pair[1]);
            }
        }
    }

    #[test]
    fn the_reserve_ends() {
        let mut pieces = vec![reserved(100), reserved(1024), reserved(8192)];
        assert!(pieces.iter().all(|p| !p.is_null()));
        assert!(pieces[1].addr().is_multiple_of(1024) && pieces[2].addr().is_multiple_of(PAGE));
        while !pieces[pieces.len() - 1].is_null() {
            pieces.push(reserved(8192));
        }
        pieces.pop();
        pieces.sort();
        assert!(pieces.len() > 100 && pieces.windows(2).all(|p| p[1].addr() - p[0].addr() >= 100));
    }

    #[test]
    fn threads_never_share_a_piece() {
        std::thread::scope(|scope| {
            for me in 0..4u8 {
                scope.spawn(move || {
                    let mut held: Vec<(*mut u8, usize)> = Vec::new();
                    for n in 0..20_000usize {
                        let size = 16 + n * 7 % 48;
                        // SAFETY: pieces of this thread, each freed once.
                        unsafe {
                            let piece = HEAP.alloc(layout(size, 8));
                            piece.write_bytes(me, size);
                            held.push((piece, size));
                            if held.len() > 8 {
                                let (old, size) = held.swap_remove(n % 8);
                                let bytes = std::slice::from_raw_parts(old, size);
                                assert!(bytes.iter().all(|b| *b == me));
                                HEAP.dealloc(old, layout(size, 8));
                            }
                        }
                    }
                });
            }
        });
    }
}
