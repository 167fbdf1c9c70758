//! PTX kernels for AMD's GPUs.
//!
//! Owns the way from a checked module ([`cushim_ptx::ir`]) to an AMD code object: LLVM IR of its operations, a compiler
//! that is there, a cache. Must not know how code objects are loaded or launched; [`abi`] is what whoever does that has
//! to know.

pub mod abi;
pub mod amdgpu;
mod compiler;
mod layout;
pub mod llvm;
pub mod ops;
mod refusal;
mod target;

pub use compiler::{Compiler, Error};
pub use refusal::Refusal;
pub use target::Target;
