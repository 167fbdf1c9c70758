//! What the driver and the runtime of virtual CUDA share.
//!
//! Owns the driver API as both use it ([`api`]: a table of functions that is filled when a driver is chosen), device
//! code as programs pass it ([`code`]), the texts of errors, and the message and status of a function that is not
//! implemented. Must not know: what any function of CUDA does, which drivers and accelerators there are.

pub mod api;
pub mod backend;
pub mod code;
pub mod error_text;
pub mod front;
pub mod unsupported;

/// One function of an exported table; null where a major has none.
#[repr(transparent)]
#[derive(Debug)]
pub struct Slot(pub *const ());

// SAFETY: the address of a function, never written.
unsafe impl Sync for Slot {}
