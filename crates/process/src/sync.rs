//! The atomics of the lock-free parts, and the functions that are `const` only with them.
//!
//! Owns the choice of atomics, and nothing else: a model check compiles the same files with other types of the same
//! names. Must not know: who uses them.

pub use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::table::PointerTable;

impl<T: 'static, const BITS: u32> PointerTable<T, BITS> {
    /// An empty table.
    pub const fn new() -> Self {
        PointerTable::over(AtomicPtr::new(std::ptr::null_mut()))
    }
}

impl<T: 'static, const BITS: u32> Default for PointerTable<T, BITS> {
    fn default() -> Self {
        Self::new()
    }
}
