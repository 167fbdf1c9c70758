//! What the functions of cuBLAS share: types, scalars, the handle's state, and the messages about calls that do not
//! run.
//!
//! Owns: these. Must not know: the functions.

use std::ffi::c_void;

use cushim_blas::kind::Kind;
use cushim_blas::product::{Compute, compute};
use cushim_blas::status;
use cushim_vbase::code::say_once;

use super::handle::{self, Handle};

pub(super) type Scalar = *const c_void;
/// The address of a matrix, or of an array of addresses, in device memory.
pub(super) type At = u64;

/// `CUBLAS_COMPUTE_…` of the functions whose names say a type.
pub(super) const COMPUTE_16F: i32 = 64;
pub(super) const COMPUTE_32F: i32 = 68;
pub(super) const COMPUTE_64F: i32 = 70;

/// What a function's name says, or its arguments.
#[derive(Clone, Copy)]
pub(super) struct Types {
    /// The type of both factors; none if they differ, or if cushim's kernels lack it.
    pub(super) factor: Option<Kind>,
    pub(super) result: Option<Kind>,
    pub(super) compute: i32,
}

impl Types {
    /// All of one type.
    pub(super) const fn all(kind: Kind, compute: i32) -> Types {
        Types { factor: Some(kind), result: Some(kind), compute }
    }

    /// As `cudaDataType_t` says them.
    pub(super) fn of(a: i32, b: i32, c: i32, compute: i32) -> Types {
        Types { factor: Kind::of(a).filter(|_| a == b), result: Kind::of(c), compute }
    }

    pub(super) fn complete(self) -> Option<(Kind, Kind, Compute)> {
        let (factor, result) = (self.factor?, self.result?);
        Some((factor, result, compute(factor, result, self.compute)?))
    }
}

/// The handle's stream, and whether scalars are in device memory.
///
/// # Safety
/// The handle is one of cuBLAS', or none.
pub(super) unsafe fn state<const K: usize>(handle: Handle) -> Result<(usize, bool), i32> {
    let (mut stream, mut mode) = (0usize, 0i32);
    // SAFETY: our own variables; a handle that is none is refused by NVIDIA's function.
    let status = unsafe { handle::get_stream::<K>(handle, &mut stream) };
    if status != status::SUCCESS {
        return Err(status);
    }
    // SAFETY: as above.
    let status = unsafe { handle::get_pointer_mode::<K>(handle, &mut mode) };
    if status != status::SUCCESS {
        return Err(status);
    }
    Ok((stream, mode == 1))
}

/// Says once of each function that a call of it did not run.
pub(super) fn say(name: &'static str) {
    let library = if name.starts_with("cublasLt") { "libcublasLt" } else { "libcublas" };
    say_once(&format!("{name} of {library}: a call with these arguments does not run on the CPU"));
}

/// Makes an operand of an address, a leading dimension, and a stride or none.
macro_rules! operand {
    ($at:ident, $leading:ident) => {
        Operand { at: $at, leading: i64::from($leading), batch: 0 }
    };
    ($at:ident, $leading:ident, $batch:ident) => {
        Operand { at: $at, leading: i64::from($leading), batch: $batch }
    };
}

pub(super) use operand;

/// Passes the handle's stream, and whether scalars are in device memory, to `compute`, which returns a status.
///
/// # Safety
/// The handle is one of cuBLAS', or none.
pub(super) unsafe fn within<const K: usize>(
    handle: Handle,
    row: usize,
    compute: impl FnOnce(usize, bool) -> i32,
) -> i32 {
    if crate::real::of(K, row).is_none() {
        return status::NOT_INITIALIZED;
    }
    // SAFETY: the caller's handle.
    match unsafe { state::<K>(handle) } {
        Ok((stream, on_device)) => compute(stream, on_device),
        Err(status) => status,
    }
}
