//! Products of matrices.
//!
//! A product of types that cushim's kernels lack goes to NVIDIA's function; if that has no kernel for the CPU, a
//! message says so. Workspaces, algorithms and math modes have no effect: sums are singles, doubles or integers.
//!
//! Owns: the functions and their arguments. Must not know: how products are computed.

use cushim_blas::kind::{C, D, H, S, Z};
use cushim_blas::launch::launch;
use cushim_blas::product::{Operand, Product};
use cushim_blas::status;

use super::handle::{self, Handle};
use super::shared::{
    At, COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, Scalar, Types, operand, say, state,
};
use crate::real::call;

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

/// Computes by cushim's kernel, or calls NVIDIA's function.
///
/// # Safety
/// The arguments are those of a call of cuBLAS.
unsafe fn run<const K: usize>(handle: Handle, call: &Call, theirs: impl FnOnce() -> i32) -> i32 {
    let Some((factor, result, compute)) = call.types.complete() else {
        let status = theirs();
        let failures = [status::EXECUTION_FAILED, status::INTERNAL_ERROR, status::NOT_SUPPORTED];
        let is_ours = handle::is_ours(handle);
        if is_ours || failures.contains(&status) {
            say(call.name);
        }
        return if is_ours { status::NOT_SUPPORTED } else { status };
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
        on_device: [on_device; 2],
        count: call.count,
        arrays: call.arrays,
        half: None,
    };
    // SAFETY: the program's scalars, which lie where the handle's mode says.
    unsafe { launch(&product, stream) }
}

/// A function: its name in cuBLAS, cushim's name, its row, the types, and its arguments in order. After `;` the parts
/// of the call.
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

/// For a batch by pointers.
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

/// For a batch by strides.
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

/// For a batch by pointers.
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

/// For a batch by strides.
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

/// Functions whose arguments name all types except that of the computation.
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
