//! The state that a queue's thread and its owner share, and how the thread waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// What a queue's thread and its owner share.
pub(crate) struct Shared {
    /// The doorbell. AQL: the last packet's number; SDMA: bytes.
    pub(super) doorbell: AtomicI64,
    /// SDMA: both pointers, in bytes.
    pub(super) read: AtomicU64,
    pub(super) write: AtomicU64,
    pub(super) stop: Arc<AtomicBool>,
}

/// Waits longer the longer the queue is idle.
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience(0)
    }

    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            0..200 => std::hint::spin_loop(),
            200..400 => std::thread::yield_now(),
            400..1000 => std::thread::sleep(Duration::from_micros(20)),
            _ => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

impl Shared {
    pub(crate) fn doorbell(&self) -> i64 {
        self.doorbell.load(Ordering::Acquire)
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn set_read(&self, bytes: u64) {
        self.read.store(bytes, Ordering::Release);
    }
}
