//! CUDA runtimes that are linked statically into a program or a library: nvcc's default.
//!
//! Preloading cannot replace such a runtime: its functions are local symbols. But if the file has symbols, they say
//! where each function begins, and a jump at its entry can lead to a function of the same name in another library.
//! This crate reads and decides from the files' bytes: whether there is a runtime ([`Facts`]), its major and its
//! functions' addresses ([`Runtime`]), whether a separate file has the symbols of a stripped one ([`debug`]), or an
//! archive of its version or a near one ([`archive`]), where each jump leads ([`Exports`]), and which bytes to write
//! ([`Plan`]).
//!
//! Must not know: processes. It neither reads nor writes any process's memory; addresses are those in the file.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod align;
pub mod archive;
pub mod debug;
mod error;
mod exports;
mod file;
mod frames;
mod jump;
mod names;
mod plan;
mod runtime;
mod symbols;
mod work;

pub use error::Error;
pub use exports::Exports;
pub use file::{Facts, File};
pub use jump::{JUMP, jump};
pub use plan::{Patch, Plan};
pub use runtime::{Function, Runtime, node};
pub use symbols::{Import, Offer};
