//! Programs without a GPU: what the command does with them, on the CPU. No toolkit is needed.
//!
//! `cargo test` does not build the libraries (cdylibs that nothing may link): run `cargo build` first.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod check;
mod compilers;
mod contraction;
mod cuda;
mod doctor;
mod faults;
mod large;
mod limits;
mod names;
mod profile;
mod signals;
