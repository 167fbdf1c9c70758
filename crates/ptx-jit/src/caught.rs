//! Panics of ours that end here, and not the program.
//!
//! Owns what a caught panic says. Who shows it, and that nothing else does, is the embedder's: a panic hook. Must not
//! know: where they come from.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs something; what it says if it panics.
pub(crate) fn run<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let message = message(&*panic);
        // What it carries may panic when it is dropped: it stays.
        std::mem::forget(panic);
        message
    })
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic").to_owned()
}
