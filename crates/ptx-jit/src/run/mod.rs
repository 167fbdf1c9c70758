//! Running compiled kernels: grids over threads, blocks, warps that wait.
//!
//! Owns the scheduler and the helpers that generated code calls. It must not
//! know how code is made, or who owns device memory.

pub mod access;
mod atomics;
mod barrier;
mod blame;
mod block;
mod blocks;
mod calls;
mod collective;
mod external;
mod grid;
#[deny(clippy::indexing_slicing)]
mod guard;
pub(crate) mod helpers;
mod kernel;
mod launch;
mod mbarrier;
mod memory;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod operand;
#[cfg(any(test, debug_assertions))]
mod panics;
mod seldom;
mod stack;
mod tier;
mod together;
pub(crate) mod trap;
mod warp;
pub(crate) mod whole;
pub(crate) mod wide;
mod widest;

pub(crate) use atomics::at_once;
pub use blocks::Blocks;
pub(crate) use helpers::Which;
pub use kernel::{Arena, Kernel, Mapped, interpret};
pub(crate) use launch::Uniform;
pub(crate) use tier::{Origin, Source};
pub(crate) use warp::{DONE, Entry, FAULT, NOWHERE, Row, Slot, Sweep, Warp, YIELDS};
