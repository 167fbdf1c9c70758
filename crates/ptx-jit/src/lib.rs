//! Machine code for PTX kernels, and the scheduler that runs it.
//!
//! Owns the way from a checked kernel ([`cushim_ptx::ir`]) to machine code by
//! Cranelift, and running a grid of it on threads. What it computes is what
//! [`cushim_ptx::interp`] computes, bit for bit. It must not know any CUDA call
//! or how device memory is managed: [`Arena`] says where that is.
//!
//! The unit is a warp: a register is 32 lanes in 128-bit vectors, or one value
//! where all lanes are known to hold the same (see [`plan`]). Code for a warp is
//! a state machine over the regions of the kernel; registers that cross regions
//! lie in a frame in memory, so a warp that waits is a function that returned.
//!
//! Kernels that use what is not compiled stay with the interpreter:
//! [`Kernel::new`] says why.

// This code runs inside other people's processes. A panic ends a launch, or leaves a kernel to the interpreter
// (`run::guard`, `caught`); places in tables of a plan and lanes of a warp are indexed, the rest does without.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod cache;
#[deny(clippy::indexing_slicing)]
mod caught;
mod checked;
#[deny(clippy::indexing_slicing)]
mod code;
mod count;
mod emit;
mod error;
mod level;
mod phases;
mod run;
mod simt;
#[deny(clippy::indexing_slicing)]
mod size;
mod source;
mod warp;

pub use cache::Cache;
pub use checked::Checked;
pub use count::{Count, Counts, count};
pub use error::{CacheRefused, NotCompiled};
#[doc(hidden)]
pub use phases::{Made, phases};
pub use run::access;
pub use run::{Arena, Blocks, Kernel, Mapped, interpret};
pub use size::too_large;
