//! Counts of launches that are timed by events.
//!
//! Must not know: who reports them.

use std::sync::atomic::AtomicU64;

/// Launches around which there are two events.
pub static TIMED: AtomicU64 = AtomicU64::new(0);
/// What that cost the launching threads, ns.
pub static COST_NS: AtomicU64 = AtomicU64::new(0);
/// Launches that could not have any.
pub static UNTIMED: AtomicU64 = AtomicU64::new(0);
