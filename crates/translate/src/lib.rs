//! Translates PTX kernels for AMD's GPUs.
//!
//! Owns the conversion of a checked module ([`cushim_ptx::ir`]) to an AMD code object: LLVM IR of its operations, an
//! installed compiler, a cache. Must not know how code objects are loaded or launched; [`abi`] has what a launcher
//! needs to know.

// The text comes from anywhere: unexpected input is refused.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod abi;
pub mod amdgpu;
mod cache;
mod compiler;
mod layout;
pub mod llvm;
pub mod ops;
mod refusal;
mod target;
mod translate;

pub use cache::{Cache, Key};
pub use compiler::{Compiler, Error};
pub use refusal::Refusal;
pub use target::Target;
pub use translate::{Translated, compiled, module, translate};
