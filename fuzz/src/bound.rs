//! The limits of an input: processor time and memory, in proportion to its length.
//!
//! Owns the limits, which are generous: a reader exceeds them not by reading its input a few times, but by reading it
//! once for each of many items in it. Must not know the readers. Only fuzz targets include this file: it counts every
//! allocation of the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A constant, added to what grows with the input.
const TIME_FLOOR: Duration = Duration::from_millis(300);
/// For each byte of input. Targets are compiled with counters and little optimisation.
const TIME_EACH: Duration = Duration::from_micros(5);
/// The targets' limits let all images unpack to 16 MiB together, and one image to 4.
const MEMORY_FLOOR: usize = 96 << 20;
/// For each byte of input.
const MEMORY_EACH: usize = 1024;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call passes unchanged to the system's allocator; counting accesses none of its memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Processor time of this thread: other processes do not count.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs `target` on `data`; panics if that took more than its length allows. A slow run is repeated
/// twice, so that one page fault at a bad moment does not count.
pub fn bounded(data: &[u8], target: fn(&[u8])) {
    let allowed = TIME_FLOOR + TIME_EACH * data.len() as u32;
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let begun = processor_time();
        target(data);
        least = least.min(processor_time() - begun);
        let most = MOST.load(Ordering::Relaxed).saturating_sub(before);
        let bound = MEMORY_FLOOR + MEMORY_EACH * data.len();
        assert!(most <= bound, "{} bytes of input took {most} bytes of memory, over {bound}", data.len());
        if least <= allowed {
            return;
        }
    }
    panic!("{} bytes of input took {least:?} of processor time, over {allowed:?}", data.len());
}
