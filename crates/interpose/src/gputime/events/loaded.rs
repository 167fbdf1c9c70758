//! Which kernels' code is loaded in a context, so that no launch's time includes loading.
//!
//! CUDA loads a kernel's code at its first launch (lazy loading, the default since CUDA 12): 17 to 160 ms between two
//! events around a kernel of microseconds, measured on an H200. So cushim loads the code before the first event: by
//! `cuFuncLoad` (CUDA 12.4), for a runtime kernel with the function that `cudaGetFuncBySymbol` returns. If that is
//! impossible, the first launch has no time, and later ones have.
//!
//! Owns: loading the code. Must not know: events.

pub use crate::loaded::{is, set};

use crate::record::launch::LaunchRecord;
use crate::site::Site;
use crate::{device, symbol};

/// Loads the code of the kernel about to be launched into the current context, that of pool number
/// `pool`; returns whether it is loaded now.
#[cold]
pub fn load(pool: usize, site: &'static Site, launch: &LaunchRecord) -> bool {
    let handle = launch.kernel.address();
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
