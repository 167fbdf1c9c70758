//! Device memory, as compiled code accesses it.

use super::access;
use crate::warp::LONGEST;
use cushim_ptx::exec::{BadAddress, Memory};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Device memory: one range of this process's addresses, which are also the
/// addresses that kernels use.
///
/// Compiled code checks most accesses against the range and nothing finer: a
/// page in it that cannot be touched faults, and the fault ends the launch (see
/// [`super::Kernel::run_blocks`]).
#[derive(Debug, Clone, Copy)]
pub struct Arena {
    base: u64,
    size: u64,
}

impl Arena {
    /// The least size, in bytes: the widest range checked at once.
    pub const LEAST: u64 = LONGEST as u64;

    /// What its begin is a multiple of: compiled code looks at addresses from there on, and their alignment.
    pub const ALIGNED: u64 = 64;

    /// The range of `size` bytes at `base`; `None` if it is smaller than
    /// [`Arena::LEAST`], wraps around, or does not begin at a multiple of [`Arena::ALIGNED`].
    ///
    /// # Safety
    /// The range is reserved for as long as any kernel runs on this arena:
    /// whatever in it is readable or writable is for kernels to read and write,
    /// and no Rust reference points into it meanwhile.
    pub unsafe fn new(base: u64, size: u64) -> Option<Arena> {
        let fits = size >= Arena::LEAST && base.checked_add(size).is_some();
        (fits && base.is_multiple_of(Arena::ALIGNED)).then_some(Arena { base, size })
    }

    /// The first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// All that kernels may touch, exactly: of the arena, and elsewhere.
pub trait Mapped: Memory {
    /// Whether these bytes may be read at their address.
    fn holds(&self, address: u64, bytes: u64) -> bool;

    /// Whether they may be written, too.
    fn takes(&self, address: u64, bytes: u64) -> bool {
        self.holds(address, bytes)
    }
}

/// For an arena that is mapped as a whole.
impl Mapped for Arena {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.base && bytes <= self.size && address - self.base <= self.size - bytes
    }
}

/// The same memory for the interpreter.
impl Memory for Arena {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        if !self.holds(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena, which is mapped; `bytes` is not in it.
        unsafe { access::read(address as *const u8, bytes) };
        Ok(())
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        if !self.holds(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena, which is mapped for writing; `bytes` is not in it.
        unsafe { access::write(address as *mut u8, bytes) };
        Ok(())
    }

    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        if !self.holds(address, bytes.into()) || !address.is_multiple_of(bytes.into()) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena and aligned; atomics allow other writers.
        Ok(unsafe { update(address as *mut u8, bytes, new) })
    }

    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        if !self.holds(address, 16) || !address.is_multiple_of(16) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena and aligned; atomics allow other writers.
        Ok(unsafe { access::update_pair(address as *mut u8, new) })
    }
}

/// Replaces a value in memory atomically; the old one.
///
/// # Safety
/// `at` is mapped, writable and aligned to `bytes`, which is 1, 2, 4 or 8.
pub(crate) unsafe fn update(at: *mut u8, bytes: u32, new: &mut dyn FnMut(u64) -> u64) -> u64 {
    macro_rules! with {
        ($atomic:ident, $int:ident) => {{
            // SAFETY: `at` is mapped, writable and aligned to the size of the atomic, which is `bytes`.
            let cell = unsafe { $atomic::from_ptr(at.cast()) };
            let order = Ordering::SeqCst;
            let mut old = cell.load(Ordering::Relaxed);
            loop {
                let next = new(u64::from(old)) as $int;
                match cell.compare_exchange_weak(old, next, order, Ordering::Relaxed) {
                    Ok(v) => return u64::from(v),
                    Err(v) => old = v,
                }
            }
        }};
    }
    match bytes {
        1 => with!(AtomicU8, u8),
        2 => with!(AtomicU16, u16),
        4 => with!(AtomicU32, u32),
        _ => with!(AtomicU64, u64),
    }
}
