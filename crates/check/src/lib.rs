//! The checks of `cushim check`, while kernels run on the CPU.
//!
//! Owns the state of memory, blocks and calls, the rules, and the findings. Each module has one subject: [`options`]
//! which checks are enabled, [`bits`] a bit for each byte of device memory, [`blocks`] allocations, [`bounds`] what
//! arguments point into, [`stray`] addresses far from every allocation, [`checker`] the rules for memory, [`calls`]
//! reports of driver and runtime, [`look`] accesses of kernels, [`race`] races between threads, [`trail`] stacks of
//! the host, [`variable`] variables, [`python`] stacks of Python code, [`finding`] findings, [`json`] their format,
//! [`lines`] their file. Must not know how kernels run, or where memory comes from: engines report accesses
//! ([`cushim_ptx::exec::Watch`]), and the owner of memory reports allocations and frees.

pub mod bits;
pub mod blocks;
mod bounds;
mod calls;
pub mod checker;
pub mod finding;
pub mod json;
pub mod launched;
pub mod lines;
mod look;
pub mod options;
mod python;
pub mod race;
pub mod stray;
pub mod trail;
pub mod variable;

pub use blocks::{Kind, Module};
pub use bounds::Bounds;
pub use checker::{Checker, Verdict};
pub use launched::Launched;
pub use look::{CheckedLaunch, Looks};
pub use options::{Options, Tool};
