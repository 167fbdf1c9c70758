//! cuBLAS: linear algebra by kernels of ours.
//!
//! The handle stays NVIDIA's, and so do its stream and its pointer mode, which are asked for at each call; where NVIDIA's
//! library cannot make one, it is ours ([`handle`]). Source: cublas_api.h.
//!
//! - [`handle`]: handles, and what is set in them;
//! - [`products`]: products of matrices;
//! - [`lt`](mod@lt): cuBLASLt;
//! - [`matrices`]: what else is done with a matrix;
//! - [`vectors`]: vectors alone;
//! - [`shared`]: what all of these need.
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
