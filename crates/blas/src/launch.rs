//! The launches: of a product, a triangular solve, and operations on elements and vectors.
//!
//! Owns: grids, and the conversion of the driver's errors to statuses. Must not know: what the kernels compute.

use std::ffi::c_void;

use cushim_kernels::driver;

pub use cushim_kernels::context;

use crate::elements::{self, Elements};
use crate::finish::{self, Place};
use crate::kind::Kind;
use crate::product::Product;
use crate::reduce::{self, Reduction};
use crate::status;
use crate::sums::Sums;
use crate::triangle::Triangle;

/// A grid has so many planes at most.
const PLANES: i64 = 65535;
/// Threads of a block that goes through elements.
const ROWS: u32 = 128;

/// The kernel of this name; a `cublasStatus_t` if there is none.
fn kernel(name: String, text: impl FnOnce() -> String) -> Result<usize, i32> {
    cushim_kernels::kernel(name, text).map_err(|_| status::INTERNAL_ERROR)
}

/// Launches `product` in `stream`. Returns a `cublasStatus_t`.
///
/// # Safety
/// Alpha and beta are readable, unless they are in device memory.
pub unsafe fn launch(product: &Product, stream: usize) -> i32 {
    match product.check() {
        // SAFETY: the caller's promise.
        Ok(()) => unsafe { enqueue(product, stream) },
        Err(status) => status,
    }
}

/// As [`launch`](fn@launch), for a product whose arguments were checked.
///
/// # Safety
/// Alpha and beta are readable, unless they are in device memory.
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
        scalar(beta, form.beta(), of_beta, &mut parameter.beta_at, &mut parameter.beta);
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

/// Launches the solution of `triangle` in `stream`. Returns a `cublasStatus_t`.
///
/// # Safety
/// Alpha is readable, unless it is in device memory.
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

/// Launches the operation on `elements` in `stream`. Returns a `cublasStatus_t`.
///
/// # Safety
/// Alpha and beta are readable or null, unless they are in device memory.
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

/// Computes `reduction` in `stream`, and writes it to `result`: in stream order if that is in device memory, else
/// before this returns. Returns a `cublasStatus_t`.
///
/// # Safety
/// `result` has room for the result, in the memory that `on_device` says.
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

/// Launches the epilogue of sums in `stream`. Returns a `cublasStatus_t`.
///
/// # Safety
/// Alpha and beta are readable, unless they are in device memory.
pub(crate) unsafe fn finish(
    form: &finish::Form,
    mut parameter: finish::Parameter,
    (scalars, places): ([*const c_void; 2], [Place; 2]),
    count: i64,
    stream: usize,
) -> i32 {
    let size = form.scale.size();
    let fields = [
        (&mut parameter.alpha_at, &mut parameter.alpha),
        (&mut parameter.beta_at, &mut parameter.beta),
    ];
    for ((from, place), (at, value)) in scalars.iter().zip(places).zip(fields) {
        let [at, row, batch] = at;
        if let Place::Vector(stride) = place {
            (*row, *batch) = (size, (stride as u64).wrapping_mul(size));
        }
        // SAFETY: the caller's, of the scale's type.
        unsafe { scalar(*from, form.scale, place != Place::Host, at, value) };
    }
    let (rows, tiles) = (parameter.m, i64::from(parameter.tiles.max(1)));
    let planes = (PLANES / tiles).max(1);
    in_batches((form.name(), || form.text()), rows, (count, planes, tiles), stream, |first| {
        finish::Parameter { first, ..parameter }
    })
}

/// Launches the sums of a matrix' rows in `stream`. Returns a `cublasStatus_t`.
pub(crate) fn sum(sums: &Sums, count: i64, stream: usize) -> i32 {
    let plan = sums.plan();
    in_batches((sums.name(), || sums.text()), plan.count, (count, PLANES, 1), stream, |first| {
        crate::sums::Parameter { first, ..plan }
    })
}

/// Launches a kernel over rows and a batch of `count`, so many of which are in one launch, with so many planes each.
fn in_batches<P>(
    (name, text): (String, impl FnOnce() -> String),
    rows: u64,
    (count, at_once, planes): (i64, i64, i64),
    stream: usize,
    parameter: impl Fn(u32) -> P,
) -> i32 {
    let blocks = u32::try_from(rows.div_ceil(u64::from(ROWS))).ok();
    let Some(blocks) = blocks.filter(|blocks| *blocks <= i32::MAX as u32) else {
        return status::NOT_SUPPORTED;
    };
    if blocks == 0 {
        return status::SUCCESS;
    }
    let kernel = match kernel(name, text) {
        Ok(kernel) => kernel,
        Err(status) => return status,
    };
    let mut first = 0;
    while first < count {
        let now = (count - first).min(at_once);
        let grid_of = [blocks, (now * planes) as u32];
        // SAFETY: the kernel takes this parameter.
        let status = unsafe { grid(kernel, grid_of, ROWS, stream, &parameter(first as u32)) };
        if status != status::SUCCESS {
            return status;
        }
        first += now;
    }
    status::SUCCESS
}

/// Stores a scalar in a kernel's parameter: its address, if it is in device memory, or its bytes.
///
/// # Safety
/// It is of type `kind`, and readable unless it is in device memory.
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
    // SAFETY: the caller's promise.
    match unsafe { cushim_kernels::launch(kernel, blocks, threads, stream, parameter) } {
        Ok(()) => status::SUCCESS,
        Err(_) => status::EXECUTION_FAILED,
    }
}
