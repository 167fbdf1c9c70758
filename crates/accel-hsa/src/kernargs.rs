//! Reused kernarg segments.
//!
//! Owns blocks of memory from which GPUs read arguments, divided into pieces of three sizes. Must not know: what is
//! in them.

use std::sync::{Arc, Mutex};

use cushim_accel::Failure;
use cushim_accel::locks::lock;

use crate::memory::Memory;

/// Sizes of pieces, each a multiple of the segments' alignment; most kernels use the first.
const SIZES: [usize; 3] = [512, 4 << 10, 64 << 10];
/// Bytes that are taken from the pool at a time.
const BLOCK: usize = 256 << 10;

/// All segments of a process.
pub struct Kernargs {
    memory: Arc<Memory>,
    free: [Mutex<Vec<u64>>; 3],
    blocks: Mutex<Vec<u64>>,
}

/// A segment in use.
pub struct Segment {
    /// Where it lies.
    pub address: u64,
    size: usize,
    home: Arc<Kernargs>,
}

impl Kernargs {
    /// None yet.
    pub fn new(memory: Arc<Memory>) -> Arc<Kernargs> {
        Arc::new(Kernargs { memory, free: Default::default(), blocks: Mutex::default() })
    }

    /// A segment with these bytes.
    ///
    /// # Errors
    /// [`Failure::NotSupported`] for more than 64 KiB; the pool's.
    pub fn put(self: &Arc<Kernargs>, bytes: &[u8]) -> Result<Segment, Failure> {
        let size = SIZES.iter().position(|size| bytes.len() <= *size).ok_or_else(|| {
            Failure::NotSupported(format!(
                "{} bytes of kernel arguments: at most 65536",
                bytes.len()
            ))
        })?;
        let address = self.take(size)?;
        let to: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: a piece of at least that size, not used elsewhere.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(Segment { address, size, home: self.clone() })
    }

    fn take(&self, size: usize) -> Result<u64, Failure> {
        let (Some(free), Some(bytes)) = (self.free.get(size), SIZES.get(size)) else {
            return Err(Failure::OutOfMemory);
        };
        let mut free = lock(free);
        if let Some(address) = free.pop() {
            return Ok(address);
        }
        let block = self.memory.take(self.memory.kernarg(), BLOCK as u64)?;
        lock(&self.blocks).push(block);
        free.extend((block..block + BLOCK as u64).step_by(*bytes).skip(1));
        Ok(block)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(free) = self.home.free.get(self.size) {
            lock(free).push(self.address);
        }
    }
}

impl Drop for Kernargs {
    fn drop(&mut self) {
        for block in std::mem::take(&mut *lock(&self.blocks)) {
            self.memory.give(block);
        }
    }
}
