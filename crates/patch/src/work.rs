//! A limit on the work that an input may cause: counted, not timed.
//!
//! Owns: the bound that keeps a reader linear if tables of a crafted file claim the same bytes again and again. Must
//! not know: what is read.

use std::cell::Cell;

/// The work that is left.
pub(crate) struct Work {
    left: Cell<u64>,
}

impl Work {
    /// Each byte of `data` once: what the tables of a file that a linker made claim is no more.
    pub fn over(data: &[u8]) -> Self {
        Work::times(1, data.len())
    }

    /// So many steps for each of so many bytes.
    pub fn times(steps: u64, bytes: usize) -> Self {
        Work { left: Cell::new(steps.saturating_mul(bytes as u64)) }
    }

    /// Takes `steps` of it; whether there were as many. Where there were not, nothing is left.
    pub fn take(&self, steps: u64) -> bool {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.left.get() == 0
    }
}
