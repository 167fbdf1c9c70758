//! The configuration between the brackets of `kernel<<<…>>>`, until the host stub takes it.
//!
//! Owns a thread's stack of them: the caller pushes, the stub pops. Must not know: launches.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

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

/// Small: each thread has it in its thread-local storage, and a thread with the smallest possible stack (16 KiB) has
/// only 2 KiB left.
struct Stack {
    depth: Cell<usize>,
    first: Cell<Configuration>,
    /// All but the first, the newest last. It is freed when the last of them is popped, and has no destructor:
    /// destructors of the program's thread-local objects and exit handlers launch kernels, too, and would find a
    /// destroyed stack.
    more: RefCell<ManuallyDrop<Vec<Configuration>>>,
}

impl Stack {
    const fn new() -> Self {
        let none = Configuration { grid: NONE, block: NONE, shared: 0, stream: Stream(0) };
        Stack {
            depth: Cell::new(0),
            first: Cell::new(none),
            more: RefCell::new(ManuallyDrop::new(Vec::new())),
        }
    }

    /// Whether there was room.
    fn push(&self, configuration: Configuration) -> bool {
        let depth = self.depth.get();
        match depth {
            0 => self.first.set(configuration),
            1..DEPTH => self.more.borrow_mut().push(configuration),
            _ => return false,
        }
        self.depth.set(depth + 1);
        true
    }

    fn pop(&self) -> Option<Configuration> {
        let depth = self.depth.get().checked_sub(1)?;
        self.depth.set(depth);
        if depth == 0 {
            return Some(self.first.get());
        }
        let mut more = self.more.borrow_mut();
        let popped = more.pop();
        if more.is_empty() {
            **more = Vec::new();
        }
        popped
    }
}

thread_local! {
    static STACK: Stack = const { Stack::new() };
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
    // A stack has no destructor, so each thread has one to its very end.
    const { assert!(!std::mem::needs_drop::<Stack>()) };
    let pushed = STACK.try_with(|stack| stack.push(configuration)).unwrap_or(false);
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
    let popped = STACK.try_with(Stack::pop).ok().flatten();
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
