//! The counters of `cushim profile`, while kernels run on the CPU.
//!
//! Owns the counts of a launch, how they are computed, and the lines that report them. Each module has one subject:
//! [`count`] the counters, [`options`] the settings, [`access`] the cost of an access by its addresses, [`cache`] a
//! model of two caches, [`flops`] floating-point operations, [`registers`] register pressure, [`look`] running
//! kernels, [`sums`] the sums of a launch, [`told`] the lines, [`traced`] reporting to the trace. Must not know how
//! kernels run ([`cushim_ptx::exec::Watch`] reports what they do), or any GPU: the launcher does.

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
