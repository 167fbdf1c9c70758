//! A tool, and how it is called.
//!
//! Owns: whether this thread is in a callback. Must not know: what tools are called for.

use std::cell::Cell;
use std::ffi::CString;
use std::fmt;

use cushim_tool::CushimTool;

use crate::log::{self, Level};

/// A loaded tool.
pub struct Tool {
    /// Its own name.
    pub name: String,
    /// Its callbacks.
    pub table: CushimTool,
}

std::thread_local! {
    /// Whether this thread is in a callback: CUDA calls made there are not shown to tools.
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a callback.
pub fn is_calling() -> bool {
    CALLING.get()
}

/// Runs a callback.
pub fn calling<R>(callback: impl FnOnce() -> R) -> R {
    // Restored also where an exception passes through.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            CALLING.set(false);
        }
    }
    CALLING.set(true);
    let _leave = Leave;
    callback()
}

/// A string for a tool, cut at a NUL.
pub fn text(text: &str) -> CString {
    let end = text.bytes().position(|b| b == 0).unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// Says something about a tool.
pub fn say(tool: &str, text: fmt::Arguments<'_>) {
    log::line(Level::Error, format_args!("tool {tool}: {text}"));
}
