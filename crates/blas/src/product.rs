//! One product of matrices, or a batch: `c = alpha * op(a) * op(b) + beta * c`, column-major as in cuBLAS.
//!
//! Owns: which types can be combined, which arguments are valid, and the kernel's form and parameter. Source: cuBLAS'
//! documentation, "`cublas<t>gemm()`" and "cublasGemmEx()". Must not know: how it is launched.

use std::ffi::c_void;

use crate::kernel::{Form, Matrix, Parameter};
use crate::kind::{Kind, Part};
use crate::status;

/// What is computed with, and alpha's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compute {
    /// `F32`, `F64` or `S32`.
    pub work: Part,
    /// The type of alpha and beta.
    pub scale: Kind,
}

/// A matrix as a caller describes it.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its address; in a batch by pointers, the array's.
    pub at: u64,
    /// Elements from a column to the next.
    pub leading: i64,
    /// Elements from a matrix of the batch to the next.
    pub batch: i64,
}

impl Operand {
    /// A vector of `length` elements: with a negative increment, the pointer is to the last element, and the vector
    /// starts at the first.
    pub(crate) fn forward(self, length: i64, kind: Kind) -> Operand {
        let behind = length.saturating_sub(1).wrapping_mul(self.leading.min(0));
        let at = self.at.wrapping_sub_signed(behind.wrapping_mul(kind.size() as i64));
        Operand { at, ..self }
    }
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The elements of both factors.
    pub factor: Kind,
    /// The elements of the result.
    pub result: Kind,
    /// How they are multiplied.
    pub compute: Compute,
    /// `cublasOperation_t` of either factor; 3 is conjugate and not turned, which [`Product::check`] refuses.
    pub operations: [i32; 2],
    /// Rows of the result, its columns, and the length of a sum.
    pub sizes: [i64; 3],
    /// `a`, `b` and `c`.
    pub operands: [Operand; 3],
    /// Alpha and beta.
    pub scalars: [*const c_void; 2],
    /// Which of these are in device memory.
    pub on_device: [bool; 2],
    /// Products.
    pub count: i64,
    /// Operands are arrays of pointers.
    pub arrays: bool,
    /// The result is one half of a square.
    pub half: Option<Half>,
}

/// Which elements of the result are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Above the diagonal and on it, else below.
    pub is_upper: bool,
    /// Imaginary parts on the diagonal are zero.
    pub is_hermitian: bool,
    /// Beta is real, where alpha is complex.
    pub real_beta: bool,
    /// Alpha is conjugate.
    pub conjugate_alpha: bool,
}

/// How elements are multiplied under a `cublasComputeType_t`; none where cuBLAS has no such product, or this does not.
pub fn compute(factor: Kind, result: Kind, number: i32) -> Option<Compute> {
    use Part::{Bf16, F16, F32, F64, S8, S32};
    if factor.complex != result.complex {
        return None;
    }
    let types = (factor.part, result.part);
    let (work, scale) = match number {
        // CUBLAS_COMPUTE_16F: sums of singles are nearer to the right ones.
        64 | 65 if types == (F16, F16) => (F32, F16),
        // 32F, and with leave to round factors: this does not.
        68 | 69 | 74 | 75 | 77 | 78 => match types {
            (F32, F32) | (F16 | Bf16 | S8, F32) | (F16, F16) | (Bf16, Bf16) => (F32, F32),
            _ => return None,
        },
        70 | 71 | 79 if types == (F64, F64) => (F64, F64),
        72 | 73 if types == (S8, S32) => (S32, S32),
        _ => return None,
    };
    Some(Compute { work, scale: Kind { part: scale, complex: factor.complex } })
}

/// One, for scalars that are singles, doubles, or complex numbers of them.
pub(crate) fn one(scale: Kind) -> *const c_void {
    static SINGLE: [f32; 2] = [1.0, 0.0];
    static DOUBLE: [f64; 2] = [1.0, 0.0];
    if scale.part == Part::F64 { DOUBLE.as_ptr().cast() } else { SINGLE.as_ptr().cast() }
}

impl Product {
    /// Whether the arguments are right: else cuBLAS' status.
    ///
    /// # Errors
    /// As documented.
    pub fn check(&self) -> Result<(), i32> {
        let [m, n, k] = self.sizes;
        let wrong = Err(status::INVALID_VALUE);
        if self.sizes.iter().any(|size| *size < 0) || self.count < 0 {
            return wrong;
        }
        if self.operations.iter().any(|operation| !(0..=2).contains(operation)) {
            return wrong;
        }
        let ([op_a, op_b], [a, b, c]) = (self.operations, self.operands);
        let rows =
            |operation: i32, plain: i64, turned: i64| if operation == 0 { plain } else { turned };
        let enough = a.leading >= rows(op_a, m, k).max(1)
            && b.leading >= rows(op_b, k, n).max(1)
            && c.leading >= m.max(1);
        if !enough || self.scalars.iter().any(|scalar| scalar.is_null()) {
            return wrong;
        }
        Ok(())
    }

    /// A matrix times a vector, `y = alpha * op(a) * x + beta * y`, as a row of `y`. `columns` and `rows` are `a`'s;
    /// `x` and `y` have increments instead of leading dimensions.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for arguments that the documentation of gemv() calls invalid.
    pub fn of_vector(
        kind: Kind,
        compute: Compute,
        operation: i32,
        [rows, columns]: [i64; 2],
        [a, x, y]: [Operand; 3],
        scalars: [*const c_void; 2],
    ) -> Result<Product, i32> {
        let wrong =
            rows < 0 || columns < 0 || a.leading < rows.max(1) || x.leading == 0 || y.leading == 0;
        if wrong || !(0..=2).contains(&operation) || scalars.iter().any(|scalar| scalar.is_null()) {
            return Err(status::INVALID_VALUE);
        }
        let (long, sum) = if operation == 0 { (rows, columns) } else { (columns, rows) };
        // The row's product has the matrix turned once more.
        let of_matrix = match operation {
            0 => 1,
            1 => 0,
            _ => 3,
        };
        Ok(Product {
            factor: kind,
            result: kind,
            compute,
            operations: [0, of_matrix],
            sizes: [1, long, sum],
            operands: [x.forward(sum, kind), a, y.forward(long, kind)],
            scalars,
            on_device: [false; 2],
            half: None,
            // A matrix without elements leaves `y` unchanged, even if beta is not 1.
            count: i64::from(rows > 0 && columns > 0),
            arrays: false,
        })
    }

    /// A rank-1 update of a matrix, `a = alpha * x * y^T + a`, or with `y^H` if it is conjugated.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for arguments that the documentation of ger() calls invalid.
    pub fn of_vectors(
        (kind, compute): (Kind, Compute),
        is_conjugate: bool,
        [m, n]: [i64; 2],
        [x, y, a]: [Operand; 3],
        alpha: *const c_void,
    ) -> Result<Product, i32> {
        let wrong = m < 0 || n < 0 || a.leading < m.max(1) || x.leading == 0 || y.leading == 0;
        if wrong || alpha.is_null() {
            return Err(status::INVALID_VALUE);
        }
        Ok(Product {
            factor: kind,
            result: kind,
            compute,
            operations: [1, if is_conjugate { 3 } else { 0 }],
            sizes: [m, n, 1],
            operands: [x.forward(m, kind), y.forward(n, kind), a],
            scalars: [alpha, one(compute.scale)],
            on_device: [false; 2],
            count: 1,
            arrays: false,
            half: None,
        })
    }

    /// The same for a batch, by strides or by pointers.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for a negative number, `CUBLAS_STATUS_NOT_SUPPORTED` for batches by pointers of
    /// vectors with negative increments.
    pub fn many(self, count: i64, arrays: bool) -> Result<Product, i32> {
        let [x, _, y] = self.operands;
        if count < 0 {
            return Err(status::INVALID_VALUE);
        }
        if arrays && (x.leading < 0 || y.leading < 0) {
            return Err(status::NOT_SUPPORTED);
        }
        // Without elements there is no product in a batch.
        Ok(Product { count: self.count.min(1) * count, arrays, ..self })
    }

    /// There is nothing to compute.
    pub fn is_empty(&self) -> bool {
        let [m, n, _] = self.sizes;
        m == 0 || n == 0 || self.count == 0
    }

    /// The kernel and its parameter, without alpha and beta; and how many tiles there are, of how many threads.
    /// `None`: more tiles than a grid has blocks, or a batch whose numbers need more than 32 bits.
    pub fn plan(&self) -> Option<(Form, Parameter, u32, u32)> {
        u32::try_from(self.count).ok()?;
        let [m, n, k] = self.sizes;
        let ([op_a, op_b], [a, b, c]) = (self.operations, self.operands);
        let (size, result) = (self.factor.size() as i64, self.result.size() as i64);
        let matrix = |operand: Operand, turned: bool, size: i64| {
            let (near, far) = (size, operand.leading.wrapping_mul(size));
            let (first, second) = if turned { (far, near) } else { (near, far) };
            let batch = if self.arrays { 8 } else { operand.batch.wrapping_mul(size) };
            Matrix { at: operand.at, first, second, batch }
        };
        let turned = |operation: i32| matches!(operation, 1 | 2);
        let [mut a, mut b] = [matrix(a, turned(op_a), size), matrix(b, turned(op_b), size)];
        let mut c = matrix(c, false, result);
        let (mut m, mut n, mut is_turned) = (m as u64, n as u64, false);
        let mut conjugate = u32::from(op_a >= 2) | u32::from(op_b >= 2) << 1;
        // Threads are rows. Where there are few, or where columns lie better, the result is computed turned.
        if (m < 32 && n > m) || (n >= 32 && a.first != size && b.second == size) {
            let turn =
                |matrix: Matrix| Matrix { first: matrix.second, second: matrix.first, ..matrix };
            (a, b, c) = (turn(b), turn(a), turn(c));
            std::mem::swap(&mut m, &mut n);
            conjugate = conjugate >> 1 | (conjugate & 1) << 1;
            is_turned = true;
        }
        let columns = match n {
            1 => 1,
            8.. if !self.factor.complex => 8,
            _ => 4,
        };
        let threads = match m {
            0..=32 => 32,
            33..=64 => 64,
            _ => 128,
        };
        let row_tiles = m.div_ceil(threads);
        let tiles = row_tiles.checked_mul(n.div_ceil(u64::from(columns)))?;
        let tiles = u32::try_from(tiles).ok().filter(|tiles| *tiles <= i32::MAX as u32)?;
        let Compute { work, scale } = self.compute;
        let (factor, result, half) = (self.factor, self.result, self.half.is_some());
        let real_beta = self.half.is_some_and(|half| half.real_beta);
        let form = Form { factor, result, scale, work, columns, half, real_beta };
        let half = |half: Half| {
            let side = if half.is_upper == is_turned { 1 } else { 2 };
            side | u32::from(half.is_hermitian) << 2 | u32::from(half.conjugate_alpha) << 3
        };
        let parameter = Parameter {
            a,
            b,
            c,
            d: c,
            m,
            n,
            k: k as u64,
            arrays: u32::from(self.arrays),
            conjugate,
            row_tiles: row_tiles as u32,
            half: self.half.map_or(0, half),
            ..Parameter::default()
        };
        Some((form, parameter, tiles, threads as u32))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::{C, D, H, S};

    fn product(sizes: [i64; 3], operations: [i32; 2]) -> Product {
        static ONE: f32 = 1.0;
        let one = std::ptr::from_ref(&ONE).cast();
        let operand = |at, leading| Operand { at, leading, batch: 0 };
        Product {
            factor: S,
            result: S,
            compute: compute(S, S, 68).unwrap(),
            operations,
            sizes,
            operands: [operand(0x1000, 900), operand(0x2000, 900), operand(0x3000, 900)],
            scalars: [one, one],
            on_device: [false; 2],
            count: 1,
            arrays: false,
            half: None,
        }
    }

    #[test]
    fn types_go_together() {
        assert_eq!(compute(H, S, 68).unwrap().scale, S);
        assert_eq!(compute(H, H, 64).unwrap().scale, H);
        assert_eq!(compute(C, C, 77).unwrap().scale, C);
        assert_eq!(compute(S, C, 68), None);
        assert_eq!(compute(D, D, 68), None);
        assert_eq!(compute(S, S, 64), None);
    }

    #[test]
    fn arguments_are_looked_at() {
        assert_eq!(product([9, 8, 7], [0, 1]).check(), Ok(()));
        for wrong in [
            Product { sizes: [-1, 8, 7], ..product([9, 8, 7], [0, 0]) },
            Product { operations: [3, 0], ..product([9, 8, 7], [0, 0]) },
            Product { count: -1, ..product([9, 8, 7], [0, 0]) },
            Product { scalars: [std::ptr::null(); 2], ..product([9, 8, 7], [0, 0]) },
            product([901, 8, 7], [0, 0]),
            product([9, 901, 7], [0, 1]),
            product([9, 8, 901], [1, 0]),
        ] {
            assert_eq!(wrong.check(), Err(status::INVALID_VALUE), "{wrong:?}");
        }
        // The rows of a transposed factor are its inner index.
        assert_eq!(product([9, 901, 7], [0, 0]).check(), Ok(()));
    }

    #[test]
    fn vectors_are_rows() {
        let one = std::ptr::from_ref(&1.0f32).cast();
        let operand = |at, leading| Operand { at, leading, batch: 0 };
        let vector = |operation, x, y| {
            let operands = [operand(0x1000, 9), operand(0x2000, x), operand(0x3000, y)];
            Product::of_vector(
                S,
                compute(S, S, 68).unwrap(),
                operation,
                [9, 5],
                operands,
                [one, one],
            )
        };
        assert_eq!(vector(0, 0, 1).unwrap_err(), status::INVALID_VALUE);
        assert_eq!(vector(4, 1, 1).unwrap_err(), status::INVALID_VALUE);
        let product = vector(0, -2, 3).unwrap();
        assert_eq!((product.sizes, product.operations), ([1, 9, 5], [0, 1]));
        let (_, parameter, ..) = product.plan().unwrap();
        // `a` is read by rows, `x` backwards from its last element, and `y` at every third element.
        assert_eq!((parameter.a.at, parameter.a.first, parameter.a.second), (0x1000, 4, 36));
        assert_eq!((parameter.b.at, parameter.b.first), (0x2000 + 4 * 2 * 4, -8));
        assert_eq!((parameter.c.at, parameter.c.first), (0x3000, 12));
        assert_eq!(vector(2, 1, 1).unwrap().operations, [0, 3]);
    }

    #[test]
    fn halves_and_products_of_vectors_are_products() {
        let one = std::ptr::from_ref(&1.0f32).cast();
        let operand = |at, leading| Operand { at, leading, batch: 0 };
        let square = |kind, hermitian, fill, operation| {
            let compute = compute(kind, kind, 68).unwrap();
            let operands = [operand(0x1000, 40), operand(0x2000, 40)];
            Product::of_square(
                (kind, compute),
                hermitian,
                fill,
                operation,
                [40, 9],
                operands,
                [one, one],
            )
        };
        let lower = square(C, true, 0, 0).unwrap();
        assert_eq!((lower.operations, lower.compute.scale), ([0, 2], S));
        assert_eq!(lower.plan().unwrap().1.half, 1 | 4);
        // If the result is computed transposed, its halves are swapped.
        let turned = square(S, false, 0, 1).unwrap();
        let (form, parameter, ..) = turned.plan().unwrap();
        assert!(form.half);
        assert_eq!(parameter.half, if parameter.c.first == 4 { 1 } else { 2 });
        for (kind, hermitian, fill, operation) in
            [(C, true, 0, 1), (C, false, 0, 2), (S, false, 2, 0), (S, false, 0, 3)]
        {
            let wrong = square(kind, hermitian, fill, operation);
            assert_eq!(wrong.unwrap_err(), status::INVALID_VALUE);
        }
        let outer = |x, leading| {
            let compute = compute(S, S, 68).unwrap();
            let operands = [operand(0x1000, x), operand(0x2000, 1), operand(0x3000, leading)];
            Product::of_vectors((S, compute), false, [40, 3], operands, one)
        };
        let (_, parameter, ..) = outer(-2, 40).unwrap().plan().unwrap();
        assert_eq!((parameter.a.at, parameter.a.first), (0x1000 + 39 * 8, -8));
        assert_eq!((parameter.k, parameter.b.second), (1, 4));
        assert_eq!(outer(0, 40).unwrap_err(), status::INVALID_VALUE);
        assert_eq!(outer(1, 39).unwrap_err(), status::INVALID_VALUE);
    }

    #[test]
    fn few_rows_are_turned() {
        let (form, parameter, tiles, threads) = product([1, 700, 50], [0, 2]).plan().unwrap();
        assert_eq!((form.columns, tiles, threads), (1, 6, 128));
        assert_eq!(
            (parameter.a.at, parameter.b.at, parameter.m, parameter.n),
            (0x2000, 0x1000, 700, 1)
        );
        assert_eq!((parameter.a.first, parameter.a.second, parameter.conjugate), (4, 3600, 1));
        assert_eq!((parameter.c.first, parameter.c.second), (3600, 4));
        let huge = product([i64::MAX / 64, i64::MAX / 64, 1], [0, 0]);
        assert!(huge.plan().is_none());
    }
}
