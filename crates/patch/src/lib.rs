//! CUDA runtimes that are linked into a program or a library: nvcc's default.
//!
//! Nothing of such a runtime can be preloaded: its functions are private. But where symbols are left,
//! the file says where each begins, and a jump at its entry leads to a function of the same name in
//! another library. Here is what can be read and decided from the files' bytes: whether there is a runtime
//! ([`Facts`]), which major it is and where its functions are ([`Runtime`]), whether a separate file has
//! the symbols of this one ([`debug`]), or an archive of its version or a near one has them ([`archive`]), where each is to lead ([`Exports`]), and what is to be written
//! ([`Plan`]).
//!
//! Must not know: processes. Nobody's memory is read or written here; addresses are those in the file.

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
