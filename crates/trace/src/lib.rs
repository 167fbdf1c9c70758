//! Event layout, recorder and reader of cushim traces.
//!
//! Owns: the bytes of a `.cushim` file ([`layout`], append-only), the clock ([`clock`]), the recorder that a
//! preloaded process writes with ([`recorder`]), the metadata records ([`meta`]), the reader that every view is built
//! on ([`reader`]), controlling a recording process ([`control`]), and creating files that only the user may read
//! ([`private`]).
//!
//! Must not know: any CUDA function, any output format. Functions are numbers; the file contains their names, classes
//! and argument shapes, so that a reader of another version can still read it.

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
