//! The streams that are being captured into graphs.
//!
//! Owns: the set of them, and its size, which launches read. A capture may begin on one face and end on the other;
//! the set is the same. Must not know: launches.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::site::Site;
use crate::thread;

static OPEN: Mutex<Option<HashSet<(usize, u32)>>> = Mutex::new(None);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether any stream is being captured.
#[inline(always)]
pub fn any() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

/// A per-thread default stream is a different one in each thread.
fn key(site: &Site, stream: usize) -> (usize, u32) {
    match site.stream(stream) {
        stream @ 0..=2 => (stream, thread::id()),
        stream => (stream, 0),
    }
}

/// `stream` is about to be captured, by a call of `site`; returns whether it was not before.
pub fn begun(site: &Site, stream: usize) -> bool {
    change(|open| open.insert(key(site, stream)))
}

/// Its capture has ended, or did not begin.
pub fn ended(site: &Site, stream: usize) {
    change(|open| open.remove(&key(site, stream)));
}

fn change(work: impl FnOnce(&mut HashSet<(usize, u32)>) -> bool) -> bool {
    if !super::wanted::enabled() {
        return false;
    }
    let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let open = open.get_or_insert_default();
    let changed = work(open);
    COUNT.store(open.len(), Ordering::Release);
    changed
}
