//! GPU time, for `--gpu-time`: what CUPTI's activity records tell of the calls that are recorded.
//!
//! Owns: the links. Each recorded call that may put work on a GPU gets a number, which stands in its
//! event and which CUPTI is told for as long as the call lasts (an *external correlation id*). CUPTI
//! answers with a record of which of its own numbers belong to it, and with the kernels, copies and sets
//! that carry those: also those that a graph launch brought about. [`records`] makes events of them.
//!
//! A runtime that is linked into the program is not hooked: by the time the driver is called, CUPTI has
//! noted the runtime's call, and takes no other number for it (measured on an H100: every record of such
//! programs stayed without one). So a thread always carries a number for the call to come ([`links::tell_ahead`]),
//! and the first recorded call after it says which link it became.
//!
//! The driver loads CUPTI's clients itself: at `cuInit` it opens what `CUDA_INJECTION64_PATH` names and
//! calls `InitializeInjection` there (CUPTI manual, "Tracing injection"). The launcher puts this library's
//! own path there, so that nothing is opened where the program does not expect it: see [`attach`].
//!
//! Where there is no CUPTI, or another tool has its place, launches are timed by [`events`].
//!
//! Must not know: how a call is recorded.

mod cupti;
mod events;
mod flush;
mod links;
mod records;
mod source;
mod told;

pub use cupti::attach;
pub use events::{after, before, ending};
pub use links::{begin, end, link, skip};
