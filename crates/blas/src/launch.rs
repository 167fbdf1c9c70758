//! The driver's functions, the loaded kernels, and the launch of a product.
//!
//! The functions are those that the program would find by name, so that a trace shows the launches. A kernel belongs to a
//! library, which is in whatever context it is launched in.
//!
//! Owns: the kernels of this process. Must not know: what they compute.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, PoisonError};

use crate::elements::{self, Elements};
use crate::kind::Kind;
use crate::product::Product;
use crate::reduce::{self, Reduction};
use crate::status;
use crate::triangle::Triangle;

/// A grid has so many planes at most.
const PLANES: i64 = 65535;
/// Threads of a block that goes through elements.
const ROWS: u32 = 128;

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

/// Whether there is a device to compute on. A thread that only the runtime was used in may have no context yet: the first device's.
pub fn context() -> bool {
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
    let ([alpha, beta], [of_alpha, of_beta]) = (product.scalars, product.on_device);
    // SAFETY: the caller's, of the scale's type.
    unsafe {
        scalar(alpha, form.scale, of_alpha, &mut parameter.alpha_at, &mut parameter.alpha);
        scalar(beta, form.scale, of_beta, &mut parameter.beta_at, &mut parameter.beta);
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
    let (at, value) = (&mut parameter.alpha_at, &mut parameter.alpha);
    // SAFETY: the caller's, of the elements' type.
    unsafe { scalar(triangle.alpha, triangle.kind, triangle.on_device, at, value) };
    if !context() {
        return status::NOT_INITIALIZED;
    }
    match kernel(triangle.name(), || triangle.text()) {
        // SAFETY: the kernel takes this parameter.
        Ok(kernel) => unsafe { grid(kernel, [blocks, 1], 64, stream, &parameter) },
        Err(status) => status,
    }
}

/// Launches what becomes of `elements` in `stream`. The answer is a `cublasStatus_t`.
///
/// # Safety
/// Alpha and beta are readable or null, unless they lie in device memory.
pub unsafe fn each(elements: &Elements, stream: usize) -> i32 {
    let mut parameter: elements::Parameter = elements.plan();
    if parameter.rows == 0 || parameter.columns == 0 {
        return status::SUCCESS;
    }
    let blocks = u32::try_from(parameter.rows.div_ceil(u64::from(ROWS))).ok();
    let Some(blocks) = blocks.filter(|blocks| *blocks <= i32::MAX as u32) else {
        return status::NOT_SUPPORTED;
    };
    let places = parameter.scalars_at.iter_mut().zip(&mut parameter.scalars);
    for (from, (at, value)) in elements.scalars.iter().zip(places) {
        if !from.is_null() {
            // SAFETY: the caller's, of the scalars' type.
            unsafe { scalar(*from, elements.scale, elements.on_device, at, value) };
        }
    }
    if !context() {
        return status::NOT_INITIALIZED;
    }
    let planes = parameter.columns.min(PLANES as u64) as u32;
    match kernel(elements.name(), || elements.text()) {
        // SAFETY: the kernel takes this parameter.
        Ok(kernel) => unsafe { grid(kernel, [blocks, planes], ROWS, stream, &parameter) },
        Err(status) => status,
    }
}

/// Computes `reduction` in `stream`, and writes it to `result`: in order with the stream if that lies in device memory, else
/// before this returns. The answer is a `cublasStatus_t`.
///
/// # Safety
/// `result` has room for the answer, where `on_device` says.
pub unsafe fn reduce(
    reduction: &Reduction,
    result: *mut c_void,
    on_device: bool,
    stream: usize,
) -> i32 {
    if result.is_null() {
        return status::INVALID_VALUE;
    }
    if !context() {
        return status::NOT_INITIALIZED;
    }
    let kernel = match kernel(reduction.name(), || reduction.text()) {
        Ok(kernel) => kernel,
        Err(status) => return status,
    };
    let mut parameter = reduction.plan();
    // SAFETY: the kernel takes this parameter.
    let launch = |parameter: &reduce::Parameter| unsafe {
        grid(kernel, [1, 1], reduce::THREADS, stream, parameter)
    };
    if on_device {
        parameter.result = result.addr() as u64;
        return launch(&parameter);
    }
    let allocated = driver!(
        c"cuMemAllocAsync": fn(*mut u64, usize, usize),
        &mut parameter.result, 16, stream
    );
    if allocated != 0 {
        return status::EXECUTION_FAILED;
    }
    let launched = launch(&parameter);
    let size = reduction.answer.size() as usize;
    let copied = driver!(
        c"cuMemcpyDtoHAsync_v2": fn(*mut c_void, u64, usize, usize),
        result, parameter.result, size, stream
    );
    let freed = driver!(c"cuMemFreeAsync": fn(u64, usize), parameter.result, stream);
    let waited = driver!(c"cuStreamSynchronize": fn(usize), stream);
    match launched {
        status::SUCCESS if copied == 0 && freed == 0 && waited == 0 => status::SUCCESS,
        status::SUCCESS => status::EXECUTION_FAILED,
        other => other,
    }
}

/// Puts a scalar into a kernel's parameter: its address, if it lies in device memory, or its bytes.
///
/// # Safety
/// It is of type `kind`, and readable unless it lies in device memory.
unsafe fn scalar(
    from: *const c_void,
    kind: Kind,
    on_device: bool,
    at: &mut u64,
    value: &mut [u64; 2],
) {
    if on_device {
        *at = from.addr() as u64;
        return;
    }
    // SAFETY: the caller's, at most 16 bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(
            from.cast::<u8>(),
            value.as_mut_ptr().cast(),
            kind.size() as usize,
        );
    };
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
