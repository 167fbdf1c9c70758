//! Symmetric and Hermitian products, of which one half is stored: a matrix times its own transpose, or another one's.
//!
//! Owns: which arguments are valid. Source: cuBLAS' documentation, "syrk()", "herk()", "syr2k()", "her2k()",
//! "syrkx()", "herkx()". Must not know: how they are launched.

use std::ffi::c_void;

use crate::kind::Kind;
use crate::product::{Compute, Half, Operand, Product, one};
use crate::status;

impl Product {
    /// A matrix times itself turned, `c = alpha * op(a) * op(a)^T + beta * c` or the same with `^H`, of which one half is stored:
    /// `fill` 0 the lower one, 1 the upper one. `c` is `n` by `n`, and a sum has `k` products.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for arguments that the documentation of syrk() and herk() calls wrong.
    pub fn of_square(
        (kind, compute): (Kind, Compute),
        is_hermitian: bool,
        fill: i32,
        operation: i32,
        [n, k]: [i64; 2],
        [a, c]: [Operand; 2],
        scalars: [*const c_void; 2],
    ) -> Result<Product, i32> {
        // For complex numbers, the symmetric product accepts N and T, the Hermitian N and C.
        let known = match operation {
            0 => true,
            1 => !(is_hermitian && kind.complex),
            2 => is_hermitian || !kind.complex,
            _ => false,
        };
        if !known || !(0..=1).contains(&fill) {
            return Err(status::INVALID_VALUE);
        }
        let turned = if is_hermitian { 2 } else { 1 };
        let scale =
            if is_hermitian { Kind { complex: false, ..compute.scale } } else { compute.scale };
        let half =
            Half { is_upper: fill == 1, is_hermitian, real_beta: false, conjugate_alpha: false };
        let product = Product {
            factor: kind,
            result: kind,
            compute: Compute { scale, ..compute },
            operations: if operation == 0 { [0, turned] } else { [turned, 0] },
            sizes: [n, n, k],
            operands: [a, a, c],
            scalars,
            on_device: [false; 2],
            count: 1,
            arrays: false,
            half: Some(half),
        };
        product.check().map(|()| product)
    }

    /// Two matrices instead of one, `c = alpha * op(a) * op(b)^T + beta * c` or the same with `^H`, of which one half
    /// is stored; then beta is real. With `twice`, a second product adds the transpose: `c = alpha * op(b) * op(a)^T
    /// + c`, with alpha conjugated for `^H`.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for arguments that the documentation of syr2k(), her2k(), syrkx() and herkx()
    /// calls invalid.
    pub fn of_two(
        (kind, compute): (Kind, Compute),
        (is_hermitian, twice): (bool, bool),
        (fill, operation): (i32, i32),
        sizes: [i64; 2],
        [a, b, c]: [Operand; 3],
        scalars: [*const c_void; 2],
    ) -> Result<(Product, Option<Product>), i32> {
        let types = (kind, compute);
        let one_matrix =
            Product::of_square(types, is_hermitian, fill, operation, sizes, [a, c], scalars)?;
        let half =
            one_matrix.half.map(|half| Half { real_beta: is_hermitian && kind.complex, ..half });
        let first = Product { compute, operands: [a, b, c], half, ..one_matrix };
        first.check()?;
        let second = twice.then(|| {
            let [alpha, _] = scalars;
            let half = half.map(|half| Half { conjugate_alpha: is_hermitian, ..half });
            let scalars = [alpha, one(compute.scale)];
            Product { operands: [b, a, c], half, scalars, ..first }
        });
        Ok((first, second))
    }
}
