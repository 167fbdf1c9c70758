//! A thread's buffer: reserving slots, storing events.
//!
//! The hot path of the whole project. No lock, no formatting, no panic; the memory is the file's own pages, which are
//! zero at first, so that fields that are not stored read as zero.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Recorder;
use crate::layout::*;

/// The first chunk of a buffer; each next one is twice as large, up to [`CHUNK_MAX`].
pub(super) const FIRST_CHUNK: usize = 64 << 10;

/// One thread's place in the file.
pub struct Buffer {
    cursor: *mut u8,
    end: *mut u8,
    number: u32,
    tid: u32,
    next_size: usize,
    /// The current chunk, and earlier ones in which a call may still be open.
    mapped: Vec<(NonNull<u8>, usize)>,
}

// SAFETY: the pointers lead into a shared mapping that only the owner of the buffer writes.
unsafe impl Send for Buffer {}

/// Reserved slots of an event: zero, to be filled, then [`Slots::publish`]ed.
#[derive(Clone, Copy)]
pub struct Slots {
    base: NonNull<u8>,
}

impl Buffer {
    pub(super) fn new(number: u32, tid: u32) -> Self {
        let none = std::ptr::null_mut();
        Buffer { cursor: none, end: none, number, tid, next_size: FIRST_CHUNK, mapped: Vec::new() }
    }

    pub(super) fn tid(&self) -> u32 {
        self.tid
    }

    /// From here on the buffer belongs to thread `tid`.
    pub(super) fn rename(&mut self, recorder: &Recorder, tid: u32) {
        self.tid = tid;
        if self.cursor.is_null() {
            return;
        }
        if let Some(slots) = self.reserve(recorder, 1, true) {
            let head =
                EventHead { begin: recorder.ticks(), status: tid as i32, ..EventHead::default() };
            // SAFETY: one slot was reserved.
            unsafe {
                slots.store_head(head);
                slots.finish(head.begin, tid as i32);
                slots.publish(EVENT_THREAD, 1);
            }
        }
    }

    /// `count` slots, zeroed; `None` (and the loss counted) where there is no room. `idle` says that no
    /// event of this buffer is open, so that earlier chunks may be unmapped.
    #[inline(always)]
    pub fn reserve(&mut self, recorder: &Recorder, count: usize, idle: bool) -> Option<Slots> {
        let bytes = count * SLOT;
        if (self.end as usize) - (self.cursor as usize) < bytes && !self.grow(recorder, bytes, idle)
        {
            return None;
        }
        let base = NonNull::new(self.cursor)?;
        // SAFETY: at least `bytes` bytes are left in the chunk.
        self.cursor = unsafe { self.cursor.add(bytes) };
        fetch_for_writing(self.cursor);
        Some(Slots { base })
    }

    #[cold]
    fn grow(&mut self, recorder: &Recorder, bytes: usize, idle: bool) -> bool {
        let least = (bytes + CHUNK_HEADER).next_multiple_of(PAGE);
        let size = match recorder.ring_chunk {
            0 => self.next_size.max(least),
            // An event larger than a chunk of the ring cannot be stored.
            ring if ring < least => {
                recorder.lose(Lost::Limit);
                return false;
            }
            ring => ring,
        };
        // Chunks in which no event is open are unmapped, or go back to the ring.
        let mut done = Vec::new();
        if idle && recorder.ring_chunk != 0 {
            std::mem::swap(&mut done, &mut self.mapped);
            // If no chunk can be had, the cursor must not stay in one that another thread may get.
            (self.cursor, self.end) = (std::ptr::null_mut(), std::ptr::null_mut());
        }
        let got = recorder.event_chunk(self.number, self.tid, size, &mut done);
        self.mapped.append(&mut done);
        let base = match got {
            Ok(base) => base,
            Err(why) => {
                recorder.lose(why);
                return false;
            }
        };
        if idle {
            for (old, size) in self.mapped.drain(..) {
                // SAFETY: a whole mapping of ours in which no event is open.
                unsafe { libc::munmap(old.as_ptr().cast(), size) };
            }
        }
        self.mapped.push((base, size));
        self.next_size = (self.next_size * 2).min(recorder.largest_chunk());
        // SAFETY: the chunk is `size` bytes from `base`.
        unsafe {
            self.cursor = base.as_ptr().add(CHUNK_HEADER);
            self.end = base.as_ptr().add(size);
        }
        true
    }
}

/// Prefetches the cache lines of the next event: they were last touched when the chunk's pages were
/// made present, and a store buffer full of misses slows a burst of launches.
#[inline(always)]
fn fetch_for_writing(at: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults; processors that lack it take it for a NOP.
    unsafe {
        std::arch::asm!(
            "prefetchw byte ptr [{at}]",
            "prefetchw byte ptr [{at} + 64]",
            at = in(reg) at,
            options(nostack, preserves_flags, readonly),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

impl Slots {
    /// Stores the event's head except its first word.
    ///
    /// # Safety
    /// The slots were reserved and not yet published.
    #[inline(always)]
    pub unsafe fn store_head(self, head: EventHead) {
        // SAFETY: a slot is larger than the head, and aligned to 64 bytes.
        unsafe { self.base.cast::<EventHead>().write(EventHead { head: 0, ..head }) };
    }

    /// The event's bytes from `offset` on.
    ///
    /// # Safety
    /// `offset` lies inside the reserved slots; the pointer is used only for bytes inside them, and
    /// before the event is published (out values: before it is finished).
    #[inline(always)]
    pub unsafe fn at<T>(self, offset: usize) -> *mut T {
        // SAFETY: as the caller promises.
        unsafe { self.base.as_ptr().add(offset).cast() }
    }

    /// Makes the event visible to readers.
    ///
    /// # Safety
    /// `count` slots were reserved and are filled.
    #[inline(always)]
    pub unsafe fn publish(self, kind: u16, count: usize) {
        // SAFETY: the first word of a slot is an aligned u32 inside the mapping.
        let head = unsafe { AtomicU32::from_ptr(self.base.as_ptr().cast()) };
        head.store(u32::from(kind) | (count as u32) << 16, Ordering::Release);
    }

    /// Notes that the call returned at `end` with `status`.
    ///
    /// # Safety
    /// The event was published and its chunk is still mapped.
    #[inline(always)]
    pub unsafe fn finish(self, end: u64, status: i32) {
        // SAFETY: as the caller promises; offsets are those of `EventHead`.
        unsafe {
            let head = self.base.as_ptr().cast::<EventHead>();
            (&raw mut (*head).end).write(end);
            (&raw mut (*head).status).write(status);
            AtomicU32::from_ptr(&raw mut (*head).done).store(1, Ordering::Release);
        }
    }
}
