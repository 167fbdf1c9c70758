//! cuBLAS: linear algebra by cushim's kernels.
//!
//! The handle stays NVIDIA's, and so do its stream and its pointer mode, which are read at each call; if NVIDIA's
//! library cannot create a handle, it is cushim's ([`handle`]). Source: cublas_api.h.
//!
//! - [`handle`]: handles and their settings;
//! - [`products`]: products of matrices;
//! - [`lt`](mod@lt): cuBLASLt;
//! - [`matrices`]: other functions on matrices;
//! - [`vectors`]: functions on vectors;
//! - [`shared`]: common parts.
//!
//! Owns: nothing. Must not know: how anything is computed (`crates/blas`).

mod handle;
pub mod lt;
mod matrices;
mod products;
mod shared;
mod vectors;

pub use handle::{
    create, destroy, get_atomics_mode, get_math_mode, get_pointer_mode, get_sm_count, get_stream,
    set_atomics_mode, set_math_mode, set_pointer_mode, set_sm_count, set_stream, set_workspace,
};
pub use matrices::*;
pub use products::*;
pub use vectors::*;
