//! Functions on vectors: dot products, norms, sums, the greatest and the smallest element; multiples, sums and
//! copies.
//!
//! Owns: the functions and their arguments. Must not know: how they are computed.

use std::ffi::c_void;

use cushim_blas::elements::{self, Elements};
use cushim_blas::kind::{C, D, Kind, S, Z};
use cushim_blas::launch::{each, reduce};
use cushim_blas::product::Operand;
use cushim_blas::reduce::{Answer, Reduction, What};
use cushim_blas::status;

use super::handle::{self, Handle};
use super::shared::{At, Scalar, operand, say, within};
use crate::real::call;

/// Calls `with` for each function and its form with 64-bit sizes.
macro_rules! both {
    ($with:ident; $($name:literal $function:ident $row:ident, $name64:literal $function64:ident $row64:ident: $($rest:expr),+;)+) => {
        $($with! { $name $function $row i32: $($rest),+ }
        $with! { $name64 $function64 $row64 i64: $($rest),+ })+
    };
}
pub(super) use both;

/// The product of two vectors.
macro_rules! dot {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr, $kind:expr) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle,
            n: $int,
            x: At,
            incx: $int,
            y: At,
            incy: $int,
            result: *mut c_void,
        ) -> i32 {
            let vectors = [operand!(x, incx), operand!(y, incy)];
            let (kind, answer) = ($kind, Answer::Number($kind));
            let reduction = Reduction { what: $what, kind, answer, length: i64::from(n), vectors };
            // SAFETY: the program's handle, and its place for the result.
            unsafe {
                within::<K>(handle, crate::rows::$row, |stream, on_device| {
                    reduce(&reduction, result, on_device, stream)
                })
            }
        }
    };
}

/// Operations on one vector.
macro_rules! one {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr, $kind:expr, $answer:expr) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle,
            n: $int,
            x: At,
            incx: $int,
            result: *mut c_void,
        ) -> i32 {
            let vectors = [operand!(x, incx); 2];
            let reduction = Reduction {
                what: $what,
                kind: $kind,
                answer: $answer,
                length: i64::from(n),
                vectors,
            };
            // SAFETY: the program's handle, and its place for the result.
            unsafe {
                within::<K>(handle, crate::rows::$row, |stream, on_device| {
                    reduce(&reduction, result, on_device, stream)
                })
            }
        }
    };
}

/// A number.
macro_rules! single {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr, $kind:expr, $result:expr) => {
        one! { $name $function $row $int: $what, $kind, Answer::Number($result) }
    };
}

/// An index, as wide as sizes are.
macro_rules! index {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr, $kind:expr) => {
        one! { $name $function $row $int: $what, $kind, Answer::Index(size_of::<$int>() as u8) }
    };
}

/// Adds a multiple of a vector to another.
macro_rules! axpy {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle,
            n: $int,
            alpha: Scalar,
            x: At,
            incx: $int,
            y: At,
            incy: $int,
        ) -> i32 {
            let vectors = [operand!(x, incx), operand!(y, incy)];
            // SAFETY: the program's handle and alpha.
            unsafe {
                element::<K>(
                    handle,
                    crate::rows::$row,
                    elements::What::Into,
                    [$kind, $kind],
                    i64::from(n),
                    vectors,
                    Some(alpha),
                )
            }
        }
    };
}

/// Scales a vector in place: its elements, alpha's type.
macro_rules! scal {
    ($name:literal $function:ident $row:ident $int:ty: $kinds:expr) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle,
            n: $int,
            alpha: Scalar,
            x: At,
            incx: $int,
        ) -> i32 {
            // Without a positive increment there is nothing to do.
            let n = if incx > 0 { i64::from(n) } else { 0 };
            let vectors = [operand!(x, incx); 2];
            // SAFETY: the program's handle and alpha.
            unsafe {
                element::<K>(
                    handle,
                    crate::rows::$row,
                    elements::What::Scale,
                    $kinds,
                    n,
                    vectors,
                    Some(alpha),
                )
            }
        }
    };
}

/// A copy.
macro_rules! copy {
    ($name:literal $function:ident $row:ident $int:ty: $kind:expr) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle,
            n: $int,
            x: At,
            incx: $int,
            y: At,
            incy: $int,
        ) -> i32 {
            let vectors = [operand!(x, incx), operand!(y, incy)];
            // SAFETY: the program's handle.
            unsafe {
                element::<K>(
                    handle,
                    crate::rows::$row,
                    elements::What::Copy,
                    [$kind, $kind],
                    i64::from(n),
                    vectors,
                    None,
                )
            }
        }
    };
}

/// # Safety
/// The arguments are those of a call of cuBLAS.
unsafe fn element<const K: usize>(
    handle: Handle,
    row: usize,
    what: elements::What,
    kinds: [Kind; 2],
    length: i64,
    vectors: [Operand; 2],
    alpha: Option<Scalar>,
) -> i32 {
    if alpha.is_some_and(|alpha| alpha.is_null()) {
        return status::INVALID_VALUE;
    }
    let alpha = alpha.unwrap_or(std::ptr::null());
    // SAFETY: the program's handle and alpha.
    unsafe {
        within::<K>(handle, row, |stream, on_device| {
            match Elements::of_vectors(what, kinds, length, vectors, alpha, on_device) {
                Some(elements) => each(&elements, stream),
                None => status::SUCCESS,
            }
        })
    }
}

/// The type of a vector from an argument, if cushim's kernels have it.
fn vector(number: i32) -> Option<Kind> {
    use cushim_blas::kind::Part::{Bf16, F16, F32, F64};
    let kind = Kind::of(number)?;
    let halves = matches!(kind.part, F16 | Bf16) && !kind.complex;
    (halves || matches!(kind.part, F32 | F64)).then_some(kind)
}

/// The status of a call whose types cushim's kernels lack.
fn otherwise(handle: Handle, name: &'static str, status: i32) -> i32 {
    let failures = [status::EXECUTION_FAILED, status::INTERNAL_ERROR, status::NOT_SUPPORTED];
    let is_ours = handle::is_ours(handle);
    if is_ours || failures.contains(&status) {
        say(name);
    }
    if is_ours { status::NOT_SUPPORTED } else { status }
}

/// The product of two vectors whose types are arguments.
macro_rules! dot_ex {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr) => {
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle, n: $int, x: At, x_type: i32, incx: $int, y: At, y_type: i32, incy: $int, result: *mut c_void,
            result_type: i32, execution: i32,
        ) -> i32 {
            let kind = vector(x_type).filter(|_| x_type == y_type && x_type == result_type);
            let Some(kind) = kind else {
                let status = call!(K, $row: fn(Handle, $int, At, i32, $int, At, i32, $int, *mut c_void, i32, i32), status::NOT_INITIALIZED,
                    handle, n, x, x_type, incx, y, y_type, incy, result, result_type, execution);
                return otherwise(handle, $name, status);
            };
            let vectors = [operand!(x, incx), operand!(y, incy)];
            let answer = Answer::Number(kind);
            let reduction = Reduction { what: $what, kind, answer, length: i64::from(n), vectors };
            // SAFETY: the program's handle, and its place for the result.
            unsafe {
                within::<K>(handle, crate::rows::$row, |stream, on_device| reduce(&reduction, result, on_device, stream))
            }
        }
    };
}

/// The norm of a vector whose type is an argument.
macro_rules! nrm2_ex {
    ($name:literal $function:ident $row:ident $int:ty: $what:expr) => {
        #[doc = concat!("`", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $function<const K: usize>(
            handle: Handle, n: $int, x: At, x_type: i32, incx: $int, result: *mut c_void, result_type: i32, execution: i32,
        ) -> i32 {
            let types = vector(x_type).zip(vector(result_type));
            let real = types.filter(|(kind, result)| kind.part == result.part && !result.complex);
            let Some((kind, result_kind)) = real else {
                let status = call!(K, $row: fn(Handle, $int, At, i32, $int, *mut c_void, i32, i32), status::NOT_INITIALIZED,
                    handle, n, x, x_type, incx, result, result_type, execution);
                return otherwise(handle, $name, status);
            };
            let (answer, vectors) = (Answer::Number(result_kind), [operand!(x, incx); 2]);
            let reduction = Reduction { what: $what, kind, answer, length: i64::from(n), vectors };
            // SAFETY: the program's handle, and its place for the result.
            unsafe {
                within::<K>(handle, crate::rows::$row, |stream, on_device| reduce(&reduction, result, on_device, stream))
            }
        }
    };
}

both! { dot;
    "cublasSdot_v2" sdot SDOT, "cublasSdot_v2_64" sdot_64 SDOT_64: What::Dot, S;
    "cublasDdot_v2" ddot DDOT, "cublasDdot_v2_64" ddot_64 DDOT_64: What::Dot, D;
    "cublasCdotu_v2" cdotu CDOTU, "cublasCdotu_v2_64" cdotu_64 CDOTU_64: What::Dot, C;
    "cublasCdotc_v2" cdotc CDOTC, "cublasCdotc_v2_64" cdotc_64 CDOTC_64: What::Conjugate, C;
    "cublasZdotu_v2" zdotu ZDOTU, "cublasZdotu_v2_64" zdotu_64 ZDOTU_64: What::Dot, Z;
    "cublasZdotc_v2" zdotc ZDOTC, "cublasZdotc_v2_64" zdotc_64 ZDOTC_64: What::Conjugate, Z;
}

both! { single;
    "cublasSnrm2_v2" snrm2 SNRM2, "cublasSnrm2_v2_64" snrm2_64 SNRM2_64: What::Norm, S, S;
    "cublasDnrm2_v2" dnrm2 DNRM2, "cublasDnrm2_v2_64" dnrm2_64 DNRM2_64: What::Norm, D, D;
    "cublasScnrm2_v2" scnrm2 SCNRM2, "cublasScnrm2_v2_64" scnrm2_64 SCNRM2_64: What::Norm, C, S;
    "cublasDznrm2_v2" dznrm2 DZNRM2, "cublasDznrm2_v2_64" dznrm2_64 DZNRM2_64: What::Norm, Z, D;
    "cublasSasum_v2" sasum SASUM, "cublasSasum_v2_64" sasum_64 SASUM_64: What::Sum, S, S;
    "cublasDasum_v2" dasum DASUM, "cublasDasum_v2_64" dasum_64 DASUM_64: What::Sum, D, D;
    "cublasScasum_v2" scasum SCASUM, "cublasScasum_v2_64" scasum_64 SCASUM_64: What::Sum, C, S;
    "cublasDzasum_v2" dzasum DZASUM, "cublasDzasum_v2_64" dzasum_64 DZASUM_64: What::Sum, Z, D;
}

both! { index;
    "cublasIsamax_v2" isamax ISAMAX, "cublasIsamax_v2_64" isamax_64 ISAMAX_64: What::Greatest, S;
    "cublasIdamax_v2" idamax IDAMAX, "cublasIdamax_v2_64" idamax_64 IDAMAX_64: What::Greatest, D;
    "cublasIcamax_v2" icamax ICAMAX, "cublasIcamax_v2_64" icamax_64 ICAMAX_64: What::Greatest, C;
    "cublasIzamax_v2" izamax IZAMAX, "cublasIzamax_v2_64" izamax_64 IZAMAX_64: What::Greatest, Z;
    "cublasIsamin_v2" isamin ISAMIN, "cublasIsamin_v2_64" isamin_64 ISAMIN_64: What::Smallest, S;
    "cublasIdamin_v2" idamin IDAMIN, "cublasIdamin_v2_64" idamin_64 IDAMIN_64: What::Smallest, D;
    "cublasIcamin_v2" icamin ICAMIN, "cublasIcamin_v2_64" icamin_64 ICAMIN_64: What::Smallest, C;
    "cublasIzamin_v2" izamin IZAMIN, "cublasIzamin_v2_64" izamin_64 IZAMIN_64: What::Smallest, Z;
}

both! { axpy;
    "cublasSaxpy_v2" saxpy SAXPY, "cublasSaxpy_v2_64" saxpy_64 SAXPY_64: S;
    "cublasDaxpy_v2" daxpy DAXPY, "cublasDaxpy_v2_64" daxpy_64 DAXPY_64: D;
    "cublasCaxpy_v2" caxpy CAXPY, "cublasCaxpy_v2_64" caxpy_64 CAXPY_64: C;
    "cublasZaxpy_v2" zaxpy ZAXPY, "cublasZaxpy_v2_64" zaxpy_64 ZAXPY_64: Z;
}

both! { scal;
    "cublasSscal_v2" sscal SSCAL, "cublasSscal_v2_64" sscal_64 SSCAL_64: [S, S];
    "cublasDscal_v2" dscal DSCAL, "cublasDscal_v2_64" dscal_64 DSCAL_64: [D, D];
    "cublasCscal_v2" cscal CSCAL, "cublasCscal_v2_64" cscal_64 CSCAL_64: [C, C];
    "cublasZscal_v2" zscal ZSCAL, "cublasZscal_v2_64" zscal_64 ZSCAL_64: [Z, Z];
    "cublasCsscal_v2" csscal CSSCAL, "cublasCsscal_v2_64" csscal_64 CSSCAL_64: [C, S];
    "cublasZdscal_v2" zdscal ZDSCAL, "cublasZdscal_v2_64" zdscal_64 ZDSCAL_64: [Z, D];
}

both! { copy;
    "cublasScopy_v2" scopy SCOPY, "cublasScopy_v2_64" scopy_64 SCOPY_64: S;
    "cublasDcopy_v2" dcopy DCOPY, "cublasDcopy_v2_64" dcopy_64 DCOPY_64: D;
    "cublasCcopy_v2" ccopy CCOPY, "cublasCcopy_v2_64" ccopy_64 CCOPY_64: C;
    "cublasZcopy_v2" zcopy ZCOPY, "cublasZcopy_v2_64" zcopy_64 ZCOPY_64: Z;
}

both! { dot_ex;
    "cublasDotEx" dot_ex DOT_EX, "cublasDotEx_64" dot_ex_64 DOT_EX_64: What::Dot;
    "cublasDotcEx" dotc_ex DOTC_EX, "cublasDotcEx_64" dotc_ex_64 DOTC_EX_64: What::Conjugate;
}

both! { nrm2_ex;
    "cublasNrm2Ex" nrm2_ex NRM2_EX, "cublasNrm2Ex_64" nrm2_ex_64 NRM2_EX_64: What::Norm;
}
