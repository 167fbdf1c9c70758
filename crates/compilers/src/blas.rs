//! cuBLAS: products of matrices are kernels of ours.
//!
//! The handle stays NVIDIA's, and so do its stream and its pointer mode, which are asked for at each call. A product of
//! types that ours do not have goes to NVIDIA's function; where that has no kernel for the CPU, it is said. Workspaces,
//! algorithms and math modes are of no concern: sums are singles, doubles or integers. Source: cublas_api.h.
//!
//! Owns: the functions and their arguments. Must not know: how products are computed (`crates/blas`).

use std::collections::HashSet;
use std::ffi::c_void;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use cushim_blas::kind::{C, D, H, Kind, S, Z};
use cushim_blas::launch::{enqueue, launch, solve};
use cushim_blas::product::{Compute, Operand, Product, compute};
use cushim_blas::status;
use cushim_blas::triangle::Triangle;

use super::real::{call, of};

type Handle = usize;
type Scalar = *const c_void;
/// The address of a matrix, or of an array of addresses, in device memory.
type At = u64;

/// `CUBLAS_COMPUTE_…` of the functions whose names say a type.
const COMPUTE_16F: i32 = 64;
const COMPUTE_32F: i32 = 68;
const COMPUTE_64F: i32 = 70;

/// What a function's name says, or its arguments.
#[derive(Clone, Copy)]
struct Types {
    /// Of both factors; none where they differ, or are none of ours.
    factor: Option<Kind>,
    result: Option<Kind>,
    compute: i32,
}

impl Types {
    /// All of one type.
    const fn all(kind: Kind, compute: i32) -> Types {
        Types { factor: Some(kind), result: Some(kind), compute }
    }

    /// As `cudaDataType_t` says them.
    fn of(a: i32, b: i32, c: i32, compute: i32) -> Types {
        Types { factor: Kind::of(a).filter(|_| a == b), result: Kind::of(c), compute }
    }

    fn complete(self) -> Option<(Kind, Kind, Compute)> {
        let (factor, result) = (self.factor?, self.result?);
        Some((factor, result, compute(factor, result, self.compute)?))
    }
}

/// The arguments that all functions share.
struct Call {
    name: &'static str,
    types: Types,
    operations: [i32; 2],
    sizes: [i64; 3],
    operands: [Operand; 3],
    scalars: [Scalar; 2],
    count: i64,
    arrays: bool,
}

/// Computes by a kernel of ours, or asks NVIDIA's function.
///
/// # Safety
/// The arguments are those of a call of cuBLAS.
unsafe fn run<const K: usize>(handle: Handle, call: &Call, theirs: impl FnOnce() -> i32) -> i32 {
    let Some((factor, result, compute)) = call.types.complete() else {
        let status = theirs();
        if [status::EXECUTION_FAILED, status::INTERNAL_ERROR, status::NOT_SUPPORTED]
            .contains(&status)
        {
            say(call.name);
        }
        return status;
    };
    // SAFETY: the caller's handle.
    let (stream, on_device) = match unsafe { state::<K>(handle) } {
        Ok(state) => state,
        Err(status) => return status,
    };
    let product = Product {
        factor,
        result,
        compute,
        operations: call.operations,
        sizes: call.sizes,
        operands: call.operands,
        scalars: call.scalars,
        on_device,
        count: call.count,
        arrays: call.arrays,
    };
    // SAFETY: the program's scalars, which lie where the handle's mode says.
    unsafe { launch(&product, stream) }
}

/// The handle's stream, and whether scalars lie in device memory.
///
/// # Safety
/// The handle is one of cuBLAS', or none.
unsafe fn state<const K: usize>(handle: Handle) -> Result<(usize, bool), i32> {
    let (mut stream, mut mode) = (0usize, 0i32);
    // SAFETY: our own variables; a handle that is none is refused by NVIDIA's function.
    let status = unsafe { get_stream::<K>(handle, &mut stream) };
    if status != status::SUCCESS {
        return Err(status);
    }
    // SAFETY: as above.
    let status = unsafe { get_pointer_mode::<K>(handle, &mut mode) };
    if status != status::SUCCESS {
        return Err(status);
    }
    Ok((stream, mode == 1))
}

/// Says once of each function that a call of it did not run.
fn say(name: &'static str) {
    static SAID: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(name) {
        // Where nobody reads it, nothing is to be done.
        let _ = writeln!(
            std::io::stderr(),
            "cushim: {name} of libcublas: a product of these types does not run on the CPU"
        );
    }
}

/// `cublasGetStream_v2`.
pub unsafe extern "C" fn get_stream<const K: usize>(handle: Handle, stream: *mut usize) -> i32 {
    call!(K, GET_STREAM: fn(Handle, *mut usize), status::NOT_INITIALIZED, handle, stream)
}

/// `cublasGetPointerMode_v2`.
pub unsafe extern "C" fn get_pointer_mode<const K: usize>(handle: Handle, mode: *mut i32) -> i32 {
    call!(K, GET_POINTER_MODE: fn(Handle, *mut i32), status::NOT_INITIALIZED, handle, mode)
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

/// A function: its name in cuBLAS, ours, its row, the types, and its arguments in order. Behind `;` what the call's parts
/// are made of.
macro_rules! function {
    ($name:literal $function:ident $row:ident ($($argument:ident: $ty:ty),*) $types:expr;
     [$ta:ident $tb:ident $m:ident $n:ident $k:ident $alpha:ident $beta:ident]
     $a:expr, $b:expr, $c:expr, $count:expr, $arrays:literal) => {
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(handle: Handle, $($argument: $ty),*) -> i32 {
            let theirs = || call!(K, $row: fn(Handle, $($ty),*), status::NOT_INITIALIZED, handle, $($argument),*);
            let call = Call {
                name: $name,
                types: $types,
                operations: [$ta, $tb],
                sizes: [i64::from($m), i64::from($n), i64::from($k)],
                operands: [$a, $b, $c],
                scalars: [$alpha, $beta],
                count: i64::from($count),
                arrays: $arrays,
            };
            // SAFETY: the program's call.
            unsafe { run::<K>(handle, &call, theirs) }
        }
    };
}

/// A matrix times a vector.
macro_rules! vector {
    ($($name:literal $function:ident $row:ident $int:ty, $types:expr;)+) => {$(
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle, operation: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, x: At, incx: $int,
            beta: Scalar, y: At, incy: $int,
        ) -> i32 {
            let Some((kind, _, compute)) = $types.complete() else { return status::NOT_SUPPORTED };
            if of(K, super::rows::$row).is_none() {
                return status::NOT_INITIALIZED;
            }
            let operands = [operand!(a, lda), operand!(x, incx), operand!(y, incy)];
            let sizes = [i64::from(m), i64::from(n)];
            // SAFETY: the program's handle.
            match unsafe { state::<K>(handle) } {
                Err(status) => status,
                Ok((stream, on_device)) => {
                    match Product::of_vector(kind, compute, operation, sizes, operands, [alpha, beta]) {
                        // SAFETY: the program's scalars, which lie where the handle's mode says.
                        Ok(product) => unsafe { enqueue(&Product { on_device, ..product }, stream) },
                        Err(status) => status,
                    }
                }
            }
        }
    )+};
}

/// Systems of equations with a triangular matrix.
macro_rules! triangle {
    ($($name:literal $function:ident $row:ident $int:ty, $kind:expr;)+) => {$(
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle, side: i32, fill: i32, operation: i32, diagonal: i32, m: $int, n: $int, alpha: Scalar,
            a: At, lda: $int, b: At, ldb: $int,
        ) -> i32 {
            if of(K, super::rows::$row).is_none() {
                return status::NOT_INITIALIZED;
            }
            // SAFETY: the program's handle.
            match unsafe { state::<K>(handle) } {
                Err(status) => status,
                Ok((stream, on_device)) => {
                    let sizes = [i64::from(m), i64::from(n)];
                    let operands = [operand!(a, lda), operand!(b, ldb)];
                    let triangle =
                        Triangle { kind: $kind, side, fill, operation, diagonal, sizes, operands, alpha, on_device };
                    // SAFETY: the program's alpha, which lies where the handle's mode says.
                    unsafe { solve(&triangle, stream) }
                }
            }
        }
    )+};
}

/// Functions of one product whose names say the types.
macro_rules! plain {
    ($($name:literal $function:ident $row:ident $int:ty, $types:expr;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, lda: $int, b: At, ldb: $int, beta: Scalar, c: At, ldc: $int
            ) $types;
            [ta tb m n k alpha beta]
            operand!(a, lda), operand!(b, ldb), operand!(c, ldc), 1i32, false
        })+
    };
}

/// Of a batch by pointers.
macro_rules! batched {
    ($($name:literal $function:ident $row:ident $int:ty, $types:expr;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, lda: $int, b: At, ldb: $int, beta: Scalar, c: At, ldc: $int, count: $int
            ) $types;
            [ta tb m n k alpha beta]
            operand!(a, lda), operand!(b, ldb), operand!(c, ldc), count, true
        })+
    };
}

/// Of a batch by strides.
macro_rules! strided {
    ($($name:literal $function:ident $row:ident $int:ty, $types:expr;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, lda: $int, stride_a: i64, b: At, ldb: $int, stride_b: i64, beta: Scalar, c: At, ldc: $int, stride_c: i64, count: $int
            ) $types;
            [ta tb m n k alpha beta]
            operand!(a, lda, stride_a), operand!(b, ldb, stride_b), operand!(c, ldc, stride_c), count, false
        })+
    };
}

/// Functions whose arguments say the types.
macro_rules! plain_ex {
    ($($name:literal $function:ident $row:ident $int:ty;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, a_type: i32, lda: $int, b: At, b_type: i32, ldb: $int, beta: Scalar, c: At, c_type: i32, ldc: $int, compute: i32, _algorithm: i32
            ) Types::of(a_type, b_type, c_type, compute);
            [ta tb m n k alpha beta]
            operand!(a, lda), operand!(b, ldb), operand!(c, ldc), 1i32, false
        })+
    };
}

/// Of a batch by pointers.
macro_rules! batched_ex {
    ($($name:literal $function:ident $row:ident $int:ty;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, a_type: i32, lda: $int, b: At, b_type: i32, ldb: $int, beta: Scalar, c: At, c_type: i32, ldc: $int, count: $int, compute: i32, _algorithm: i32
            ) Types::of(a_type, b_type, c_type, compute);
            [ta tb m n k alpha beta]
            operand!(a, lda), operand!(b, ldb), operand!(c, ldc), count, true
        })+
    };
}

/// Of a batch by strides.
macro_rules! strided_ex {
    ($($name:literal $function:ident $row:ident $int:ty;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, a_type: i32, lda: $int, stride_a: i64, b: At, b_type: i32, ldb: $int, stride_b: i64, beta: Scalar, c: At, c_type: i32, ldc: $int, stride_c: i64, count: $int, compute: i32, _algorithm: i32
            ) Types::of(a_type, b_type, c_type, compute);
            [ta tb m n k alpha beta]
            operand!(a, lda, stride_a), operand!(b, ldb, stride_b), operand!(c, ldc, stride_c), count, false
        })+
    };
}

/// Functions whose arguments say the types, but for what is computed with.
macro_rules! typed_ex {
    ($($name:literal $function:ident $row:ident $int:ty;)+) => {
        $(function! {
            $name $function $row (
                ta: i32, tb: i32, m: $int, n: $int, k: $int, alpha: Scalar, a: At, a_type: i32, lda: $int, b: At, b_type: i32, ldb: $int, beta: Scalar, c: At, c_type: i32, ldc: $int
            ) Types::of(a_type, b_type, c_type, COMPUTE_32F);
            [ta tb m n k alpha beta]
            operand!(a, lda), operand!(b, ldb), operand!(c, ldc), 1i32, false
        })+
    };
}

plain! {
    "cublasSgemm_v2" sgemm SGEMM i32, Types::all(S, COMPUTE_32F);
    "cublasDgemm_v2" dgemm DGEMM i32, Types::all(D, COMPUTE_64F);
    "cublasCgemm_v2" cgemm CGEMM i32, Types::all(C, COMPUTE_32F);
    "cublasZgemm_v2" zgemm ZGEMM i32, Types::all(Z, COMPUTE_64F);
    "cublasHgemm" hgemm HGEMM i32, Types::all(H, COMPUTE_16F);
    "cublasSgemm_v2_64" sgemm_64 SGEMM_64 i64, Types::all(S, COMPUTE_32F);
    "cublasDgemm_v2_64" dgemm_64 DGEMM_64 i64, Types::all(D, COMPUTE_64F);
    "cublasCgemm_v2_64" cgemm_64 CGEMM_64 i64, Types::all(C, COMPUTE_32F);
    "cublasZgemm_v2_64" zgemm_64 ZGEMM_64 i64, Types::all(Z, COMPUTE_64F);
    "cublasHgemm_64" hgemm_64 HGEMM_64 i64, Types::all(H, COMPUTE_16F);
    "cublasCgemm3m" cgemm3m CGEMM3M i32, Types::all(C, COMPUTE_32F);
    "cublasZgemm3m" zgemm3m ZGEMM3M i32, Types::all(Z, COMPUTE_64F);
    "cublasCgemm3m_64" cgemm3m_64 CGEMM3M_64 i64, Types::all(C, COMPUTE_32F);
    "cublasZgemm3m_64" zgemm3m_64 ZGEMM3M_64 i64, Types::all(Z, COMPUTE_64F);
}

batched! {
    "cublasSgemmBatched" sgemm_batched SGEMM_BATCHED i32, Types::all(S, COMPUTE_32F);
    "cublasDgemmBatched" dgemm_batched DGEMM_BATCHED i32, Types::all(D, COMPUTE_64F);
    "cublasCgemmBatched" cgemm_batched CGEMM_BATCHED i32, Types::all(C, COMPUTE_32F);
    "cublasZgemmBatched" zgemm_batched ZGEMM_BATCHED i32, Types::all(Z, COMPUTE_64F);
    "cublasHgemmBatched" hgemm_batched HGEMM_BATCHED i32, Types::all(H, COMPUTE_16F);
    "cublasSgemmBatched_64" sgemm_batched_64 SGEMM_BATCHED_64 i64, Types::all(S, COMPUTE_32F);
    "cublasDgemmBatched_64" dgemm_batched_64 DGEMM_BATCHED_64 i64, Types::all(D, COMPUTE_64F);
    "cublasCgemmBatched_64" cgemm_batched_64 CGEMM_BATCHED_64 i64, Types::all(C, COMPUTE_32F);
    "cublasZgemmBatched_64" zgemm_batched_64 ZGEMM_BATCHED_64 i64, Types::all(Z, COMPUTE_64F);
    "cublasHgemmBatched_64" hgemm_batched_64 HGEMM_BATCHED_64 i64, Types::all(H, COMPUTE_16F);
    "cublasCgemm3mBatched" cgemm3m_batched CGEMM3M_BATCHED i32, Types::all(C, COMPUTE_32F);
    "cublasCgemm3mBatched_64" cgemm3m_batched_64 CGEMM3M_BATCHED_64 i64, Types::all(C, COMPUTE_32F);
}

strided! {
    "cublasSgemmStridedBatched" sgemm_strided SGEMM_STRIDED i32, Types::all(S, COMPUTE_32F);
    "cublasDgemmStridedBatched" dgemm_strided DGEMM_STRIDED i32, Types::all(D, COMPUTE_64F);
    "cublasCgemmStridedBatched" cgemm_strided CGEMM_STRIDED i32, Types::all(C, COMPUTE_32F);
    "cublasZgemmStridedBatched" zgemm_strided ZGEMM_STRIDED i32, Types::all(Z, COMPUTE_64F);
    "cublasHgemmStridedBatched" hgemm_strided HGEMM_STRIDED i32, Types::all(H, COMPUTE_16F);
    "cublasSgemmStridedBatched_64" sgemm_strided_64 SGEMM_STRIDED_64 i64, Types::all(S, COMPUTE_32F);
    "cublasDgemmStridedBatched_64" dgemm_strided_64 DGEMM_STRIDED_64 i64, Types::all(D, COMPUTE_64F);
    "cublasCgemmStridedBatched_64" cgemm_strided_64 CGEMM_STRIDED_64 i64, Types::all(C, COMPUTE_32F);
    "cublasZgemmStridedBatched_64" zgemm_strided_64 ZGEMM_STRIDED_64 i64, Types::all(Z, COMPUTE_64F);
    "cublasHgemmStridedBatched_64" hgemm_strided_64 HGEMM_STRIDED_64 i64, Types::all(H, COMPUTE_16F);
    "cublasCgemm3mStridedBatched" cgemm3m_strided CGEMM3M_STRIDED i32, Types::all(C, COMPUTE_32F);
    "cublasCgemm3mStridedBatched_64" cgemm3m_strided_64 CGEMM3M_STRIDED_64 i64, Types::all(C, COMPUTE_32F);
}

plain_ex! {
    "cublasGemmEx" gemm_ex GEMM_EX i32;
    "cublasGemmEx_64" gemm_ex_64 GEMM_EX_64 i64;
}

batched_ex! {
    "cublasGemmBatchedEx" gemm_batched_ex GEMM_BATCHED_EX i32;
    "cublasGemmBatchedEx_64" gemm_batched_ex_64 GEMM_BATCHED_EX_64 i64;
}

strided_ex! {
    "cublasGemmStridedBatchedEx" gemm_strided_ex GEMM_STRIDED_EX i32;
    "cublasGemmStridedBatchedEx_64" gemm_strided_ex_64 GEMM_STRIDED_EX_64 i64;
}

typed_ex! {
    "cublasSgemmEx" sgemm_ex SGEMM_EX i32;
    "cublasCgemmEx" cgemm_ex CGEMM_EX i32;
    "cublasSgemmEx_64" sgemm_ex_64 SGEMM_EX_64 i64;
    "cublasCgemmEx_64" cgemm_ex_64 CGEMM_EX_64 i64;
}

vector! {
    "cublasSgemv_v2" sgemv SGEMV i32, Types::all(S, COMPUTE_32F);
    "cublasDgemv_v2" dgemv DGEMV i32, Types::all(D, COMPUTE_64F);
    "cublasCgemv_v2" cgemv CGEMV i32, Types::all(C, COMPUTE_32F);
    "cublasZgemv_v2" zgemv ZGEMV i32, Types::all(Z, COMPUTE_64F);
    "cublasSgemv_v2_64" sgemv_64 SGEMV_64 i64, Types::all(S, COMPUTE_32F);
    "cublasDgemv_v2_64" dgemv_64 DGEMV_64 i64, Types::all(D, COMPUTE_64F);
    "cublasCgemv_v2_64" cgemv_64 CGEMV_64 i64, Types::all(C, COMPUTE_32F);
    "cublasZgemv_v2_64" zgemv_64 ZGEMV_64 i64, Types::all(Z, COMPUTE_64F);
}

triangle! {
    "cublasStrsm_v2" strsm STRSM i32, S;
    "cublasDtrsm_v2" dtrsm DTRSM i32, D;
    "cublasCtrsm_v2" ctrsm CTRSM i32, C;
    "cublasZtrsm_v2" ztrsm ZTRSM i32, Z;
    "cublasStrsm_v2_64" strsm_64 STRSM_64 i64, S;
    "cublasDtrsm_v2_64" dtrsm_64 DTRSM_64 i64, D;
    "cublasCtrsm_v2_64" ctrsm_64 CTRSM_64 i64, C;
    "cublasZtrsm_v2_64" ztrsm_64 ZTRSM_64 i64, Z;
}
