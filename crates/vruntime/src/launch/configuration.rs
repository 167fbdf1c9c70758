//! The configuration between the brackets of `kernel<<<…>>>`, on its way to the host stub.
//!
//! Owns a thread's stack of them: the caller pushes, the stub pops. Must not know: launches.

use std::cell::{Cell, UnsafeCell};

use cushim_abi::types::*;

use crate::error::{self, code};
use crate::forward::put;

/// A configuration.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
}

const NONE: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// More than one is pushed only where evaluating a stub's arguments launches something else.
const DEPTH: usize = 16;

struct Stack {
    depth: Cell<usize>,
    entries: UnsafeCell<[Configuration; DEPTH]>,
}

thread_local! {
    static STACK: Stack = const {
        Stack {
            depth: Cell::new(0),
            entries: UnsafeCell::new(
                [Configuration { grid: NONE, block: NONE, shared: 0, stream: Stream(0) }; DEPTH],
            ),
        }
    };
}

/// Pushes a configuration; a result other than 0 keeps the program from calling the stub.
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaPushCallConfiguration<const MAJOR: usize>(
    gridDim: Dim3,
    blockDim: Dim3,
    sharedMem: usize,
    stream: Stream,
) -> u32 {
    let configuration = Configuration { grid: gridDim, block: blockDim, shared: sharedMem, stream };
    let pushed = STACK.with(|stack| {
        let depth = stack.depth.get();
        // SAFETY: this thread's own, and nothing of it is borrowed elsewhere.
        let entries = unsafe { &mut *stack.entries.get() };
        let Some(entry) = entries.get_mut(depth) else { return false };
        *entry = configuration;
        stack.depth.set(depth + 1);
        true
    });
    if pushed { 0 } else { error::failed(code::MEMORY_ALLOCATION) as u32 }
}

/// Pops the newest configuration. Null places are skipped.
///
/// # Safety
/// The places are null or have room.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaPopCallConfiguration<const MAJOR: usize>(
    gridDim: Ptr,
    blockDim: Ptr,
    sharedMem: Ptr,
    stream: Ptr,
) -> i32 {
    let popped = STACK.with(|stack| {
        let depth = stack.depth.get().checked_sub(1)?;
        stack.depth.set(depth);
        // SAFETY: the thread's own stack, of which no reference is kept.
        unsafe { &*stack.entries.get() }.get(depth).copied()
    });
    let Some(popped) = popped else { return error::failed(code::MISSING_CONFIGURATION) };
    // SAFETY: each place is null, which `put` leaves alone, or has room: the compiler's own variables.
    unsafe {
        put(gridDim, popped.grid);
        put(blockDim, popped.block);
        put(sharedMem, popped.shared);
        put(stream, popped.stream);
    }
    0
}
