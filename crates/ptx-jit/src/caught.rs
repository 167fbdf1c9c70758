//! Panics in this crate that are caught, so that they do not end the program.
//!
//! Owns the message of a caught panic. The embedder's panic hook prints it, or keeps the standard one from
//! printing. Must not know: where panics come from.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; returns its panic message if it panics.
pub(crate) fn run<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let message = message(&*panic);
        // Its payload may panic when it is dropped: it stays.
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
