//! The heap of a device's kernels: memory for `malloc`.
//!
//! Owns its limit, and one piece of device memory of that size, which the host divides. So a request for which a
//! kernel waits allocates from the runtime only the first time. Must not know: who asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cushim_accel::locks::lock;

use crate::memory::Memory;

/// The default of `cudaLimitMallocHeapSize`.
const HEAP: u64 = 8 << 20;
/// The alignment of addresses.
const ALIGN: u64 = 16;

/// The heap of one device's kernels, which outlives them.
pub struct Heap {
    device: usize,
    limit: AtomicU64,
    used: AtomicBool,
    region: Mutex<Region>,
}

/// Memory of the device, and its free parts.
#[derive(Default)]
struct Region {
    base: u64,
    size: u64,
    /// Addresses and sizes of free parts, never adjacent.
    free: BTreeMap<u64, u64>,
    taken: HashMap<u64, u64>,
}

impl Heap {
    /// The heap of a device, still empty.
    pub fn of(device: usize) -> Heap {
        let (limit, used) = (AtomicU64::new(HEAP), AtomicBool::new(false));
        Heap { device, limit, used, region: Mutex::default() }
    }

    /// Sets how many bytes it holds.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Whether it was ever used.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Memory for a kernel; 0 if there is none.
    pub fn allocate(&self, memory: &Memory, bytes: u64) -> u64 {
        self.used.store(true, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed);
        let mut region = lock(&self.region);
        if region.size != limit && region.taken.is_empty() {
            region.give_back(memory);
            let Ok(base) = memory.take_of(self.device, limit) else { return 0 };
            *region = Region { base, size: limit, ..Region::default() };
            region.free.insert(base, limit);
        }
        region.cut(bytes)
    }

    /// Frees memory. Unknown addresses are ignored, as a wrong `free` in a kernel is no error in
    /// CUDA.
    pub fn free(&self, address: u64) {
        lock(&self.region).join(address);
    }

    /// Frees all memory.
    pub fn end(&self, memory: &Memory) {
        lock(&self.region).give_back(memory);
    }
}

impl Region {
    fn give_back(&mut self, memory: &Memory) {
        if self.size > 0 {
            memory.give(self.base);
        }
        *self = Region::default();
    }

    /// Allocates from the first free part that is large enough.
    fn cut(&mut self, bytes: u64) -> u64 {
        let Some(size) = bytes.max(1).checked_next_multiple_of(ALIGN) else { return 0 };
        let Some((at, gap)) =
            self.free.iter().find(|(_, gap)| **gap >= size).map(|(at, gap)| (*at, *gap))
        else {
            return 0;
        };
        self.free.remove(&at);
        if gap > size {
            self.free.insert(at + size, gap - size);
        }
        self.taken.insert(at, size);
        at
    }

    fn join(&mut self, address: u64) {
        let Some(mut size) = self.taken.remove(&address) else { return };
        let mut start = address;
        if let Some(gap) = self.free.remove(&(address + size)) {
            size += gap;
        }
        let before = self.free.range(..address).next_back().map(|(at, gap)| (*at, *gap));
        if let Some((at, gap)) = before.filter(|(at, gap)| at + gap == address) {
            (start, size) = (at, size + gap);
        }
        self.free.insert(start, size);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_joined_again() {
        let mut region = Region { base: 4096, size: 256, ..Region::default() };
        region.free.insert(4096, 256);
        let [a, b, c] = [100, 1, 16].map(|bytes| region.cut(bytes));
        assert_eq!([a, b, c], [4096, 4096 + 112, 4096 + 128]);
        assert_eq!(region.cut(200), 0);
        region.join(b);
        region.join(b);
        assert_eq!(region.cut(17), 4096 + 144, "16 bytes are too few");
        assert_eq!(region.cut(16), b);
        for at in [a, b, c, 4096 + 144, 7] {
            region.join(at);
        }
        assert_eq!(region.free.into_iter().collect::<Vec<_>>(), [(4096, 256)]);
        assert!(region.taken.is_empty());
    }
}
