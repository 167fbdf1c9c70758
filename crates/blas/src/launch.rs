//! The driver's functions, the loaded kernels, and the launch of a product.
//!
//! The functions are those that the program would find by name, so that a trace shows the launches. A kernel belongs to a
//! library, which is in whatever context it is launched in.
//!
//! Owns: the kernels of this process. Must not know: what they compute.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, PoisonError};

use crate::product::Product;
use crate::status;
use crate::triangle::Triangle;

/// A grid has so many planes at most.
const PLANES: i64 = 65535;

/// `CUkernel` by name.
static KERNELS: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// Calls a function of the driver by its name; `CUDA_ERROR_NOT_FOUND` where there is none.
macro_rules! driver {
    ($name:literal: fn($($ty:ty),*), $($argument:expr),*) => {
        match find($name) {
            Some(address) => {
                type Function = unsafe extern "C" fn($($ty),*) -> i32;
                // SAFETY: what the driver exports under that name, whose signature cuda.h has.
                let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
                // SAFETY: arguments of our own, which live as long as the call.
                unsafe { function($($argument),*) }
            }
            None => 500,
        }
    };
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; the search goes through what is loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The kernel of this name, loaded from its text at its first use.
fn kernel(name: String, text: impl FnOnce() -> String) -> Result<usize, i32> {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = kernels.get_or_insert_default();
    if let Some(kernel) = kernels.get(&name) {
        return Ok(*kernel);
    }
    let (Ok(text), Ok(entry)) = (CString::new(text()), CString::new(name.as_str())) else {
        return Err(status::INTERNAL_ERROR);
    };
    let (mut library, mut kernel) = (0usize, 0usize);
    let null = std::ptr::null_mut::<c_void>();
    let loaded = driver!(
        c"cuLibraryLoadData": fn(*mut usize, *const i8, *mut c_void, *mut c_void, u32, *mut c_void, *mut c_void, u32),
        &mut library, text.as_ptr(), null, null, 0, null, null, 0
    );
    if loaded != 0 {
        return Err(status::INTERNAL_ERROR);
    }
    let got = driver!(
        c"cuLibraryGetKernel": fn(*mut usize, usize, *const i8),
        &mut kernel, library, entry.as_ptr()
    );
    if got != 0 {
        return Err(status::INTERNAL_ERROR);
    }
    kernels.insert(name, kernel);
    Ok(kernel)
}

/// A thread that only the runtime was used in may have no context yet: the first device's.
fn context() -> bool {
    let mut current = 0usize;
    if driver!(c"cuCtxGetCurrent": fn(*mut usize), &mut current) == 0 && current != 0 {
        return true;
    }
    driver!(c"cuDevicePrimaryCtxRetain": fn(*mut usize, i32), &mut current, 0) == 0
        && driver!(c"cuCtxSetCurrent": fn(usize), current) == 0
}

/// Launches `product` in `stream`. The answer is a `cublasStatus_t`.
///
/// # Safety
/// Alpha and beta are readable, unless they lie in device memory.
pub unsafe fn launch(product: &Product, stream: usize) -> i32 {
    match product.check() {
        // SAFETY: the caller's promise.
        Ok(()) => unsafe { enqueue(product, stream) },
        Err(status) => status,
    }
}

/// As [`launch`](fn@launch), of a product whose arguments were looked at.
///
/// # Safety
/// Alpha and beta are readable, unless they lie in device memory.
pub unsafe fn enqueue(product: &Product, stream: usize) -> i32 {
    if product.is_empty() {
        return status::SUCCESS;
    }
    let Some((form, mut parameter, tiles, threads)) = product.plan() else {
        return status::NOT_SUPPORTED;
    };
    let [alpha, beta] = product.scalars;
    if product.on_device {
        (parameter.alpha_at, parameter.beta_at) = (alpha.addr() as u64, beta.addr() as u64);
    } else {
        let size = form.scale.size() as usize;
        for (from, to) in [(alpha, &mut parameter.alpha), (beta, &mut parameter.beta)] {
            // SAFETY: the caller's, of the scale's type, at most 16 bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr().cast(), size)
            };
        }
    }
    if !context() {
        return status::NOT_INITIALIZED;
    }
    let kernel = match kernel(form.name(), || form.text()) {
        Ok(kernel) => kernel,
        Err(status) => return status,
    };
    let mut first = 0;
    while first < product.count {
        let planes = (product.count - first).min(PLANES);
        parameter.first = first as u32;
        // SAFETY: the kernel takes this parameter.
        let status = unsafe { grid(kernel, [tiles, planes as u32], threads, stream, &parameter) };
        if status != status::SUCCESS {
            return status;
        }
        first += planes;
    }
    status::SUCCESS
}

/// Launches the solution of `triangle` in `stream`. The answer is a `cublasStatus_t`.
///
/// # Safety
/// Alpha is readable, unless it lies in device memory.
pub unsafe fn solve(triangle: &Triangle, stream: usize) -> i32 {
    let mut parameter = match triangle.plan() {
        Ok(Some(parameter)) => parameter,
        Ok(None) => return status::SUCCESS,
        Err(status) => return status,
    };
    let blocks = u32::try_from(parameter.sides.div_ceil(64)).ok();
    let Some(blocks) = blocks.filter(|blocks| *blocks <= i32::MAX as u32) else {
        return status::NOT_SUPPORTED;
    };
    if triangle.on_device {
        parameter.alpha_at = triangle.alpha.addr() as u64;
    } else {
        let (from, size) = (triangle.alpha.cast::<u8>(), triangle.kind.size() as usize);
        // SAFETY: the caller's, of the elements' type, at most 16 bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, parameter.alpha.as_mut_ptr().cast(), size) };
    }
    if !context() {
        return status::NOT_INITIALIZED;
    }
    match kernel(triangle.name(), || triangle.text()) {
        // SAFETY: the kernel takes this parameter.
        Ok(kernel) => unsafe { grid(kernel, [blocks, 1], 64, stream, &parameter) },
        Err(status) => status,
    }
}

/// # Safety
/// The kernel has one parameter, a `P`.
unsafe fn grid<P>(
    kernel: usize,
    blocks: [u32; 2],
    threads: u32,
    stream: usize,
    parameter: &P,
) -> i32 {
    let parameters = [std::ptr::from_ref(parameter).cast::<c_void>()];
    let [x, y] = blocks;
    let launched = driver!(
        c"cuLaunchKernel": fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, *const *const c_void, *mut c_void),
        kernel, x, y, 1, threads, 1, 1, 0, stream, parameters.as_ptr(), std::ptr::null_mut()
    );
    if launched == 0 { status::SUCCESS } else { status::EXECUTION_FAILED }
}
