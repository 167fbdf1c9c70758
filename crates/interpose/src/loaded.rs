//! Which kernels' code is known to be loaded in which context.
//!
//! Owns: one bit for each. A kernel's record may be reused when its module is loaded again; then its code is no
//! longer loaded. Must not know: who asks, or how code is loaded.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many contexts are distinguished; each has the number of its pool.
pub const POOLS: usize = 64;
/// Kernels from this number on are checked at each launch.
const KERNELS: usize = 1 << 16;
const WORDS: usize = KERNELS / 64;

/// A bit for each kernel, by pool. Untouched pages take no memory. A pool's number is not used again
/// when its context is gone.
static LOADED: [[AtomicU64; WORDS]; POOLS] =
    [const { [const { AtomicU64::new(0) }; WORDS] }; POOLS];

/// Whether there is a bit at all.
static ANY: AtomicBool = AtomicBool::new(false);

fn place(pool: usize, kernel: u32) -> Option<(&'static AtomicU64, u64)> {
    let word = LOADED.get(pool)?.get(kernel as usize / 64)?;
    Some((word, 1 << (kernel % 64)))
}

/// Whether the code of `kernel` is known to be loaded in the context of pool number `pool`.
#[inline]
pub fn is(pool: usize, kernel: u32) -> bool {
    place(pool, kernel).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

/// Marks it loaded: a launch of it returned without an error.
pub fn set(pool: usize, kernel: u32) {
    if let Some((word, bit)) = place(pool, kernel) {
        ANY.store(true, Ordering::Relaxed);
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// The code of `kernel` is gone, from all contexts.
pub fn forget(kernel: u32) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    for pool in 0..POOLS {
        if let Some((word, bit)) = place(pool, kernel).filter(|_| is(pool, kernel)) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pool_has_kernels_of_its_own() {
        let last = POOLS - 1;
        assert!(!is(last, 64) && !is(last, 63));
        set(last, 64);
        assert!(is(last, 64) && !is(last, 63) && !is(last, 65) && !is(last - 1, 64));
        set(last, 65);
        forget(64);
        assert!(!is(last, 64) && is(last, 65));
        // A kernel whose number is beyond the table is never marked.
        for (pool, kernel) in [(last, KERNELS as u32), (POOLS, 1), (last, u32::MAX)] {
            set(pool, kernel);
            assert!(!is(pool, kernel));
        }
    }
}
