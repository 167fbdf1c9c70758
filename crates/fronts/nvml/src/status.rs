//! `nvmlReturn_t`: results, and their texts.
//!
//! Owns: the table of both. Source: nvml.h of CUDA 13.5. Must not know: who returns which.

use std::ffi::{CStr, c_char};

/// The results that functions return here.
macro_rules! results {
    ($($name:ident = $value:literal;)*) => { $(#[allow(missing_docs)] pub const $name: i32 = $value;)* };
}

results! {
    SUCCESS = 0;
    UNINITIALIZED = 1;
    INVALID_ARGUMENT = 2;
    NOT_SUPPORTED = 3;
    NOT_FOUND = 6;
    INSUFFICIENT_SIZE = 7;
    UNKNOWN = 999;
}

/// A static text for every result of nvml.h.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: i32) -> *const c_char {
    let texts: [&CStr; 31] = [
        c"Success",
        c"Uninitialized",
        c"Invalid Argument",
        c"Not Supported",
        c"Insufficient Permissions",
        c"Already Initialized",
        c"Not Found",
        c"Insufficient Size",
        c"Insufficient External Power",
        c"Driver Not Loaded",
        c"Timeout",
        c"Interrupt Request Issue",
        c"NVML Shared Library Not Found",
        c"Function Not Found",
        c"Corrupted infoROM",
        c"GPU is lost",
        c"GPU requires restart",
        c"The operating system has blocked the request",
        c"Driver/library version mismatch",
        c"In Use by Another Client",
        c"Insufficient Memory",
        c"No Data",
        c"Not Supported with ECC",
        c"Insufficient Resources",
        c"Frequency Not Supported",
        c"Argument Version Mismatch",
        c"Deprecated",
        c"Not Ready",
        c"No GPUs",
        c"Invalid State",
        c"Reset Not Supported",
    ];
    let known = usize::try_from(result).ok().and_then(|at| texts.get(at));
    known.copied().unwrap_or(c"Unknown Error").as_ptr()
}
