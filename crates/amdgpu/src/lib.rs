//! A GPU's compute units in software: the instruction sets of gfx90a (AMD's CDNA 2) and gfx1030 (RDNA 2).
//!
//! Owns: decoding, execution of waves, kernel descriptors. Must not know: queues, packets, the kernel driver, who
//! allocates memory: [`memory::Memory`] hides that.

#![warn(missing_docs)]
// A kernel's code is untrusted, and this runs in other people's processes; the threads of `kfd`'s
// queues catch panics.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]
// A lane is the index of several arrays at once; an iterator over one of them would hide that.
#![allow(clippy::needless_range_loop)]

pub mod decode;
#[allow(clippy::indexing_slicing, reason = "a lane is below 64, and a source below 3")]
mod division;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, a scalar register is masked with 127, and a vector register checked before the loop over lanes"
)]
pub mod exec;
pub mod inst;
pub mod kernel;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, and a source below 3: the loops that every instruction runs"
)]
pub mod lanes;
#[allow(
    clippy::indexing_slicing,
    reason = "an axis is below 3, and as many waves and scalar registers as its head counted"
)]
pub mod launch;
pub mod memory;
pub mod num;
pub mod print;
pub mod scalar;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, and a source below 3; rows are indexed when they are compiled"
)]
pub mod table;
pub mod target;
mod threads;
#[allow(clippy::indexing_slicing, reason = "a scalar register is masked with 127")]
pub mod wave;
