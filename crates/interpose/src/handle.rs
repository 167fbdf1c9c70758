//! The driver's handle for a runtime kernel, by context.
//!
//! Must not know: who finds it, or launches by it.

use std::sync::atomic::AtomicPtr;

/// A kernel's function in one context; they form a list.
pub struct Handle {
    /// The context.
    pub context: usize,
    /// The generation in which it was found.
    pub generation: u32,
    /// The driver's function; 0 where it cannot be had.
    pub function: usize,
    /// The handle for another context, or null.
    pub next: *const Handle,
}

/// A place for handles, in a kernel's record.
pub type Handles = AtomicPtr<Handle>;
