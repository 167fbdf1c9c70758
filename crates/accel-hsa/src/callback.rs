//! Callbacks from AMD's runtime.
//!
//! Owns what all of them need: a panic is caught here, because unwinding into the runtime would end the process; and
//! collecting the lists that the runtime delivers one entry at a time. Must not know: what the entries are.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ffi::{ERROR, SUCCESS, Status};

/// The callback for each entry of a list.
pub type Each<T> = unsafe extern "C" fn(T, *mut c_void) -> Status;

/// The result of a callback, or an error where it panics; the panic's message goes to standard
/// error.
pub fn caught(callback: impl FnOnce() -> Status) -> Status {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or(ERROR)
}

/// All entries of a list: `iterate` passes its arguments to the runtime, and returns its status.
///
/// # Safety
/// `iterate` only calls a function of the runtime that calls the callback with entries of this type
/// before it returns.
pub unsafe fn list<T>(iterate: impl FnOnce(Each<T>, *mut c_void) -> Status) -> (Status, Vec<T>) {
    unsafe extern "C" fn push<T>(entry: T, all: *mut c_void) -> Status {
        // SAFETY: the list of `list`, which is not used elsewhere until the runtime has returned.
        unsafe { (*all.cast::<Vec<T>>()).push(entry) };
        SUCCESS
    }
    let mut all: Vec<T> = Vec::new();
    let status = iterate(push::<T>, (&raw mut all).cast());
    (status, all)
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_that_panics_answers_with_an_error() {
        assert_eq!(caught(|| SUCCESS), SUCCESS);
        assert_eq!(caught(|| panic!("on purpose")), ERROR);
    }

    #[test]
    fn a_list_has_what_the_runtime_calls_back_with() {
        let iterate = |each: Each<u64>, to: *mut c_void| {
            // SAFETY: the pointer that `list` passed; `list` waits meanwhile.
            (1..4).map(|n| unsafe { each(n, to) }).max().unwrap_or(ERROR)
        };
        // SAFETY: it calls back with numbers, and returns afterwards.
        assert_eq!(unsafe { list(iterate) }, (SUCCESS, vec![1, 2, 3]));
    }
}
