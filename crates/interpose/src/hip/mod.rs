//! Programs of AMD's HIP: what they ask of libamdhip64.
//!
//! - [`register`]: fat binaries, kernels and variables that a program brings;
//! - [`launch`]: launches in each form;
//! - [`module`]: code that is loaded by a call, and ways to functions.
//!
//! Everything else of HIP is only recorded. Rules that replace kernels, launches straight to the driver and GPU times are
//! CUDA's: none of them is asked here.
//!
//! Must not know: which symbols are exported and how.

pub mod launch;
pub mod module;
pub mod register;

pub use launch::*;
pub use module::*;
pub use register::*;
