//! The host's side of LLVM's GPU RPC: a program on a GPU writes, reads files, allocates and exits by asking its host
//! through memory that both see.
//!
//! Owns: the shared memory's layout ([`layout`]), conversations over it ([`port`]), what the opcodes of LLVM's C
//! library do ([`ops`]), and the loop that serves them ([`Server`]). Must not know: how device memory is allocated,
//! how kernels are launched, or which options a user gave: [`Host`] is the interface to these.
//!
//! The device is not trusted: whatever it writes into the shared memory, at any time, leads to a reply or a
//! [`Fault`], never to a panic, an invalid access, or unbounded memory. Source of the protocol: LLVM's
//! `libc/shared/rpc.h`, `rpc_util.h`, `rpc_server.h` and `rpc_opcodes.h`, releases 20 and later.

// A device's data are untrusted: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod error;
pub mod files;
pub mod format;
mod host;
pub mod layout;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, and lists are made with a place for each"
)]
pub mod ops;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, and lists are made with a place for each"
)]
pub mod port;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 64, and lists are made with a place for each"
)]
mod print;
mod render;
mod server;

pub use error::{Fault, Stop};
pub use host::{Allow, End, Host, Server};
pub use layout::Shape;
pub use port::{Line, Port};
pub use render::render;
