//! GPUs in software, as AMD's user-mode runtime sees them through its kernel driver's library.
//!
//! Owns: topology, memory, events, queues: the implementation of each function of libhsakmt. Must not know: how they
//! are exported (crate `hsakmt`), how an instruction is executed (crate `amdgpu`). It works in other people's
//! processes: no panic leaves it, and nothing is started before AMD's runtime calls it.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod event;
mod fields;
pub mod memory;
pub mod model;
pub mod names;
pub mod queue;
mod status;
pub mod topology;

pub use fields::Fields;
pub use status::{Status, guarded};
