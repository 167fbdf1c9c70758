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
// (`run::guard`, `caught`). Where places in tables of a plan and lanes of a warp are indexed, the module says so.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod cache;
mod caught;
mod checked;
mod code;
#[allow(
    clippy::indexing_slicing,
    reason = "a region and an instruction have the numbers that the plan gave them"
)]
mod count;
#[allow(
    clippy::indexing_slicing,
    reason = "operands are as many as the operation has, and numbers are the plan's; `caught` leaves a kernel to the interpreter"
)]
mod emit;
mod error;
mod level;
#[allow(
    clippy::indexing_slicing,
    reason = "operands are as many as the operation has, and numbers are the plan's; `caught` leaves a kernel to the first emitter"
)]
mod llvm;
mod phases;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 32, and a site has the number that the emitter gave it; `guard` ends the launch"
)]
mod run;
#[allow(
    clippy::indexing_slicing,
    reason = "a region, register and instruction have the numbers that the plan gave them; `caught` leaves a kernel to the interpreter"
)]
mod simt;
mod size;
mod source;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 32, and a slot one of the interface's; `run::guard` ends the launch"
)]
mod warp;

pub use cache::Cache;
pub use checked::Checked;
pub use count::{Count, Counts, count};
pub use error::{CacheRefused, NotCompiled};
#[doc(hidden)]
pub use llvm::object::flat;
pub use llvm::{Library as Llvm, library as llvm, serve as serve_llvm, takes as llvm_takes};
#[doc(hidden)]
pub use llvm::{wire::read_any as read_wire, without as without_llvm};
#[doc(hidden)]
pub use phases::{Made, phases};
pub use run::access;
pub use run::{Arena, Blocks, Kernel, Mapped, interpret};
pub use size::too_large;
