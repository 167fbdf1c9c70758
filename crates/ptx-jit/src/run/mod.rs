//! Runs compiled kernels: grids over threads, blocks, waiting warps.
//!
//! Owns the scheduler and the helpers that generated code calls. Must not know how code is generated, or who owns
//! device memory.

pub mod access;
mod arena;
mod asynchronous;
mod atomics;
mod avx2;
mod avx512;
mod barrier;
mod blame;
mod block;
mod blocks;
mod by_llvm;
mod calls;
mod cluster;
mod collective;
mod device_runtime;
mod grid;
#[deny(clippy::indexing_slicing)]
mod guard;
mod helpers;
mod joined;
mod kernel;
mod lane;
mod launch;
mod mbarrier;
mod memory;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod native;
mod operand;
#[cfg(any(test, debug_assertions))]
mod panics;
mod preserve_all;
mod room;
mod rows;
mod show;
mod singles;
mod stack;
mod texture;
mod tier;
mod together;
pub(crate) mod trap;
mod trial;
mod turn;
mod vector_access;
mod vector_float;
mod vector_half;
mod vector_int;

pub use arena::{Arena, Mapped};
pub use blocks::Blocks;
pub use kernel::{Kernel, interpret};
