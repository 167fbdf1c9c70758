//! What signals and queues synchronise by.
//!
//! Owns the choice, and nothing else: `tests/queue_model.rs` gives the same files loom's, to try every order
//! in which threads can meet in them. Must not know: who waits for whom.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub use std::sync::{Condvar, Mutex, MutexGuard};

/// How often a thread looks before it sleeps, where it is to look so often.
pub const fn looks(times: usize) -> usize {
    times
}

/// Starts a thread; false where the system has none.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).is_ok()
}
