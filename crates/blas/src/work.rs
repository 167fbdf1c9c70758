//! Device memory that a call needs beside the program's.
//!
//! Owns how long it lives: in a stream until the stream has done the call's work, in a capture as long as any graph has
//! that work. Allocation nodes would keep the captured graph from becoming a child of another (CUDA Driver API,
//! `cuGraphAddChildGraphNode`), which cuBLAS' own graphs may (MLX does so with each product). Must not know: kernels.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use cushim_kernels::{context, driver};

use crate::status;

/// Memory for kernels of one stream, in order with them.
pub(crate) struct Work {
    at: u64,
    /// The stream that frees it; `None` if graphs keep it.
    stream: Option<usize>,
}

impl Work {
    /// Memory of so many bytes; else a `cublasStatus_t`.
    pub(crate) fn new(bytes: usize, stream: usize) -> Result<Work, i32> {
        if !context() {
            return Err(status::NOT_INITIALIZED);
        }
        free_unused();
        let (mut at, bytes) = (0, bytes.max(1));
        if let Some(graph) = captured(stream) {
            let at = relaxed(|| of_graph(bytes, graph)).ok_or(status::ALLOC_FAILED)?;
            return Ok(Work { at, stream: None });
        }
        match driver!(c"cuMemAllocAsync": fn(*mut u64, usize, usize), &mut at, bytes, stream) {
            0 => Ok(Work { at, stream: Some(stream) }),
            _ => Err(status::ALLOC_FAILED),
        }
    }

    /// Its address.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            // After the launched work; a destroyed context has freed it.
            let _ = driver!(c"cuMemFreeAsync": fn(u64, usize), self.at, stream);
        }
    }
}

/// The graph that a stream's work is captured in.
fn captured(stream: usize) -> Option<usize> {
    let (mut state, mut id, mut graph) = (0, 0, 0);
    let found = driver!(
        c"cuStreamGetCaptureInfo_v2":
            fn(usize, *mut i32, *mut u64, *mut usize, *mut c_void, *mut c_void),
        stream, &mut state, &mut id, &mut graph, std::ptr::null_mut(), std::ptr::null_mut()
    );
    // CU_STREAM_CAPTURE_STATUS_ACTIVE.
    (found == 0 && state == 1 && graph != 0).then_some(graph)
}

/// Runs calls that captures of this thread would refuse otherwise.
fn relaxed<R>(run: impl FnOnce() -> R) -> R {
    // CU_STREAM_CAPTURE_MODE_RELAXED.
    let mut mode = 2;
    let is_set = driver!(c"cuThreadExchangeStreamCaptureMode": fn(*mut i32), &mut mode) == 0;
    let result = run();
    if is_set {
        let _ = driver!(c"cuThreadExchangeStreamCaptureMode": fn(*mut i32), &mut mode);
    }
    result
}

/// An allocation: its address and number, which no later one at this address has.
type Block = (u64, u64);

/// What no graph has any more.
static UNUSED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The number of the allocation at an address (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
fn number(at: u64) -> Option<u64> {
    let mut number = 0u64;
    let to = (&raw mut number).cast();
    (driver!(c"cuPointerGetAttribute": fn(*mut c_void, i32, u64), to, 7, at) == 0).then_some(number)
}

/// Memory that a graph and its copies keep.
fn of_graph(bytes: usize, graph: usize) -> Option<u64> {
    let (mut at, mut object) = (0, 0usize);
    if driver!(c"cuMemAlloc_v2": fn(*mut u64, usize), &mut at, bytes) != 0 {
        return None;
    }
    let Some(number) = number(at) else {
        let _ = driver!(c"cuMemFree_v2": fn(u64), at);
        return None;
    };
    let block = Box::into_raw(Box::new((at, number)));
    // One reference; CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.
    let made = driver!(
        c"cuUserObjectCreate":
            fn(*mut usize, *mut c_void, unsafe extern "C" fn(*mut c_void), u32, u32),
        &mut object, block.cast(), unused, 1, 1
    );
    if made != 0 {
        // SAFETY: made above, and nobody has it.
        unsafe { unused(block.cast()) };
        return None;
    }
    // CU_GRAPH_USER_OBJECT_MOVE: the graph has the reference.
    let retained = driver!(
        c"cuGraphRetainUserObject": fn(usize, usize, u32, u32), graph, object, 1, 1
    );
    if retained != 0 {
        let _ = driver!(c"cuUserObjectRelease": fn(usize, u32), object, 1);
        return None;
    }
    Some(at)
}

/// Called with the last graph's reference. It may not call the driver: a later call frees the memory.
///
/// # Safety
/// `block` is a [`Block`] from `Box::into_raw`, given once.
unsafe extern "C" fn unused(block: *mut c_void) {
    // SAFETY: the caller's promise.
    let block = *unsafe { Box::from_raw(block.cast::<Block>()) };
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(block);
}

/// Frees what no graph has any more, unless its context has ended: another allocation may be there.
fn free_unused() {
    let blocks = std::mem::take(&mut *UNUSED.lock().unwrap_or_else(PoisonError::into_inner));
    if blocks.is_empty() {
        return;
    }
    relaxed(|| {
        for (at, own) in blocks {
            if number(at) == Some(own) {
                let _ = driver!(c"cuMemFree_v2": fn(u64), at);
            }
        }
    });
}
