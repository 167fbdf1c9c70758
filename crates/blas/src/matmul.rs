//! A product with an epilogue, as in cuBLASLt: `d = f(alpha * op(a) * op(b) + beta * c + bias)`.
//!
//! If `f` is the identity and `d` is `c`, one kernel computes everything ([`crate::product`]). Otherwise the sums are
//! stored in memory of this library, in the type of the computation, and a second kernel applies the epilogue
//! ([`crate::finish`]), so that nothing is rounded twice.
//!
//! Owns: the supported types, layouts and functions, and the launches. Source: cuBLAS' documentation,
//! "cublasLtMatmul()". Must not know: cuBLASLt's descriptors.

use std::ffi::c_void;

use crate::finish::{self, Function, Place};
use crate::kernel::Matrix;
use crate::kind::{Kind, Part};
use crate::launch;
use crate::product::{Compute, Operand, Product};
use crate::status;
use crate::sums::Sums;
use crate::work::Work;

/// A matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The type of its elements.
    pub kind: Kind,
    /// Row-major instead of column-major.
    pub by_rows: bool,
    /// Rows and columns.
    pub sizes: [i64; 2],
    /// From a column, or a row, to the next, in elements.
    pub leading: i64,
    /// Matrices of the batch.
    pub count: i64,
    /// From one to the next, in elements.
    pub stride: i64,
}

/// The operations on the sums, besides alpha and beta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epilogue {
    /// `f`.
    pub function: Function,
    /// A bias is added: its type.
    pub bias: Option<Kind>,
    /// The sums of each row are stored in the bias, with this type.
    pub gradient: Option<Kind>,
    /// The sums of a factor go there, with this type: 0 the left one's rows, 1 the right one's columns.
    pub factor_sums: Option<(usize, Kind)>,
    /// The bias, or where sums go.
    pub bias_at: u64,
    /// Elements from a batch's to the next.
    pub bias_stride: i64,
    /// Bits or arguments.
    pub auxiliary: u64,
    /// Elements (bits) from a column to the next, and from a batch's to the next.
    pub auxiliary_steps: [i64; 2],
    /// The type of arguments.
    pub argument: Kind,
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Matmul {
    /// `cublasComputeType_t`.
    pub compute: i32,
    /// The type of alpha and beta.
    pub scale: Kind,
    /// `cublasOperation_t` of the factors.
    pub operations: [i32; 2],
    /// `a`, `b`, `c` and `d`.
    pub layouts: [Layout; 4],
    /// The operations on the sums.
    pub epilogue: Epilogue,
    /// Alpha and beta.
    pub places: [Place; 2],
}

/// The pointers of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// Alpha and beta.
    pub scalars: [*const c_void; 2],
    /// `a`, `b`, `c` and `d`.
    pub at: [u64; 4],
}

/// One, as every type of sums has it.
static SINGLE: [f32; 2] = [1.0, 0.0];
static DOUBLE: [f64; 2] = [1.0, 0.0];
static WORD: [i32; 2] = [1, 0];
static ZERO: [u64; 2] = [0; 2];

fn one(part: Part) -> *const c_void {
    match part {
        Part::F64 => DOUBLE.as_ptr().cast(),
        Part::S32 => WORD.as_ptr().cast(),
        _ => SINGLE.as_ptr().cast(),
    }
}

/// The types of the sums and of what finishes them, if cuBLASLt has such a product and this does, too.
fn types(factor: Kind, result: Kind, scale: Kind, compute: i32) -> Option<(Part, Part)> {
    use Part::{Bf16, F16, F32, F64, S8, S32};
    if factor.complex != result.complex || factor.complex != scale.complex {
        return None;
    }
    let (types, scale) = ((factor.part, result.part), scale.part);
    let is_single =
        matches!(types, (F32, F32) | (F16 | Bf16 | S8, F32) | (F16, F16) | (Bf16, Bf16));
    match compute {
        64 | 65 if types == (F16, F16) && scale == F16 => Some((F32, F32)),
        68 | 69 | 74 | 75 | 77 | 78 if is_single && scale == F32 => Some((F32, F32)),
        70 | 71 | 79 if types == (F64, F64) && scale == F64 => Some((F64, F64)),
        72 | 73 if types == (S8, S32) && scale == S32 => Some((S32, S32)),
        72 | 73 if types == (S8, S8) && scale == F32 => Some((S32, F32)),
        _ => None,
    }
}

/// How a product sees a factor: turned, and conjugate.
#[derive(Clone, Copy)]
struct View {
    operand: Operand,
    turned: bool,
    conjugate: bool,
}

impl View {
    /// The product's operation, for the matrix or its transpose.
    fn operation(self, turn: bool) -> i32 {
        match (self.turned != turn, self.conjugate) {
            (false, false) => 0,
            (true, false) => 1,
            (true, true) => 2,
            (false, true) => 3,
        }
    }
}

impl Layout {
    /// Whether columns (rows) do not overlap, which is required even for inputs (measured on an H200, cuBLAS 13.0).
    fn is_right(&self) -> bool {
        let [rows, columns] = self.sizes;
        let least = if self.by_rows { columns } else { rows };
        rows >= 0 && columns >= 0 && self.count >= 0 && self.leading >= least.max(1)
    }

    fn operand(&self, at: u64) -> Operand {
        Operand { at, leading: self.leading, batch: self.stride }
    }

    /// The matrix in bytes.
    fn matrix(&self, at: u64) -> Matrix {
        let size = self.kind.size() as i64;
        let far = self.leading.wrapping_mul(size);
        let (first, second) = if self.by_rows { (far, size) } else { (size, far) };
        Matrix { at, first, second, batch: self.stride.wrapping_mul(size) }
    }
}

impl Matmul {
    /// Rows and columns of the result, and the length of a sum.
    fn sizes(&self) -> [i64; 3] {
        let [a, _, _, d] = self.layouts;
        let [m, n] = d.sizes;
        let [rows, columns] = a.sizes;
        [m, n, if self.operations.first() == Some(&0) { columns } else { rows }]
    }

    /// Whether this product is supported; otherwise cuBLAS' status.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for sizes that do not match, `CUBLAS_STATUS_NOT_SUPPORTED` for what cushim's
    /// kernels lack.
    pub fn check(&self) -> Result<(), i32> {
        let [a, b, c, d] = self.layouts;
        let ([op_a, op_b], [m, n, k]) = (self.operations, self.sizes());
        if self.operations.iter().any(|operation| !(0..=2).contains(operation)) {
            return Err(status::INVALID_VALUE);
        }
        let seen = |layout: Layout, operation: i32| {
            let [rows, columns] = layout.sizes;
            if operation == 0 { [rows, columns] } else { [columns, rows] }
        };
        let fits = seen(a, op_a) == [m, k] && seen(b, op_b) == [k, n] && c.sizes == d.sizes;
        let counted = self.layouts.iter().all(|layout| layout.count == d.count);
        let right = self.layouts.iter().all(Layout::is_right);
        // Factors of two types are bytes of two formats.
        let same = a.kind == b.kind || (a.kind.size() == 1 && b.kind.size() == 1);
        if !(fits && counted && right && same) {
            return Err(status::INVALID_VALUE);
        }
        let known = types(a.kind, d.kind, self.scale, self.compute);
        let Some((_, work)) = known.filter(|_| a.kind == b.kind && c.kind == d.kind) else {
            return Err(status::NOT_SUPPORTED);
        };
        let Epilogue { function, bias, gradient, factor_sums, .. } = self.epilogue;
        let is_plain = function == Function::None && bias.is_none() && factor_sums.is_none();
        let has_gelu = matches!(function, Function::Gelu { .. } | Function::GeluGradient);
        let known =
            is_plain || (!d.kind.complex && work != Part::S32 && (work == Part::F32 || !has_gelu));
        let real = |kind: &Kind| {
            !kind.complex && matches!(kind.part, Part::F16 | Part::Bf16 | Part::F32 | Part::F64)
        };
        let sums = factor_sums.map(|(_, kind)| kind);
        let vectors = bias.iter().chain(gradient.iter()).chain(sums.iter());
        // Halves are stored of singles alone, and doubles of doubles.
        let stored = |kind: &Kind| real(kind) && (kind.part == Part::F64) == (work == Part::F64);
        let argument = !has_gelu || stored(&self.epilogue.argument);
        if known && argument && vectors.into_iter().all(stored) {
            Ok(())
        } else {
            Err(status::NOT_SUPPORTED)
        }
    }

    /// Whether the epilogue's pointers are valid, which a heuristic does not check.
    fn check_places(&self, arguments: &Arguments) -> Result<(), i32> {
        let Epilogue { function, auxiliary, auxiliary_steps: [leading, batch], .. } = self.epilogue;
        let m = self.sizes().first().copied().unwrap_or(0);
        let granule = match function {
            Function::None
            | Function::Relu { bits: false }
            | Function::Gelu { argument: false } => 0,
            Function::Relu { .. } | Function::ReluGradient => 128,
            Function::Gelu { .. } | Function::GeluGradient => 8,
        };
        if granule != 0 && auxiliary == 0 {
            return Err(status::NOT_SUPPORTED);
        }
        let is_wrong =
            granule != 0 && (leading < m || leading % granule != 0 || batch % granule != 0);
        let has_vector = self.epilogue.bias.is_some()
            || self.epilogue.gradient.is_some()
            || self.epilogue.factor_sums.is_some();
        let scalars = arguments.scalars.iter().any(|scalar| scalar.is_null());
        if is_wrong || scalars || (has_vector && self.epilogue.bias_at == 0) {
            return Err(status::INVALID_VALUE);
        }
        Ok(())
    }

    /// Launches it in `stream`. Returns a `cublasStatus_t`.
    ///
    /// # Safety
    /// Alpha and beta are readable if they are in the program's memory.
    pub unsafe fn run(&self, arguments: &Arguments, stream: usize) -> i32 {
        match self.check().and_then(|()| self.check_places(arguments)) {
            // SAFETY: the caller's promise.
            Ok(()) => unsafe { self.enqueue(arguments, stream) },
            Err(status) => status,
        }
    }

    /// # Safety
    /// As of [`Matmul::run`].
    unsafe fn enqueue(&self, arguments: &Arguments, stream: usize) -> i32 {
        let [a, b, c, d] = self.layouts;
        let [m, n, k] = self.sizes();
        if m == 0 || n == 0 || d.count == 0 {
            return status::SUCCESS;
        }
        let [at_a, at_b, at_c, at_d] = arguments.at;
        let [_, beta] = arguments.scalars;
        // SAFETY: the caller's promise; a scalar has no more than 16 bytes, and none is read from device memory.
        let no_beta =
            self.places.get(1) == Some(&Place::Host) && unsafe { is_zero(beta, self.scale) };
        if at_d == 0 || (k > 0 && (at_a == 0 || at_b == 0)) || (at_c == 0 && !no_beta) {
            return status::INVALID_VALUE;
        }
        let Some((sum, work)) = types(a.kind, d.kind, self.scale, self.compute) else {
            return status::NOT_SUPPORTED;
        };
        let [op_a, op_b] = self.operations;
        let view = |layout: &Layout, operation: i32, at: u64| View {
            operand: layout.operand(at),
            turned: (operation != 0) != layout.by_rows,
            conjugate: operation == 2,
        };
        let factors = [view(&a, op_a, at_a), view(&b, op_b, at_b)];
        let is_same = no_beta || (c == d && at_c == at_d);
        let is_one = |place: &Place| matches!(place, Place::Host | Place::Device);
        let plain = self.epilogue.function == Function::None
            && self.epilogue.bias.is_none()
            && sum == work
            && d.kind.part != Part::S8;
        if let Some(sums) = self.epilogue.factor_sums {
            let status = self.sum_factor(sums, factors, work, stream);
            if status != status::SUCCESS {
                return status;
            }
        }
        if plain && is_same && self.places.iter().all(is_one) {
            let compute = Compute { work, scale: self.scale };
            let on_device = self.places.map(|place| place == Place::Device);
            let product = self.product(
                factors,
                d.operand(at_d),
                d.by_rows,
                (d.kind, compute),
                arguments.scalars,
            );
            // SAFETY: the caller's promise.
            return unsafe { launch::enqueue(&Product { on_device, ..product }, stream) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.in_two(factors, (sum, work), arguments, stream) }
    }

    fn product(
        &self,
        [a, b]: [View; 2],
        to: Operand,
        by_rows: bool,
        (result, compute): (Kind, Compute),
        scalars: [*const c_void; 2],
    ) -> Product {
        let [m, n, k] = self.sizes();
        let (factor, count) =
            self.layouts.first().map_or((result, 0), |layout| (layout.kind, layout.count));
        // A row-major result is the column-major transpose: the product of the transposed factors.
        let (operations, sizes, operands) = if by_rows {
            ([b.operation(true), a.operation(true)], [n, m, k], [b.operand, a.operand, to])
        } else {
            ([a.operation(false), b.operation(false)], [m, n, k], [a.operand, b.operand, to])
        };
        Product {
            factor,
            result,
            compute,
            operations,
            sizes,
            operands,
            scalars,
            on_device: [false; 2],
            count,
            arrays: false,
            half: None,
        }
    }

    /// # Safety
    /// As of [`Matmul::run`].
    unsafe fn in_two(
        &self,
        factors: [View; 2],
        (sum, work): (Part, Part),
        arguments: &Arguments,
        stream: usize,
    ) -> i32 {
        let [m, n, _] = self.sizes();
        let [a, _, c, d] = self.layouts;
        let kind = Kind { part: sum, complex: a.kind.complex };
        let size = m.checked_mul(n).and_then(|one| one.checked_mul(d.count));
        let bytes = size.and_then(|all| all.checked_mul(kind.size() as i64));
        let Some(bytes) = bytes.and_then(|bytes| usize::try_from(bytes).ok()) else {
            return status::NOT_SUPPORTED;
        };
        let work_at = match Work::new(bytes, stream) {
            Ok(work_at) => work_at,
            Err(status) => return status,
        };
        let to = Operand { at: work_at.at(), leading: m, batch: m.wrapping_mul(n) };
        let compute = Compute { work: sum, scale: kind };
        let scalars = [one(sum), ZERO.as_ptr().cast()];
        let product = self.product(factors, to, false, (kind, compute), scalars);
        // SAFETY: scalars of our own.
        let status = unsafe { launch::enqueue(&product, stream) };
        if status != status::SUCCESS {
            return status;
        }
        let form = finish::Form {
            sum: kind,
            work,
            result: d.kind,
            scale: self.scale,
            bias: self.epilogue.bias,
            function: self.epilogue.function,
            argument: self.epilogue.argument,
            gradient: self.epilogue.gradient,
        };
        let sums = Layout {
            kind,
            by_rows: false,
            sizes: [m, n],
            leading: m,
            count: d.count,
            stride: m.wrapping_mul(n),
        };
        let [_, _, at_c, at_d] = arguments.at;
        let parameter = finish::Parameter {
            sum: sums.matrix(to.at),
            c: c.matrix(at_c),
            d: d.matrix(at_d),
            auxiliary: self.auxiliary(),
            bias: self.bias(),
            m: m as u64,
            n: n as u64,
            // The sum of a row is one thread's.
            tiles: if form.gradient.is_some() { 1 } else { n.min(64) as u32 },
            ..finish::Parameter::default()
        };
        // SAFETY: the caller's promise.
        unsafe {
            launch::finish(&form, parameter, (arguments.scalars, self.places), d.count, stream)
        }
    }

    fn auxiliary(&self) -> Matrix {
        let Epilogue {
            function, argument, auxiliary: at, auxiliary_steps: [leading, batch], ..
        } = self.epilogue;
        match function {
            Function::Relu { .. } | Function::ReluGradient => {
                Matrix { at, first: 0, second: leading / 8, batch: batch / 8 }
            }
            _ => {
                let size = argument.size() as i64;
                Matrix {
                    at,
                    first: size,
                    second: leading.wrapping_mul(size),
                    batch: batch.wrapping_mul(size),
                }
            }
        }
    }

    fn bias(&self) -> Matrix {
        let Epilogue { bias, gradient, bias_at, bias_stride, .. } = self.epilogue;
        let size = bias.or(gradient).map_or(0, |kind| kind.size() as i64);
        Matrix { at: bias_at, first: size, second: 0, batch: bias_stride.wrapping_mul(size) }
    }

    /// The sums of the left factor's rows, or of the right one's columns, stored in the bias.
    fn sum_factor(
        &self,
        (which, kind): (usize, Kind),
        factors: [View; 2],
        work: Part,
        stream: usize,
    ) -> i32 {
        let [m, n, k] = self.sizes();
        let (Some(view), Some(layout), [.., d]) =
            (factors.get(which), self.layouts.get(which), self.layouts)
        else {
            return status::INTERNAL_ERROR;
        };
        let size = layout.kind.size() as i64;
        let far = view.operand.leading.wrapping_mul(size);
        // Lengths are rows of `a`, and columns of `b`.
        let along = if which == 0 { view.turned } else { !view.turned };
        let (first, second) = if along { (far, size) } else { (size, far) };
        let sums = Sums {
            from: layout.kind,
            work,
            to: kind,
            matrix: Matrix {
                at: view.operand.at,
                first,
                second,
                batch: layout.stride.wrapping_mul(size),
            },
            result: Matrix {
                at: self.epilogue.bias_at,
                first: kind.size() as i64,
                second: 0,
                batch: self.epilogue.bias_stride.wrapping_mul(kind.size() as i64),
            },
            count: if which == 0 { m } else { n },
            length: k,
        };
        launch::sum(&sums, d.count, stream)
    }
}

/// # Safety
/// The scalar is null or readable.
unsafe fn is_zero(scalar: *const c_void, kind: Kind) -> bool {
    let mut bytes = [0u8; 16];
    if scalar.is_null() {
        return false;
    }
    // SAFETY: the caller's, of this type, which has 16 bytes at most.
    unsafe {
        std::ptr::copy_nonoverlapping(
            scalar.cast::<u8>(),
            bytes.as_mut_ptr(),
            kind.size() as usize,
        );
    };
    bytes == [0; 16]
}
