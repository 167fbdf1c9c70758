//! Memory instructions: SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF.
//!
//! Owns: their rows and the data that each moves. Must not know: how an address is computed.

mod form;
mod global;
mod lds;

pub(super) use global::{FLAT, GLOBAL, MTBUF, MUBUF, SCRATCH, SMEM};
pub(super) use lds::DS;
