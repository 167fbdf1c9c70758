//! What the lock-free parts synchronise by, and what is a constant only with these.
//!
//! Owns the choice of atomics, and nothing else: a test that checks orders of execution gives the same
//! files others of the same names. Must not know: who uses them.

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
