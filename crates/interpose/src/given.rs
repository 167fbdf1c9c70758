//! Arguments and results of calls, and functions that several handlers share.
//!
//! Must not know: events.

use std::ffi::CStr;

use cushim_abi::types::*;

/// The C string at `at`, if there is one.
///
/// # Safety
/// `at` is null or points to a NUL-terminated string that stays for the call.
pub unsafe fn text<'a>(at: Str) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    (at.0 != 0).then(|| unsafe { CStr::from_ptr(at.0 as *const libc::c_char) })
}

/// What the call that returned `status` wrote to `out`; `None` where it failed or `out` is null.
///
/// # Safety
/// `out` is the place that CUDA was given for a value of this type, and `status` what it returned.
pub unsafe fn answered<T: Copy>(status: i32, out: Out<T>) -> Option<T> {
    if status != 0 || out.0.is_null() {
        return None;
    }
    // SAFETY: as the caller promises, CUDA was given this place, and wrote there since it
    // succeeded.
    Some(unsafe { out.0.read_unaligned() })
}

/// A function of one handle.
pub type Fn1<R> = unsafe extern "C-unwind" fn(Ptr) -> R;

/// `__cudaRegisterFunction`.
pub type RegisterFunction =
    unsafe extern "C-unwind" fn(Ptr, Func, Str, Str, i32, Ptr, Ptr, Ptr, Ptr, Ptr) -> i32;

/// `__cudaRegisterVar`, `__cudaRegisterManagedVar`.
pub type RegisterVar = unsafe extern "C-unwind" fn(Ptr, Ptr, Str, Str, i32, usize, i32, i32);

/// `cudaLibraryLoadData`, `cuLibraryLoadData`.
pub type LibraryLoad =
    unsafe extern "C-unwind" fn(Out<Module>, Ptr, Ptr, Ptr, u32, Ptr, Ptr, u32) -> i32;
/// `cudaLibraryLoadFromFile`, `cuLibraryLoadFromFile`.
pub type LibraryLoadFile =
    unsafe extern "C-unwind" fn(Out<Module>, Str, Ptr, Ptr, u32, Ptr, Ptr, u32) -> i32;
