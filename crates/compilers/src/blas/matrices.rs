//! Functions on a matrix and vectors, diagonals, triangles, one half of a square, and sums of matrices.
//!
//! Owns: the functions and their arguments. Must not know: how they are computed.

use cushim_blas::elements::Elements;
use cushim_blas::kind::{C, D, S, Z};
use cushim_blas::launch::{each, enqueue, solve};
use cushim_blas::product::{Operand, Product};
use cushim_blas::status;
use cushim_blas::triangle::Triangle;

use super::handle::Handle;
use super::shared::{At, COMPUTE_32F, COMPUTE_64F, Scalar, Types, operand, within};
use super::vectors::both;

/// Launches a product whose arguments were looked at.
///
/// # Safety
/// Its scalars are the program's.
unsafe fn product(product: Result<Product, i32>, on_device: [bool; 2], stream: usize) -> i32 {
    match product {
        // SAFETY: the caller's promise.
        Ok(product) => unsafe { enqueue(&Product { on_device, ..product }, stream) },
        Err(status) => status,
    }
}

/// Launches an operation on elements.
///
/// # Safety
/// Their scalars are the program's.
unsafe fn elements(elements: Result<Elements, i32>, stream: usize) -> i32 {
    match elements {
        // SAFETY: the caller's promise.
        Ok(elements) => unsafe { each(&elements, stream) },
        Err(status) => status,
    }
}

/// A function: its name in cuBLAS, cushim's name, its row, and its arguments. `$stream` and `$mode` are the handle's.
macro_rules! function {
    ($name:literal $function:ident $row:ident ($($argument:ident: $ty:ty),*) |$stream:ident, $mode:ident| $body:expr) => {
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(handle: Handle, $($argument: $ty),*) -> i32 {
            // SAFETY: the program's handle, and its scalars, which lie where the handle's mode says.
            unsafe { within::<K>(handle, crate::rows::$row, |$stream, $mode| $body) }
        }
    };
}

/// A matrix times a vector: types, and how many, of which strides or whether by pointers.
macro_rules! times {
    ($types:expr, $operation:ident, [$m:ident, $n:ident], $operands:expr, $scalars:expr, $count:expr, $arrays:literal, $stream:ident, $mode:ident) => {{
        let Some((kind, _, compute)) = $types.complete() else { return status::NOT_SUPPORTED };
        let sizes = [i64::from($m), i64::from($n)];
        let of = Product::of_vector(kind, compute, $operation, sizes, $operands, $scalars);
        let of = of.and_then(|product| product.many(i64::from($count), $arrays));
        product(of, [$mode; 2], $stream)
    }};
}

macro_rules! vector {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr) => {
        function! { $name $function $row (
            operation: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, x: At, incx: $int, beta: Scalar, y: At, incy: $int
        ) |stream, mode| times!(
            $types, operation, [m, n], [operand!(a, lda), operand!(x, incx), operand!(y, incy)], [alpha, beta], 1i32, false, stream, mode
        ) }
    };
}

macro_rules! vector_batched {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr) => {
        function! { $name $function $row (
            operation: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, x: At, incx: $int, beta: Scalar, y: At, incy: $int, count: $int
        ) |stream, mode| times!(
            $types, operation, [m, n], [operand!(a, lda), operand!(x, incx), operand!(y, incy)], [alpha, beta], count, true, stream, mode
        ) }
    };
}

macro_rules! vector_strided {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr) => {
        function! { $name $function $row (
            operation: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, stride_a: i64, x: At, incx: $int, stride_x: i64, beta: Scalar,
            y: At, incy: $int, stride_y: i64, count: $int
        ) |stream, mode| times!(
            $types, operation, [m, n],
            [operand!(a, lda, stride_a), operand!(x, incx, stride_x), operand!(y, incy, stride_y)], [alpha, beta], count, false, stream, mode
        ) }
    };
}

/// Two vectors' product, added to a matrix; whether the second one is conjugate.
macro_rules! outer {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr, $conjugate:expr) => {
        function! { $name $function $row (m: $int, n: $int, alpha: Scalar, x: At, incx: $int, y: At, incy: $int, a: At, lda: $int)
        |stream, mode| {
            let Some((kind, _, compute)) = $types.complete() else { return status::NOT_SUPPORTED };
            let operands = [operand!(x, incx), operand!(y, incy), operand!(a, lda)];
            let sizes = [i64::from(m), i64::from(n)];
            let of = Product::of_vectors((kind, compute), $conjugate, sizes, operands, alpha);
            product(of, [mode, false], stream)
        } }
    };
}

/// One half of a matrix times itself turned; whether conjugate.
macro_rules! square {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr, $hermitian:expr) => {
        function! { $name $function $row (fill: i32, operation: i32, n: $int, k: $int, alpha: Scalar, a: At, lda: $int, beta: Scalar, c: At, ldc: $int)
        |stream, mode| {
            let Some((kind, _, compute)) = $types.complete() else { return status::NOT_SUPPORTED };
            let (operands, sizes) = ([operand!(a, lda), operand!(c, ldc)], [i64::from(n), i64::from(k)]);
            let of = Product::of_square(
                (kind, compute), $hermitian, fill, operation, sizes, operands, [alpha, beta],
            );
            product(of, [mode; 2], stream)
        } }
    };
}

/// One half of a matrix times another one's transpose; whether conjugated, and whether the transpose is added.
macro_rules! two {
    ($name:literal $function:ident $row:ident $int:ty: $types:expr, $hermitian:expr, $twice:expr) => {
        function! { $name $function $row (
            fill: i32, operation: i32, n: $int, k: $int, alpha: Scalar, a: At, lda: $int, b: At, ldb: $int, beta: Scalar, c: At, ldc: $int
        ) |stream, mode| {
            let Some((kind, _, compute)) = $types.complete() else { return status::NOT_SUPPORTED };
            let (operands, sizes) = ([operand!(a, lda), operand!(b, ldb), operand!(c, ldc)], [i64::from(n), i64::from(k)]);
            let how = (($hermitian, $twice), (fill, operation));
            match Product::of_two((kind, compute), how.0, how.1, sizes, operands, [alpha, beta]) {
                Ok((first, second)) => match (product(Ok(first), [mode; 2], stream), second) {
                    (status::SUCCESS, Some(second)) => product(Ok(second), [mode, false], stream),
                    (status, _) => status,
                },
                Err(status) => status,
            }
        } }
    };
}

/// Systems of equations with a triangular matrix.
macro_rules! triangle {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        function! { $name $function $row (
            side: i32, fill: i32, operation: i32, diagonal: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, b: At, ldb: $int
        ) |stream, on_device| {
            let (sizes, operands) = ([i64::from(m), i64::from(n)], [operand!(a, lda), operand!(b, ldb)]);
            let is_vector = false;
            let triangle =
                Triangle { kind: $kind, side, fill, operation, diagonal, sizes, operands, alpha, on_device, is_vector };
            solve(&triangle, stream)
        } }
    };
}

/// The same for one vector.
macro_rules! solve_vector {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        function! { $name $function $row (fill: i32, operation: i32, diagonal: i32, n: $int, a: At, lda: $int, x: At, incx: $int)
        |stream, _mode| {
            let operands = [operand!(a, lda), operand!(x, incx)];
            match Triangle::of_vector($kind, [fill, operation, diagonal], i64::from(n), operands) {
                Ok(triangle) => solve(&triangle, stream),
                Err(status) => status,
            }
        } }
    };
}

/// Sums of matrices.
macro_rules! geam {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        function! { $name $function $row (
            ta: i32, tb: i32, m: $int, n: $int, alpha: Scalar, a: At, lda: $int, beta: Scalar, b: At, ldb: $int, c: At, ldc: $int
        ) |stream, mode| {
            let operands = [operand!(a, lda), operand!(b, ldb), operand!(c, ldc)];
            let sizes = [i64::from(m), i64::from(n)];
            elements(Elements::of_sum($kind, [ta, tb], sizes, operands, [alpha, beta], mode), stream)
        } }
    };
}

/// Products with a diagonal.
macro_rules! dgmm {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        function! { $name $function $row (side: i32, m: $int, n: $int, a: At, lda: $int, x: At, incx: $int, c: At, ldc: $int)
        |stream, _mode| {
            let operands = [operand!(a, lda), operand!(x, incx), operand!(c, ldc)];
            elements(Elements::of_diagonal($kind, side, [i64::from(m), i64::from(n)], operands), stream)
        } }
    };
}

both! { vector;
    "cublasSgemv_v2" sgemv SGEMV, "cublasSgemv_v2_64" sgemv_64 SGEMV_64: Types::all(S, COMPUTE_32F);
    "cublasDgemv_v2" dgemv DGEMV, "cublasDgemv_v2_64" dgemv_64 DGEMV_64: Types::all(D, COMPUTE_64F);
    "cublasCgemv_v2" cgemv CGEMV, "cublasCgemv_v2_64" cgemv_64 CGEMV_64: Types::all(C, COMPUTE_32F);
    "cublasZgemv_v2" zgemv ZGEMV, "cublasZgemv_v2_64" zgemv_64 ZGEMV_64: Types::all(Z, COMPUTE_64F);
}

both! { triangle;
    "cublasStrsm_v2" strsm STRSM, "cublasStrsm_v2_64" strsm_64 STRSM_64: S;
    "cublasDtrsm_v2" dtrsm DTRSM, "cublasDtrsm_v2_64" dtrsm_64 DTRSM_64: D;
    "cublasCtrsm_v2" ctrsm CTRSM, "cublasCtrsm_v2_64" ctrsm_64 CTRSM_64: C;
    "cublasZtrsm_v2" ztrsm ZTRSM, "cublasZtrsm_v2_64" ztrsm_64 ZTRSM_64: Z;
}

both! { geam;
    "cublasSgeam" sgeam SGEAM, "cublasSgeam_64" sgeam_64 SGEAM_64: S;
    "cublasDgeam" dgeam DGEAM, "cublasDgeam_64" dgeam_64 DGEAM_64: D;
    "cublasCgeam" cgeam CGEAM, "cublasCgeam_64" cgeam_64 CGEAM_64: C;
    "cublasZgeam" zgeam ZGEAM, "cublasZgeam_64" zgeam_64 ZGEAM_64: Z;
}

both! { dgmm;
    "cublasSdgmm" sdgmm SDGMM, "cublasSdgmm_64" sdgmm_64 SDGMM_64: S;
    "cublasDdgmm" ddgmm DDGMM, "cublasDdgmm_64" ddgmm_64 DDGMM_64: D;
    "cublasCdgmm" cdgmm CDGMM, "cublasCdgmm_64" cdgmm_64 CDGMM_64: C;
    "cublasZdgmm" zdgmm ZDGMM, "cublasZdgmm_64" zdgmm_64 ZDGMM_64: Z;
}

both! { outer;
    "cublasSger_v2" sger SGER, "cublasSger_v2_64" sger_64 SGER_64: Types::all(S, COMPUTE_32F), false;
    "cublasDger_v2" dger DGER, "cublasDger_v2_64" dger_64 DGER_64: Types::all(D, COMPUTE_64F), false;
    "cublasCgeru_v2" cgeru CGERU, "cublasCgeru_v2_64" cgeru_64 CGERU_64: Types::all(C, COMPUTE_32F), false;
    "cublasCgerc_v2" cgerc CGERC, "cublasCgerc_v2_64" cgerc_64 CGERC_64: Types::all(C, COMPUTE_32F), true;
    "cublasZgeru_v2" zgeru ZGERU, "cublasZgeru_v2_64" zgeru_64 ZGERU_64: Types::all(Z, COMPUTE_64F), false;
    "cublasZgerc_v2" zgerc ZGERC, "cublasZgerc_v2_64" zgerc_64 ZGERC_64: Types::all(Z, COMPUTE_64F), true;
}

both! { solve_vector;
    "cublasStrsv_v2" strsv STRSV, "cublasStrsv_v2_64" strsv_64 STRSV_64: S;
    "cublasDtrsv_v2" dtrsv DTRSV, "cublasDtrsv_v2_64" dtrsv_64 DTRSV_64: D;
    "cublasCtrsv_v2" ctrsv CTRSV, "cublasCtrsv_v2_64" ctrsv_64 CTRSV_64: C;
    "cublasZtrsv_v2" ztrsv ZTRSV, "cublasZtrsv_v2_64" ztrsv_64 ZTRSV_64: Z;
}

both! { square;
    "cublasSsyrk_v2" ssyrk SSYRK, "cublasSsyrk_v2_64" ssyrk_64 SSYRK_64: Types::all(S, COMPUTE_32F), false;
    "cublasDsyrk_v2" dsyrk DSYRK, "cublasDsyrk_v2_64" dsyrk_64 DSYRK_64: Types::all(D, COMPUTE_64F), false;
    "cublasCsyrk_v2" csyrk CSYRK, "cublasCsyrk_v2_64" csyrk_64 CSYRK_64: Types::all(C, COMPUTE_32F), false;
    "cublasZsyrk_v2" zsyrk ZSYRK, "cublasZsyrk_v2_64" zsyrk_64 ZSYRK_64: Types::all(Z, COMPUTE_64F), false;
    "cublasCherk_v2" cherk CHERK, "cublasCherk_v2_64" cherk_64 CHERK_64: Types::all(C, COMPUTE_32F), true;
    "cublasZherk_v2" zherk ZHERK, "cublasZherk_v2_64" zherk_64 ZHERK_64: Types::all(Z, COMPUTE_64F), true;
}

both! { two;
    "cublasSsyr2k_v2" ssyr2k SSYR2K, "cublasSsyr2k_v2_64" ssyr2k_64 SSYR2K_64: Types::all(S, COMPUTE_32F), false, true;
    "cublasSsyrkx" ssyrkx SSYRKX, "cublasSsyrkx_64" ssyrkx_64 SSYRKX_64: Types::all(S, COMPUTE_32F), false, false;
    "cublasDsyr2k_v2" dsyr2k DSYR2K, "cublasDsyr2k_v2_64" dsyr2k_64 DSYR2K_64: Types::all(D, COMPUTE_64F), false, true;
    "cublasDsyrkx" dsyrkx DSYRKX, "cublasDsyrkx_64" dsyrkx_64 DSYRKX_64: Types::all(D, COMPUTE_64F), false, false;
    "cublasCsyr2k_v2" csyr2k CSYR2K, "cublasCsyr2k_v2_64" csyr2k_64 CSYR2K_64: Types::all(C, COMPUTE_32F), false, true;
    "cublasCsyrkx" csyrkx CSYRKX, "cublasCsyrkx_64" csyrkx_64 CSYRKX_64: Types::all(C, COMPUTE_32F), false, false;
    "cublasCher2k_v2" cher2k CHER2K, "cublasCher2k_v2_64" cher2k_64 CHER2K_64: Types::all(C, COMPUTE_32F), true, true;
    "cublasCherkx" cherkx CHERKX, "cublasCherkx_64" cherkx_64 CHERKX_64: Types::all(C, COMPUTE_32F), true, false;
    "cublasZsyr2k_v2" zsyr2k ZSYR2K, "cublasZsyr2k_v2_64" zsyr2k_64 ZSYR2K_64: Types::all(Z, COMPUTE_64F), false, true;
    "cublasZsyrkx" zsyrkx ZSYRKX, "cublasZsyrkx_64" zsyrkx_64 ZSYRKX_64: Types::all(Z, COMPUTE_64F), false, false;
    "cublasZher2k_v2" zher2k ZHER2K, "cublasZher2k_v2_64" zher2k_64 ZHER2K_64: Types::all(Z, COMPUTE_64F), true, true;
    "cublasZherkx" zherkx ZHERKX, "cublasZherkx_64" zherkx_64 ZHERKX_64: Types::all(Z, COMPUTE_64F), true, false;
}

both! { vector_batched;
    "cublasSgemvBatched" sgemv_batched SGEMV_BATCHED, "cublasSgemvBatched_64" sgemv_batched_64 SGEMV_BATCHED_64: Types::all(S, COMPUTE_32F);
    "cublasDgemvBatched" dgemv_batched DGEMV_BATCHED, "cublasDgemvBatched_64" dgemv_batched_64 DGEMV_BATCHED_64: Types::all(D, COMPUTE_64F);
    "cublasCgemvBatched" cgemv_batched CGEMV_BATCHED, "cublasCgemvBatched_64" cgemv_batched_64 CGEMV_BATCHED_64: Types::all(C, COMPUTE_32F);
    "cublasZgemvBatched" zgemv_batched ZGEMV_BATCHED, "cublasZgemvBatched_64" zgemv_batched_64 ZGEMV_BATCHED_64: Types::all(Z, COMPUTE_64F);
}

both! { vector_strided;
    "cublasSgemvStridedBatched" sgemv_strided_batched SGEMV_STRIDED_BATCHED, "cublasSgemvStridedBatched_64" sgemv_strided_batched_64 SGEMV_STRIDED_BATCHED_64: Types::all(S, COMPUTE_32F);
    "cublasDgemvStridedBatched" dgemv_strided_batched DGEMV_STRIDED_BATCHED, "cublasDgemvStridedBatched_64" dgemv_strided_batched_64 DGEMV_STRIDED_BATCHED_64: Types::all(D, COMPUTE_64F);
    "cublasCgemvStridedBatched" cgemv_strided_batched CGEMV_STRIDED_BATCHED, "cublasCgemvStridedBatched_64" cgemv_strided_batched_64 CGEMV_STRIDED_BATCHED_64: Types::all(C, COMPUTE_32F);
    "cublasZgemvStridedBatched" zgemv_strided_batched ZGEMV_STRIDED_BATCHED, "cublasZgemvStridedBatched_64" zgemv_strided_batched_64 ZGEMV_STRIDED_BATCHED_64: Types::all(Z, COMPUTE_64F);
}
