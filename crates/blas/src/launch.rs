//! The driver's functions, the loaded kernels, and the launch of a product.
//!
//! The functions are those that the program would find by name, so that a trace shows the launches. A kernel belongs to a
//! library, which is in whatever context it is launched in.
//!
//! Owns: the kernels of this process. Must not know: what they compute.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, PoisonError};

use crate::kernel::{Form, Parameter};
use crate::product::Product;
use crate::status;

/// A grid has so many planes at most.
const PLANES: i64 = 65535;

/// `CUkernel` by form.
static KERNELS: Mutex<Option<HashMap<Form, usize>>> = Mutex::new(None);

/// Calls a function of the driver by its name; `CUDA_ERROR_NOT_FOUND` where there is none.
macro_rules! driver {
    ($name:literal: fn($($ty:ty),*), $($argument:expr),*) => {
        match find($name) {
            Some(address) => {
                // SAFETY: what the driver exports under that name, whose signature cuda.h has.
                let function: unsafe extern "C" fn($($ty),*) -> i32 =
                    unsafe { std::mem::transmute::<*mut c_void, _>(address) };
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

/// The kernel of a form, loaded at its first use.
fn kernel(form: Form) -> Result<usize, i32> {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = kernels.get_or_insert_default();
    if let Some(kernel) = kernels.get(&form) {
        return Ok(*kernel);
    }
    let (Ok(text), Ok(name)) = (CString::new(form.text()), CString::new(form.name())) else {
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
        &mut kernel, library, name.as_ptr()
    );
    if got != 0 {
        return Err(status::INTERNAL_ERROR);
    }
    kernels.insert(form, kernel);
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
    if let Err(status) = product.check() {
        return status;
    }
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
    let kernel = match kernel(form) {
        Ok(kernel) => kernel,
        Err(status) => return status,
    };
    let mut first = 0;
    while first < product.count {
        let planes = (product.count - first).min(PLANES);
        parameter.first = first as u32;
        let status = grid(kernel, [tiles, planes as u32], threads, stream, &parameter);
        if status != status::SUCCESS {
            return status;
        }
        first += planes;
    }
    status::SUCCESS
}

fn grid(
    kernel: usize,
    blocks: [u32; 2],
    threads: u32,
    stream: usize,
    parameter: &Parameter,
) -> i32 {
    let parameters = [std::ptr::from_ref(parameter).cast::<c_void>()];
    let [x, y] = blocks;
    let launched = driver!(
        c"cuLaunchKernel": fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, *const *const c_void, *mut c_void),
        kernel, x, y, 1, threads, 1, 1, 0, stream, parameters.as_ptr(), std::ptr::null_mut()
    );
    if launched == 0 { status::SUCCESS } else { status::EXECUTION_FAILED }
}
