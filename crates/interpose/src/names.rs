//! The driver's information about handles: a function's name, a module's number of kernels, a handle's kernel.
//!
//! Must not know: who asks.

use std::ffi::CStr;

use cushim_abi::types::*;
use cushim_process::elf::{self, Version};

use crate::registry::{self, Kernel};

/// A string that a function of the driver returns for a handle (`cuFuncGetName`, `cuKernelGetName`:
/// CUDA 12.3).
fn driver_name(function: &CStr, handle: usize) -> Option<String> {
    let get = elf::next(function, Version::Any, |_| true)?;
    let mut name: *const libc::c_char = std::ptr::null();
    // SAFETY: the signature of both; the handle is one that the driver gave out or is being given.
    let status = unsafe {
        let get: unsafe extern "C-unwind" fn(*mut *const libc::c_char, usize) -> i32 =
            std::mem::transmute::<usize, _>(get);
        get(&mut name, handle)
    };
    if status != 0 || name.is_null() {
        return None;
    }
    // SAFETY: the driver's own string.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The symbol of a `CUfunction` or `CUkernel`.
pub fn name(handle: usize) -> Option<String> {
    driver_name(c"cuFuncGetName", handle).or_else(|| driver_name(c"cuKernelGetName", handle))
}

/// How many kernels a library or module has (`cuLibraryGetKernelCount`, `cuModuleGetFunctionCount`:
/// CUDA 12.4).
pub fn count(how_many: &CStr, owner: Module) -> Option<u32> {
    let get = elf::next(how_many, Version::Any, |_| true)?;
    let mut count = 0;
    // SAFETY: the signature of both; the owner is one for which a CUDA call just succeeded.
    let status = unsafe {
        let get: unsafe extern "C-unwind" fn(*mut u32, Module) -> i32 =
            std::mem::transmute::<usize, _>(get);
        get(&mut count, owner)
    };
    (status == 0).then_some(count)
}

/// The kernel that a handle launches; the driver is queried if no hook saw the handle.
#[inline(always)]
pub fn kernel_of(func: usize) -> &'static Kernel {
    match registry::find(func) {
        Some(kernel) => kernel,
        None => ask(func),
    }
}

#[cold]
fn ask(func: usize) -> &'static Kernel {
    // A handle that no hook saw is passed to the driver; if it is invalid, the driver returns an
    // error (measured on 580.159) or faults as the launch itself would.
    registry::unknown(func, name(func))
}
