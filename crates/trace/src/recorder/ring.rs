//! The flight recorder: event chunks that are reused, the oldest first.
//!
//! Owns: which chunks may be reused, and how one is cleared so that no reader combines old and new bytes into one
//! event. Must not know: threads, or the contents of an event except its first word.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::layout::*;

/// A chunk of the ring has at least this size, so that every event fits.
const LEAST: usize = 16 << 10;
/// And at most this: a call may have to wait until one is emptied.
const MOST: usize = 256 << 10;

/// The chunks that are not in use by a thread. All chunks of the ring stay mapped.
pub(super) struct Ring {
    /// Bytes of event chunks before the oldest is used again.
    pub keep: u64,
    /// Size of every chunk.
    pub chunk: usize,
    /// Bytes of event chunks so far.
    pub bytes: u64,
    /// How many chunks were handed out.
    pub sequence: u64,
    /// Chunks in which no event is open, in the order in which their last event ended.
    pub done: VecDeque<(NonNull<u8>, usize)>,
}

impl Ring {
    /// A ring of about `keep` bytes: at least four chunks.
    pub fn new(keep: u64) -> Self {
        let keep = keep.max(4 * LEAST as u64);
        let chunk = ((keep / 64) as usize).clamp(LEAST, MOST) / PAGE * PAGE;
        Ring { keep, chunk, bytes: 0, sequence: 0, done: VecDeque::new() }
    }
}

/// The header of an event chunk, without a sequence.
pub(super) fn header(size: usize, buffer: u32, tid: u32) -> ChunkHeader {
    ChunkHeader {
        magic: CHUNK_MAGIC,
        kind: CHUNK_EVENTS,
        size: size as u32,
        tid,
        buffer,
        reserved: 0,
        used: 0,
        sequence: 0,
        spare: [0; 3],
    }
}

/// Empties the chunk at `base` and gives it the header `chunk` and `sequence`; returns how many
/// events it held.
///
/// # Safety `base` is a mapped event chunk of `chunk.size` bytes that no thread writes to.
pub(super) unsafe fn empty(base: NonNull<u8>, chunk: ChunkHeader, sequence: u64) -> u64 {
    let size = chunk.size as usize;
    let header = base.as_ptr().cast::<ChunkHeader>();
    // SAFETY: the header is in the chunk; `sequence` is an aligned u64, read by others as it is written.
    let shown = unsafe { AtomicU64::from_ptr(&raw mut (*header).sequence) };
    shown.store(0, Ordering::Release);
    fence(Ordering::SeqCst);
    let mut events = 0;
    let mut at = CHUNK_HEADER;
    while at + SLOT <= size {
        // SAFETY: slots are inside the chunk and aligned.
        let head = unsafe { AtomicU32::from_ptr(base.as_ptr().add(at).cast()) };
        let head = head.load(Ordering::Relaxed);
        let slots = (head >> 16) as usize;
        if slots == 0 {
            break;
        }
        events += u64::from(head as u16 != EVENT_THREAD);
        at += slots * SLOT;
    }
    // SAFETY: the chunk is `size` bytes, and nobody else writes it.
    unsafe {
        base.as_ptr().add(CHUNK_HEADER).write_bytes(0, size - CHUNK_HEADER);
        (&raw mut (*header).tid).write(chunk.tid);
        (&raw mut (*header).buffer).write(chunk.buffer);
    }
    shown.store(sequence, Ordering::Release);
    events
}
