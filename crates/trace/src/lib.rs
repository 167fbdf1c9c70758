//! Event layout, recorder and reader of cushim traces.
//!
//! Owns: the bytes of a `.cushim` file ([`layout`], an append-only ledger), the clock ([`clock`]), the
//! recorder that a preloaded process writes with ([`recorder`]), the metadata records ([`meta`]) and
//! the reader that every view is built on ([`reader`]), speaking to a process that records ([`control`]), and
//! how files that are for the user alone come to be ([`private`]).
//!
//! Must not know: any CUDA function, any output format. Functions are numbers whose names, classes and
//! argument shapes travel in the file itself, so that a reader of another version still reads it.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod clock;
pub mod contexts;
pub mod control;
pub mod event;
pub mod layout;
pub mod meta;
pub mod private;
pub mod reader;
pub mod recorder;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

mod error;
mod mailbox;
mod stored;

pub use error::Error;
