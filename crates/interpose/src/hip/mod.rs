//! Programs of AMD's HIP: what they ask of libamdhip64.
//!
//! - [`register`]: fat binaries, kernels and variables that a program brings;
//! - [`launch`]: launches whose arguments say what they are; [`configured`]: those by a structure;
//! - [`graph`]: kernel nodes;
//! - [`module`]: modules and libraries that are loaded by a call, and ways to functions.
//!
//! Everything else of HIP is only recorded. Rules that replace kernels, launches straight to the driver and GPU times are
//! CUDA's: none of them is asked here.
//!
//! Must not know: which symbols are exported and how.

pub mod configured;
pub mod graph;
pub mod launch;
pub mod module;
pub mod register;

pub use configured::*;
pub use graph::*;
pub use launch::*;
pub use module::*;
pub use register::*;
