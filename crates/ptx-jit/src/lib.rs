//! Machine code for PTX kernels, and the scheduler that runs it.
//!
//! Owns compiling a checked kernel ([`cushim_ptx::ir`]) to machine code by Cranelift, and running a grid of it on
//! threads. The results are those of [`cushim_ptx::interp`], bit for bit. Must not know any CUDA call or how device
//! memory is managed: [`Arena`] says where it is.
//!
//! The unit is a warp: a register is 32 lanes in 128-bit vectors, or one value if it is uniform (see `simt::plan`). The
//! code of a warp is a state machine over the regions of the kernel; registers that are live across regions are in a
//! frame in memory, so a warp that waits is a function that has returned.
//!
//! Kernels with unsupported operations are left to the interpreter: [`Kernel::new`] returns the reason.

// This code runs inside other people's processes. A panic ends a launch, or leaves a kernel to the interpreter
// (`run::guard`, `caught`). Modules that index a plan's tables or a warp's lanes say so.
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
