//! Calls of HIP programs to libamdhip64 that are more than recorded.
//!
//! - [`register`]: the fat binaries, kernels and variables that a program registers;
//! - [`launch`]: launches with plain arguments; [`configured`]: launches by a structure;
//! - [`graph`]: kernel nodes;
//! - [`module`]: modules and libraries that a call loads, and calls that return functions.
//!
//! All other HIP functions are only recorded. Rules that replace kernels, direct launches and GPU times exist only
//! for CUDA, so nothing here consults them.
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
