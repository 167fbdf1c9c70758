//! cuFFT: transforms by kernels of ours.
//!
//! The runtime inside libcufft finds no driver, and its kernels are machine code. So every function that takes a plan is ours,
//! and so are the plans; only the version is asked of NVIDIA's library. Sources: cufft.h, cufftXt.h.
//!
//! - [`handle`]: plans, and what is set in them;
//! - [`make`]: plans are made, and sizes estimated;
//! - [`execute`]: transforms by a plan;
//! - [`refused`]: what does not run.
//!
//! Owns: nothing. Must not know: how anything is computed (`crates/fft`).

mod execute;
mod handle;
mod make;
mod refused;

pub use execute::*;
pub use handle::{
    create, destroy, get_property, get_size, reset_property, set_automatic, set_property,
    set_stream, set_work_area,
};
pub use make::*;
pub use refused::*;
