//! Linear algebra: cuBLAS' functions, by kernels that every backend compiles.
//!
//! cuBLAS chooses kernels by the GPU, and most of them are machine code. `crates/compilers` redirects its products
//! here.
//!
//! - [`kind`]: types of elements;
//! - [`product`]: one product, and whether its arguments are valid;
//! - [`kernel`]: the PTX for its types;
//! - [`triangle`]: systems of equations with a triangular matrix;
//! - [`elements`]: sums and products element by element;
//! - [`reduce`]: reductions of vectors to one number;
//! - [`matmul`]: products with an epilogue, composed of [`finish`] and [`sums`];
//! - [`launch`](mod@launch): the launches.
//!
//! Owns: the kernels. Must not know: cuBLAS' handles, or who calls.

mod element;
pub mod elements;
pub mod finish;
pub mod kernel;
pub mod kind;
pub mod launch;
pub mod matmul;
pub mod product;
pub mod reduce;
mod square;
pub mod sums;
pub mod triangle;
mod work;

/// `cublasStatus_t`.
pub mod status {
    /// It was done.
    pub const SUCCESS: i32 = 0;
    /// `CUBLAS_STATUS_NOT_INITIALIZED`.
    pub const NOT_INITIALIZED: i32 = 1;
    /// `CUBLAS_STATUS_ALLOC_FAILED`.
    pub const ALLOC_FAILED: i32 = 3;
    /// `CUBLAS_STATUS_INVALID_VALUE`.
    pub const INVALID_VALUE: i32 = 7;
    /// `CUBLAS_STATUS_EXECUTION_FAILED`.
    pub const EXECUTION_FAILED: i32 = 13;
    /// `CUBLAS_STATUS_INTERNAL_ERROR`.
    pub const INTERNAL_ERROR: i32 = 14;
    /// `CUBLAS_STATUS_NOT_SUPPORTED`.
    pub const NOT_SUPPORTED: i32 = 15;
}
