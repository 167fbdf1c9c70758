//! Handles of cuBLAS.
//!
//! NVIDIA's library creates its handle with the runtime inside it, which finds no driver if that runtime could not be
//! redirected. Then the handle is cushim's: a block of zeros, which NVIDIA's functions reject (seen with 12.9.2 and
//! 13.10.0: `CUBLAS_STATUS_NOT_INITIALIZED`), and its settings are kept here.
//!
//! Owns: cushim's handles. Must not know: what is computed with them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cushim_blas::launch::context;
use cushim_blas::status;
use cushim_vbase::code::say_once;

use crate::real::call;

/// `cublasHandle_t`, an address.
pub(super) type Handle = usize;

/// Bytes of cushim's handle: more than NVIDIA's functions were seen to read.
const SIZE: usize = 1 << 18;

/// What is set in a handle: `[atomics mode, math mode, pointer mode, multiprocessors]` as the functions number them.
#[derive(Clone, Copy, Default)]
struct Set {
    stream: usize,
    atomics: i32,
    math: i32,
    pointer: i32,
    multiprocessors: i32,
}

static OURS: Mutex<Option<HashMap<Handle, Set>>> = Mutex::new(None);

/// Runs `with` on the settings of a handle, if it is cushim's.
fn ours<R>(handle: Handle, with: impl FnOnce(&mut Set) -> R) -> Option<R> {
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    ours.as_mut()?.get_mut(&handle).map(with)
}

/// Whether a handle is cushim's.
pub(super) fn is_ours(handle: Handle) -> bool {
    ours(handle, |_| ()).is_some()
}

/// `cublasCreate_v2`.
pub unsafe extern "C" fn create<const K: usize>(handle: *mut Handle) -> i32 {
    let status = call!(K, BLAS_CREATE: fn(*mut Handle), status::NOT_INITIALIZED, handle);
    if status == status::SUCCESS || handle.is_null() || !context() {
        return status;
    }
    // SAFETY: no pointer goes in.
    let place = unsafe { libc::calloc(SIZE, 1) };
    if place.is_null() {
        return status;
    }
    say_once(
        "libcublas finds no driver: products of matrices, triangles and vectors run by kernels of cushim's, and its other functions answer 1",
    );
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    ours.get_or_insert_default().insert(place.expose_provenance(), Set::default());
    // SAFETY: the program's variable, which is not null.
    unsafe { handle.write(place.expose_provenance()) };
    status::SUCCESS
}

/// `cublasDestroy_v2`.
pub unsafe extern "C" fn destroy<const K: usize>(handle: Handle) -> i32 {
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    if ours.as_mut().and_then(|ours| ours.remove(&handle)).is_some() {
        // SAFETY: `create` allocated it, and it was not destroyed before.
        unsafe { libc::free(std::ptr::with_exposed_provenance_mut(handle)) };
        return status::SUCCESS;
    }
    drop(ours);
    call!(K, BLAS_DESTROY: fn(Handle), status::NOT_INITIALIZED, handle)
}

/// `cublasSetWorkspace_v2`: cushim's handle needs none.
pub unsafe extern "C" fn set_workspace<const K: usize>(
    handle: Handle,
    at: usize,
    size: usize,
) -> i32 {
    if is_ours(handle) {
        return status::SUCCESS;
    }
    call!(K, BLAS_SET_WORKSPACE: fn(Handle, usize, usize), status::NOT_INITIALIZED, handle, at, size)
}

/// Functions that set or get: what of, and which values are right.
macro_rules! kept {
    ($($set:literal $set_function:ident $set_row:ident, $get:literal $get_function:ident $get_row:ident: $field:ident $ty:ty, $right:expr;)+) => {$(
        #[doc = concat!("`", $set, "`.")]
        pub unsafe extern "C" fn $set_function<const K: usize>(handle: Handle, value: $ty) -> i32 {
            let kept = ours(handle, |set| {
                if $right(value) {
                    set.$field = value;
                    status::SUCCESS
                } else {
                    status::INVALID_VALUE
                }
            });
            match kept {
                Some(status) => status,
                None => call!(K, $set_row: fn(Handle, $ty), status::NOT_INITIALIZED, handle, value),
            }
        }

        #[doc = concat!("`", $get, "`.")]
        pub unsafe extern "C" fn $get_function<const K: usize>(handle: Handle, value: *mut $ty) -> i32 {
            match ours(handle, |set| set.$field) {
                Some(_) if value.is_null() => status::INVALID_VALUE,
                Some(kept) => {
                    // SAFETY: the program's variable, which is not null.
                    unsafe { value.write(kept) };
                    status::SUCCESS
                }
                None => call!(K, $get_row: fn(Handle, *mut $ty), status::NOT_INITIALIZED, handle, value),
            }
        }
    )+};
}

kept! {
    "cublasSetStream_v2" set_stream BLAS_SET_STREAM, "cublasGetStream_v2" get_stream GET_STREAM: stream usize, |_| true;
    "cublasSetPointerMode_v2" set_pointer_mode BLAS_SET_POINTER_MODE, "cublasGetPointerMode_v2" get_pointer_mode GET_POINTER_MODE:
        pointer i32, |mode| (0..=1).contains(&mode);
    "cublasSetMathMode" set_math_mode BLAS_SET_MATH_MODE, "cublasGetMathMode" get_math_mode BLAS_GET_MATH_MODE: math i32, |mode| mode >= 0;
    "cublasSetAtomicsMode" set_atomics_mode BLAS_SET_ATOMICS_MODE, "cublasGetAtomicsMode" get_atomics_mode BLAS_GET_ATOMICS_MODE:
        atomics i32, |mode| (0..=1).contains(&mode);
    "cublasSetSmCountTarget" set_sm_count BLAS_SET_SM_COUNT, "cublasGetSmCountTarget" get_sm_count BLAS_GET_SM_COUNT:
        multiprocessors i32, |count| count >= 0;
}
