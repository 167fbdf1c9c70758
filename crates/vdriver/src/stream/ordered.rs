//! Whether launches in two streams are ordered, for checks of programs.
//!
//! Owns a count of what may order streams: records and waits of events, work in the legacy stream, host functions, graphs,
//! calls that wait or ask whether something is over. Two launches in two streams between which it does not change are ordered
//! by nothing. It may change without need: then launches are taken as ordered that are not. Must not know what is checked.

use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Counts an event that may order streams.
pub fn may_be() {
    if cushim_accel::checks().is_some() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// How often that happened.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
