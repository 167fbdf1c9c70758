//! What `cushim check` looks for while kernels run on the CPU.
//!
//! Owns what is remembered of memory, blocks and calls, the rules, and the findings. Each of its parts knows one thing:
//! [`options`] what is looked for, [`bits`] a bit for each byte of device memory, [`blocks`] allocations, [`bounds`] what arguments point into, [`stray`] addresses that no allocation explains, [`checker`] the
//! rules about memory, [`calls`] what driver and runtime tell, [`look`] what kernels do, [`race`] what their threads do to each other, [`trail`] places in the program, [`variable`] variables, [`python`] those in Python code,
//! [`finding`] what is told, [`json`] its form, [`lines`] the file for it. Must not know how kernels run, or where memory comes from: engines show what
//! they do ([`cushim_ptx::exec::Watch`]), and whoever owns memory says what it gives and takes back.

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
