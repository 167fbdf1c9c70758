//! Calls from generated code into Rust; no panic may unwind into generated code.
//!
//! Owns the functions that generated code calls: each runs a helper, and if it panics, the launch fails with an error
//! that names it. The table of helpers can contain nothing else, because only [`Guarded::of`] creates its entries.
//! Must not know: what helpers do.

use super::trap;
use crate::warp::Which;
use crate::warp::{FAULT, Warp};
use cushim_ptx::exec::Cause;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A helper as Rust has it.
pub(super) trait Body {
    const WHICH: Which;

    /// Runs the helper for the lanes of a mask; `n` is mostly the number of a site.
    ///
    /// # Safety
    /// Generated code that was made with this launch's sites runs, and calls for its warp.
    unsafe fn run(w: *mut Warp, n: u32, mask: u32) -> u32;
}

/// A helper as generated code calls it.
#[derive(Clone, Copy)]
pub(crate) struct Guarded(unsafe extern "C" fn(*mut Warp, u32, u32) -> u32);

impl Guarded {
    pub(super) const fn of<B: Body>() -> Guarded {
        Guarded(enter::<B>)
    }

    pub(super) fn address(self) -> usize {
        self.0 as usize
    }
}

/// Called by generated code; the unwinder, which knows nothing of that, is stopped here.
unsafe extern "C" fn enter<B: Body>(w: *mut Warp, n: u32, mask: u32) -> u32 {
    let body = || {
        #[cfg(any(test, debug_assertions))]
        super::panics::inject(B::WHICH);
        // SAFETY: called by generated code.
        unsafe { B::run(w, n, mask) }
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        // SAFETY: generated code passed the warp it was entered with, and the body has ended; nothing here is left to
        // be dropped.
        Err(panic) => unsafe { failed(w, B::WHICH, panic) },
    }
}

/// Records the fault and leaves the code, whatever the code would do with the result.
///
/// # Safety
/// Called by generated code.
#[cold]
unsafe fn failed(w: *mut Warp, which: Which, panic: Box<dyn Any + Send>) -> ! {
    let note = || {
        // SAFETY: the warp that called, which nobody else uses; the helper is gone.
        let w = unsafe { &mut *w };
        let place = format!("helper `{}`", format!("{which:?}").to_lowercase());
        let cause = Cause::Internal { place, message: crate::caught::message(&*panic) };
        w.fault = Some(Box::new(w.exec().fault(cause, None, w.block(), [0; 3])));
    };
    // What a panic carries may panic when it is dropped: it stays.
    if let Err(second) = catch_unwind(AssertUnwindSafe(note)) {
        std::mem::forget(second);
    }
    std::mem::forget(panic);
    // SAFETY: this thread is in generated code, and no frame behind that has anything to drop.
    unsafe { trap::leave(FAULT) }
}
