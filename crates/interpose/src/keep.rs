//! Allocations that live until the process ends.
//!
//! Owns one list of them: leak checkers (LeakSanitizer, valgrind) do not search the pages that hold cushim's tables,
//! and would report what only those reference as leaked; LeakSanitizer then changes the program's exit status. Must
//! not know: what is kept.

use std::sync::atomic::{AtomicPtr, Ordering};

struct Kept {
    /// Never read: leak checkers find the value through it.
    _what: *const (),
    _next: *mut Kept,
}

static LAST: AtomicPtr<Kept> = AtomicPtr::new(std::ptr::null_mut());

/// Leaks `value` and links it into the list, where leak checkers find it.
pub fn forever<T>(value: T) -> &'static mut T {
    let kept = Box::leak(Box::new(value));
    let what = std::ptr::from_mut(kept).cast_const().cast();
    let node = Box::into_raw(Box::new(Kept { _what: what, _next: std::ptr::null_mut() }));
    let set = |last| {
        // SAFETY: nobody else has it until the exchange is done.
        unsafe { (*node)._next = last };
        Some(node)
    };
    let _ = LAST.fetch_update(Ordering::AcqRel, Ordering::Acquire, set);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_from_the_list() {
        let kept: Vec<usize> = (0..3u64).map(|n| &raw const *forever(n) as usize).collect();
        let mut found = Vec::new();
        let mut next = LAST.load(Ordering::Acquire);
        // SAFETY: nodes are never freed; null ends the list.
        while let Some(node) = unsafe { next.as_ref() } {
            found.push(node._what as usize);
            next = node._next;
        }
        assert!(kept.iter().all(|address| found.contains(address)));
    }
}
