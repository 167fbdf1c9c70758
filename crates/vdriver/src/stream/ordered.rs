//! Whether launches in two streams are ordered, for `cushim check`.
//!
//! Owns a counter of operations that may order streams: event records and waits, work in the legacy stream, host
//! functions, graphs, calls that wait or query completion. If it does not change between two launches in two streams,
//! nothing orders them. It may change unnecessarily: then unordered launches count as ordered. Must not know what is
//! checked.

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
