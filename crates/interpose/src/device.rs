//! Device memory and streams, for code that reads or writes a program's data: comparisons and tools.
//!
//! Owns: the driver's functions for this, called directly and not through cushim's hooks. Must not know: who calls
//! it.

use std::ffi::CStr;

use cushim_process::elf::{self, Version};

/// CUDA_ERROR_NOT_FOUND: the driver is not there, or older than the function.
const NOT_FOUND: i32 = 500;

/// The driver's function of this name.
pub fn function(name: &CStr) -> Option<usize> {
    elf::next(name, Version::Any, |_| true)
}

/// The allocation that `at` lies in: where it begins, and its bytes.
///
/// # Errors
/// The driver's.
pub fn range(at: u64) -> Result<(u64, u64), i32> {
    type Range = unsafe extern "C-unwind" fn(*mut u64, *mut usize, u64) -> i32;
    let range = function(c"cuMemGetAddressRange_v2").ok_or(NOT_FOUND)?;
    let (mut base, mut bytes) = (0, 0);
    // SAFETY: the function's signature; both places are valid, and any address may be asked about.
    let status = unsafe { std::mem::transmute::<usize, Range>(range)(&mut base, &mut bytes, at) };
    if status == 0 { Ok((base, bytes as u64)) } else { Err(status) }
}

/// Copies device memory to `to`.
///
/// # Errors
/// The driver's.
pub fn read(to: &mut [u8], from: u64) -> Result<(), i32> {
    type Copy = unsafe extern "C-unwind" fn(*mut u8, u64, usize) -> i32;
    let copy = function(c"cuMemcpyDtoH_v2").ok_or(NOT_FOUND)?;
    // SAFETY: the function's signature; `to` has room. The driver checks the device address.
    checked(unsafe { std::mem::transmute::<usize, Copy>(copy)(to.as_mut_ptr(), from, to.len()) })
}

/// Copies `from` to device memory.
///
/// # Errors
/// The driver's.
pub fn write(to: u64, from: &[u8]) -> Result<(), i32> {
    type Copy = unsafe extern "C-unwind" fn(u64, *const u8, usize) -> i32;
    let copy = function(c"cuMemcpyHtoD_v2").ok_or(NOT_FOUND)?;
    // SAFETY: the function's signature; `from` is as long. The driver checks the device address.
    checked(unsafe { std::mem::transmute::<usize, Copy>(copy)(to, from.as_ptr(), from.len()) })
}

/// Waits for the work of a stream.
///
/// # Errors
/// The driver's, also for the failure of an earlier kernel.
pub fn synchronize(stream: usize) -> Result<(), i32> {
    type Wait = unsafe extern "C-unwind" fn(usize) -> i32;
    let wait = function(c"cuStreamSynchronize").ok_or(NOT_FOUND)?;
    // SAFETY: the function's signature; the stream is one that the program just launches into.
    checked(unsafe { std::mem::transmute::<usize, Wait>(wait)(stream) })
}

/// Whether a stream is being captured.
pub fn is_capturing(stream: usize) -> bool {
    type Query = unsafe extern "C-unwind" fn(usize, *mut i32) -> i32;
    let Some(query) = function(c"cuStreamIsCapturing") else { return false };
    let mut state = 0;
    // SAFETY: the function's signature; the place is valid.
    let status = unsafe { std::mem::transmute::<usize, Query>(query)(stream, &mut state) };
    // The driver returns an error for the legacy stream while another one is captured.
    status != 0 || state != 0
}

/// The current context.
///
/// # Errors
/// Why there is none, in words.
pub fn context() -> Result<usize, String> {
    type Current = unsafe extern "C-unwind" fn(*mut usize) -> i32;
    let current = function(c"cuCtxGetCurrent").ok_or("no CUDA driver is loaded")?;
    let mut context = 0;
    // SAFETY: the function's signature.
    let status = unsafe { std::mem::transmute::<usize, Current>(current)(&mut context) };
    match (status, context) {
        (0, 1..) => Ok(context),
        (0, _) => Err("no context is current".to_owned()),
        (error, _) => Err(format!("cuCtxGetCurrent failed with error {error}")),
    }
}

/// Runs `work` so that captures of other streams do not forbid what it calls.
pub fn relaxed<R>(work: impl FnOnce() -> R) -> R {
    type Exchange = unsafe extern "C-unwind" fn(*mut i32) -> i32;
    /// CU_STREAM_CAPTURE_MODE_RELAXED.
    const RELAXED: i32 = 2;
    let Some(exchange) = function(c"cuThreadExchangeStreamCaptureMode") else { return work() };
    // SAFETY: the function's signature.
    let exchange = unsafe { std::mem::transmute::<usize, Exchange>(exchange) };
    let mut mode = RELAXED;
    // SAFETY: the place is valid.
    let changed = unsafe { exchange(&mut mode) } == 0;
    let result = work();
    if changed {
        // SAFETY: the place is valid; it puts the former mode back.
        unsafe { exchange(&mut mode) };
    }
    result
}

fn checked(status: i32) -> Result<(), i32> {
    if status == 0 { Ok(()) } else { Err(status) }
}
