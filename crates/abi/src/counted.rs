//! The interface by which `libvcuda.so` reports a launch whose work it counted to `libcushim.so`.
//!
//! Owns the names and types of the two functions, which `libvcuda.so` finds by name. Both libraries come from one
//! build; the structure's size confirms that. Must not know what is counted, or what happens with it.

use std::ffi::{CStr, c_char};

/// The function that returns the number of the recorded call that the calling thread is in, 0 for
/// none.
pub const CALL: &CStr = c"cushim_traced_call";
/// Its type.
pub type Call = unsafe extern "C" fn() -> u64;
/// The function that stores a launch's work in the trace.
pub const WORK: &CStr = c"cushim_traced_work";
/// Its type: the argument stays valid until it returns.
pub type Work = unsafe extern "C" fn(*const Counted);

/// A kernel that ran.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Bytes of this structure.
    pub size: u32,
    /// Number of the device.
    pub device: u32,
    /// Number of the stream, as the driver counts; 0 where that is not known.
    pub stream: u32,
    /// Shared memory of a block, bytes.
    pub shared: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The call that launched it, as [`CALL`] returned then.
    pub call: u64,
    /// 1: a kernel of that call launched it.
    pub inner: u64,
    /// `CLOCK_MONOTONIC` at its beginning, ns.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at its end, ns.
    pub end_ns: u64,
    /// The kernel's symbol, a C string.
    pub symbol: *const c_char,
    /// The counters' names with spaces between, a C string.
    pub names: *const c_char,
    /// The counters.
    pub values: *const u64,
    /// How many there are.
    pub count: u64,
}
