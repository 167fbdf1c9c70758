//! Links: a number for each recorded call that may submit work to a GPU; the work's records refer to it.
//!
//! Must not know: how a record finds its link.

use std::sync::atomic::{AtomicU64, Ordering};

use super::events;
use super::told::COUNT_BITS;
use crate::thread::Thread;

/// Links that were given out.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// A new link, for a call about kernel `kernel` (0 for none). Never 0.
pub fn link(kernel: u32) -> u64 {
    let count = (GIVEN.fetch_add(1, Ordering::Relaxed) + 1) & ((1 << COUNT_BITS) - 1);
    // A kernel number that does not fit is left out.
    let kernel = if kernel >> (64 - COUNT_BITS) == 0 { u64::from(kernel) } else { 0 };
    kernel << COUNT_BITS | count
}

/// From now on this thread works for the call of `link`. Where a longjmp left the previous call,
/// this one replaces it.
pub fn begin(thread: &mut Thread, link: u64) {
    thread.link = link;
    events::name(thread, link);
}

/// The call of [`begin`] is over.
pub fn end(thread: &mut Thread) {
    thread.link = 0;
}
