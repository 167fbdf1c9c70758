//! cuFFT: transforms by cushim's kernels.
//!
//! The runtime inside libcufft finds no driver, and its kernels are machine code. So cushim replaces every function
//! that takes a plan, and the plans; it asks NVIDIA's library only for the version. Sources: cufft.h, cufftXt.h.
//!
//! - [`handle`]: plans and their settings;
//! - [`make`]: creating plans, and estimating sizes;
//! - [`execute`]: transforms by a plan;
//! - [`refused`]: functions that do not run.
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
