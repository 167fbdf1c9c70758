//! Errors, as the program queries them; versions.
//!
//! Owns the functions about errors and versions. Must not know: which call failed.

use std::ffi::CStr;

use cushim_abi::errors::runtime_error_name;
use cushim_abi::types::*;

use super::error::{self, code};
use super::forward::{done, functions};
use super::{context, forward};
use cushim_vbase::error_text;

/// The newest runtime of a major whose functions these are (cudaRuntimeGetVersion).
pub const fn version(major: usize) -> i32 {
    match major {
        11 => 11_080,
        12 => 12_090,
        _ => 13_050,
    }
}

/// The thread's last error, or that there is no driver: without a driver every query returns that,
/// after the driver has ended it does not (measured).
fn last_or(error: Status) -> Status {
    match error {
        0 => context::init().err().filter(|error| *error != code::UNLOADING).unwrap_or(0),
        error => error,
    }
}

/// Initialises CUDA, if possible: these calls do so although they do not need it (measured). That
/// decides which exit handlers can still use CUDA.
fn begin() {
    let _ = context::init();
}

/// Name and text of an unknown error number.
const UNRECOGNIZED: &CStr = c"unrecognized error code";

fn string(text: &'static CStr) -> Str {
    Str(text.as_ptr().expose_provenance())
}

/// The names of errors, each with its NUL.
fn name(error: i32) -> Str {
    static NAMES: std::sync::OnceLock<Vec<(i32, std::ffi::CString)>> = std::sync::OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = (0..1000).filter_map(|code| Some((code, runtime_error_name(code)?)));
        named.filter_map(|(code, name)| Some((code, std::ffi::CString::new(name).ok()?))).collect()
    });
    let at = names.binary_search_by_key(&error, |row| row.0).ok();
    match at.and_then(|at| names.get(at)) {
        Some((_, name)) => Str(name.as_ptr().expose_provenance()),
        None => string(UNRECOGNIZED),
    }
}

functions! {
    cudaGetLastError () {
        last_or(error::take_last())
    }

    cudaPeekAtLastError () {
        last_or(error::last())
    }

    cudaDriverGetVersion (driverVersion: Out<i32>) {
        if driverVersion.0.is_null() {
            return done(Err(code::INVALID_VALUE));
        }
        begin();
        // Without a driver the version is 0, which is no failure. SAFETY: the program's place.
        unsafe { driverVersion.0.write_unaligned(context::driver_version()) };
        0
    }

    cudaRuntimeGetVersion (runtimeVersion: Out<i32>) {
        // Until 11 that also needed a driver (measured).
        if MAJOR < 12 && let Err(error) = context::init() {
            return done(Err(error));
        }
        // SAFETY: the program's place for a number, or null.
        done(unsafe { forward::give(runtimeVersion, version(MAJOR)) })
    }
}

/// The name of an error.
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn cudaGetErrorName<const MAJOR: usize>(error: i32) -> Str {
    error::looked();
    begin();
    name(error)
}

/// The text of an error.
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn cudaGetErrorString<const MAJOR: usize>(error: i32) -> Str {
    error::looked();
    begin();
    let known = runtime_error_name(error).and_then(|_| error_text::text(error));
    string(known.unwrap_or(UNRECOGNIZED))
}
