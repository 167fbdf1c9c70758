//! The buffers that CUPTI fills, and the two callbacks by which it requests and returns them.
//!
//! Owns: their memory. A buffer is reused after it was read: the operating system would have to clear fresh memory,
//! and the launching thread would take the page faults. Must not know: what a buffer contains.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::records;

/// `CUpti_BuffersCallbackRequestFunc`, `CUpti_BuffersCallbackCompleteFunc`.
pub type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Bytes of a buffer: some thousand records.
const BUFFER: usize = 1 << 20;
/// How many buffers are kept. CUPTI has one for each thread that gives a GPU work.
const SPARES: usize = 16;

static SPARE: [AtomicPtr<u8>; SPARES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SPARES];

fn take() -> *mut u8 {
    let kept = SPARE.iter().map(|place| place.swap(std::ptr::null_mut(), Ordering::Acquire));
    match kept.into_iter().find(|buffer| !buffer.is_null()) {
        Some(buffer) => buffer,
        // SAFETY: malloc has no preconditions.
        None => unsafe { libc::malloc(BUFFER).cast() },
    }
}

fn give_back(buffer: *mut u8) {
    let empty = std::ptr::null_mut();
    let kept = SPARE.iter().any(|place| {
        place.compare_exchange(empty, buffer, Ordering::Release, Ordering::Relaxed).is_ok()
    });
    if !kept {
        // SAFETY: `take` allocated it, and nobody else has it.
        unsafe { libc::free(buffer.cast()) };
    }
}

/// CUPTI wants a buffer.
pub extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let got = take();
    // SAFETY: CUPTI's own places. Without memory it gets no buffer and counts the records that it
    // drops.
    unsafe {
        *buffer = got;
        *size = if got.is_null() { 0 } else { BUFFER };
        *most = 0;
    }
}

/// CUPTI hands a buffer over.
pub extern "C" fn complete(
    context: *mut c_void,
    stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    if buffer.is_null() {
        return;
    }
    let read = || records::read(context, stream, buffer, valid);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    give_back(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_used_again_and_more_than_is_kept_is_freed() {
        let first = take();
        give_back(first);
        let all: Vec<_> = (0..2 * SPARES).map(|_| take()).collect();
        assert_eq!(all.first(), Some(&first));
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        all.into_iter().for_each(give_back);
        let again = take();
        assert!(!again.is_null());
        give_back(again);
    }
}
