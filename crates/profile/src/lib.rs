//! What `cushim profile` counts while kernels run on the CPU.
//!
//! Owns the counts of a launch, how they are made, and the lines that tell them. Each of its parts knows one thing:
//! [`count`] what is counted, [`options`] what is asked for, [`access`] what an access costs by its addresses, [`cache`] a model
//! of two caches, [`flops`] arithmetic, [`registers`] how many a kernel needs at once, [`look`] kernels that run, [`sums`] what is known of a launch, [`told`] the
//! lines, [`traced`] the way into the trace. Must not know how kernels run ([`cushim_ptx::exec::Watch`] shows what they do), or any GPU: the launcher does.

pub mod access;
pub mod cache;
pub mod count;
pub mod flops;
mod look;
pub mod options;
pub mod registers;
mod sums;
mod told;
pub mod traced;

pub use count::{Count, Counts};
pub use cushim_check::lines::MISSING;
pub use look::{CountedLaunch, Profile};
pub use options::Options;
pub use sums::Launched;
pub use told::Profiler;
