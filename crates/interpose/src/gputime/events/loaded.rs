//! Which kernels' code is loaded in a context, so that no time of a launch counts the loading.
//!
//! CUDA loads a kernel's code at its first launch (lazy loading, the default from CUDA 12 on): 17 to 160 ms
//! between two events around a kernel of microseconds, measured on an H200. So the code is loaded before
//! the first event: by `cuFuncLoad` (CUDA 12.4), for a runtime's kernel with what `cudaGetFuncBySymbol`
//! answers. Where that cannot be, the launch has no time, and those after it have.
//!
//! Owns: what is known to be loaded, per pool. Must not know: events.

use std::sync::atomic::{AtomicU64, Ordering};

use super::pool::CONTEXTS;
use crate::record::launch::LaunchRecord;
use crate::site::Site;
use crate::{device, symbol};

/// Kernels from this number on are checked at each launch.
const KERNELS: usize = 1 << 16;
const WORDS: usize = KERNELS / 64;

/// A bit for each kernel, by pool. Pages that nobody touches take no memory. A pool's number is not used
/// again when its context is gone, so no bit is ever taken back.
static LOADED: [[AtomicU64; WORDS]; CONTEXTS] =
    [const { [const { AtomicU64::new(0) }; WORDS] }; CONTEXTS];

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
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Loads the code of the kernel about to be launched into the current context, that of pool number
/// `pool`; returns whether it is loaded now.
#[cold]
pub fn load(pool: usize, site: &'static Site, launch: &LaunchRecord) -> bool {
    let handle = launch.kernel.address;
    let function = match site.node {
        // Left to the launch: no hook saw where this function came from.
        None => Some(handle).filter(|_| !launch.kernel.name.is_empty()),
        Some(_) => symbol::function(site, handle).flatten(),
    };
    let is_there = function.is_some_and(|function| device::relaxed(|| load_function(function)));
    if is_there {
        set(pool, launch.kernel.number);
    }
    is_there
}

/// Loads a `CUfunction`, or the function of a `CUkernel` in the current context.
fn load_function(handle: usize) -> bool {
    type Load = unsafe extern "C-unwind" fn(usize) -> i32;
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    let Some(load) = device::function(c"cuFuncLoad") else { return false };
    // SAFETY: the function's signature (CUDA Driver API, "Module Management").
    let load = unsafe { std::mem::transmute::<usize, Load>(load) };
    // SAFETY: a handle that is about to be launched.
    if unsafe { load(handle) } == 0 {
        return true;
    }
    let Some(get) = device::function(c"cuKernelGetFunction") else { return false };
    let mut function = 0;
    // SAFETY: the function's signature (CUDA Driver API, "Library Management"); the place is valid, and what is loaded came out of it.
    unsafe {
        std::mem::transmute::<usize, Get>(get)(&mut function, handle) == 0 && load(function) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pool_has_kernels_of_its_own() {
        let last = CONTEXTS - 1;
        assert!(!is(last, 64) && !is(last, 63));
        set(last, 64);
        assert!(is(last, 64) && !is(last, 63) && !is(last, 65) && !is(last - 1, 64));
        // A kernel whose number is beyond the table is never marked.
        for (pool, kernel) in [(last, KERNELS as u32), (CONTEXTS, 1), (last, u32::MAX)] {
            set(pool, kernel);
            assert!(!is(pool, kernel));
        }
    }
}
