//! Whether launches are passed to rules and tools.
//!
//! A launch reads one byte if no rule concerns launches. Must not know: rules.

use std::sync::atomic::{AtomicBool, Ordering};

use cushim_abi::types::*;

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Turns on checks of launches, for rules or tools.
pub fn enable() {
    ENABLED.store(true, Ordering::Release);
}

/// Whether launches are checked at all.
#[inline(always)]
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// A launch as it will happen.
#[derive(Clone, Copy)]
pub struct AskedLaunch {
    /// What is launched.
    pub func: Func,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: usize,
    /// Stream handle.
    pub stream: usize,
    /// The array of argument pointers, or null.
    pub params: Ptr,
    /// The driver's other way to pass arguments, or null.
    pub extra: Ptr,
}
