//! The driver's handle of a runtime kernel, for each context.
//!
//! Must not know: who looks it up, or launches with it.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::keep;

/// A kernel's function in one context; an element of a linked list.
struct Handle {
    context: usize,
    /// The generation in which it was found; 0 once it is no longer valid.
    generation: AtomicU32,
    /// The driver's function; 0 if there is none.
    function: AtomicUsize,
    next: AtomicPtr<Handle>,
}

/// The handles in a kernel's record: one for each context in which the kernel was ever used.
pub struct Handles(AtomicPtr<Handle>);

impl Handles {
    /// No handle yet.
    pub const fn none() -> Self {
        Handles(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Whether there may be any handle.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.0.load(Ordering::Acquire).is_null()
    }

    /// The function in this context, if it was found in this generation: 0 if there is none, `None` if it was not
    /// looked up yet.
    #[inline(always)]
    pub fn get(&self, context: usize, generation: u32) -> Option<usize> {
        let known = self.find(context)?;
        (known.generation.load(Ordering::Acquire) == generation)
            .then(|| known.function.load(Ordering::Acquire))
    }

    /// Stores the function that was found in this context and generation (not 0).
    pub fn set(&self, context: usize, generation: u32, function: usize) {
        if let Some(known) = self.find(context) {
            known.function.store(function, Ordering::Release);
            known.generation.store(generation, Ordering::Release);
            return;
        }
        let first = self.0.load(Ordering::Acquire);
        let handle = keep::forever(Handle {
            context,
            generation: AtomicU32::new(generation),
            function: AtomicUsize::new(function),
            next: AtomicPtr::new(first),
        });
        // A thread that loses the race leaks a few bytes; next time it finds the other's handle or tries again.
        let _ = self.0.compare_exchange(first, handle, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Drops all functions, because the kernel no longer exists.
    pub fn forget(&self) {
        let mut next = self.0.load(Ordering::Acquire);
        // SAFETY: null, or a handle, which is never freed.
        while let Some(known) = unsafe { next.as_ref() } {
            known.generation.store(0, Ordering::Release);
            next = known.next.load(Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn find(&self, context: usize) -> Option<&'static Handle> {
        let mut next = self.0.load(Ordering::Acquire);
        // SAFETY: null, or a handle, which is never freed.
        while let Some(known) = unsafe { next.as_ref() } {
            if known.context == context {
                return Some(known);
            }
            next = known.next.load(Ordering::Relaxed);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_has_one_handle_whatever_becomes_of_it() {
        let handles = Handles::none();
        assert!(!handles.any() && handles.get(1, 1).is_none());
        handles.set(1, 1, 0x10);
        handles.set(2, 1, 0);
        assert!(handles.any());
        assert_eq!(
            (handles.get(1, 1), handles.get(2, 1), handles.get(3, 1)),
            (Some(0x10), Some(0), None)
        );
        // Another generation: the context was reset.
        assert_eq!(handles.get(1, 2), None);
        handles.set(1, 2, 0x20);
        assert_eq!((handles.get(1, 1), handles.get(1, 2)), (None, Some(0x20)));
        handles.forget();
        assert_eq!((handles.get(1, 2), handles.get(2, 1)), (None, None));
        let first = handles.0.load(Ordering::Relaxed);
        handles.set(1, 2, 0x30);
        assert_eq!(handles.get(1, 2), Some(0x30));
        assert_eq!(
            handles.0.load(Ordering::Relaxed),
            first,
            "no new record for a context that was there"
        );
    }
}
