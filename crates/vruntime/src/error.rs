//! Errors of the runtime: the conversion of driver errors, and each thread's last error.
//!
//! Owns the one conversion of a `CUresult` to a `cudaError_t`, and CUDA's rules for the last error: every failed call
//! sets it, no successful call clears it, and "not ready" is no failure (CUDA C++ Programming Guide, "Error
//! Checking"). Must not know: which calls there are.

use cushim_abi::errors::runtime_error_name;
use cushim_abi::types::{NOT_READY, Status};

use super::thread;

/// The `cudaError_t` that the runtime itself returns, and the driver results that it compares with.
pub mod code {
    #![allow(missing_docs)]
    pub const SUCCESS: i32 = 0;
    pub const INVALID_VALUE: i32 = 1;
    pub const MEMORY_ALLOCATION: i32 = 2;
    pub const INITIALIZATION: i32 = 3;
    pub const UNLOADING: i32 = 4;
    pub const INVALID_CONFIGURATION: i32 = 9;
    pub const INVALID_PITCH: i32 = 12;
    pub const INVALID_SYMBOL: i32 = 13;
    pub const INVALID_TEXTURE: i32 = 18;
    pub const INVALID_TEXTURE_BINDING: i32 = 19;
    pub const INVALID_CHANNEL_DESCRIPTOR: i32 = 20;
    pub const INVALID_MEMCPY_DIRECTION: i32 = 21;
    pub const INSUFFICIENT_DRIVER: i32 = 35;
    pub const INVALID_SURFACE: i32 = 37;
    pub const MISSING_CONFIGURATION: i32 = 52;
    pub const INVALID_DEVICE_FUNCTION: i32 = 98;
    pub const NO_DEVICE: i32 = 100;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const NO_KERNEL_IMAGE: i32 = 209;
    pub const INVALID_HANDLE: i32 = 400;
    pub const SYMBOL_NOT_FOUND: i32 = 500;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const UNKNOWN: i32 = 999;
}

/// The `cudaError_t` for a `CUresult`. The two enumerations share their numbers since CUDA 10.1; a result
/// that the runtime has no name for (CUDA_ERROR_CONTEXT_ALREADY_CURRENT, a later driver's) is unknown.
pub fn from_driver(result: i32) -> Status {
    match result {
        0 => 0,
        _ if runtime_error_name(result).is_some() => result,
        _ => code::UNKNOWN,
    }
}

/// Ends a call with the driver's result: its `cudaError_t`, which becomes the thread's last error
/// if it is a failure.
#[inline(always)]
pub fn returned(result: i32) -> Status {
    if result == 0 { 0 } else { failed(from_driver(result)) }
}

/// Ends a call with a `cudaError_t`, which becomes the thread's last error if it is a failure.
#[cold]
pub fn failed(error: Status) -> Status {
    if error != 0 && error != NOT_READY {
        if let Some(checks) = cushim_accel::checks() {
            checks.failed(error, runtime_error_name(error).unwrap_or("an unknown error"));
        }
        thread::state().error.set(error);
    }
    error
}

/// The program has read its errors.
pub fn looked() {
    if let Some(checks) = cushim_accel::checks() {
        checks.looked();
    }
}

/// The thread's last error, which is kept (cudaPeekAtLastError).
pub fn last() -> Status {
    looked();
    thread::state().error.get()
}

/// The thread's last error, which is reset (cudaGetLastError).
pub fn take_last() -> Status {
    looked();
    thread::state().error.replace(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_numbers_where_the_runtime_has_them() {
        assert_eq!(from_driver(0), 0);
        assert_eq!(from_driver(2), code::MEMORY_ALLOCATION);
        assert_eq!(from_driver(400), code::INVALID_HANDLE);
        assert_eq!(from_driver(202), code::UNKNOWN);
        assert_eq!(from_driver(123_456), code::UNKNOWN);
    }

    #[test]
    fn the_last_error_stays_until_it_is_taken() {
        take_last();
        assert_eq!(returned(1), code::INVALID_VALUE);
        assert_eq!(returned(0), 0);
        assert_eq!(returned(NOT_READY), NOT_READY);
        assert_eq!((last(), take_last(), last()), (1, 1, 0));
        assert_eq!(failed(code::INVALID_SYMBOL), 13);
        assert_eq!(std::thread::spawn(last).join().ok(), Some(0));
        assert_eq!(take_last(), 13);
    }
}
