//! The heap of a device's kernels: memory for `malloc` and the device runtime.
//!
//! Owns its limit and what is in use. Must not know: how kernels run.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::memory::Memory;
use cushim_accel::locks::lock;
use cushim_check::Kind;

/// The default of `cudaLimitMallocHeapSize`.
pub const HEAP: u64 = 8 << 20;

/// The heap from which kernels of one device take memory. It lives longer than they do.
pub struct Heap {
    limit: AtomicU64,
    used: AtomicBool,
    state: Mutex<(u64, HashMap<u64, u64>)>,
}

impl Default for Heap {
    fn default() -> Self {
        Heap { limit: AtomicU64::new(HEAP), used: AtomicBool::new(false), state: Mutex::default() }
    }
}

impl Heap {
    /// Sets how many bytes it holds.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Whether anything was ever asked of it.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Memory for a kernel; 0 if there is none.
    pub fn allocate(&self, memory: &Memory, bytes: u64) -> u64 {
        self.used.store(true, Ordering::Relaxed);
        let mut state = lock(&self.state);
        let (used, list) = &mut *state;
        let limit = self.limit.load(Ordering::Relaxed);
        if used.checked_add(bytes).is_none_or(|sum| sum > limit) {
            return 0;
        }
        let Some(at) = memory.allocate(Kind::Heap, bytes, 16) else { return 0 };
        *used += bytes;
        list.insert(at, bytes);
        at
    }

    /// Gives memory back; whether it was of this heap.
    pub fn free(&self, memory: &Memory, address: u64) -> bool {
        let mut state = lock(&self.state);
        let (used, list) = &mut *state;
        let found = list.remove(&address);
        if let Some(bytes) = found {
            *used -= bytes;
            memory.free(address);
        }
        found.is_some()
    }
}
