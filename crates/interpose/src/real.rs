//! The loader's real functions, which this library's exports replace.
//!
//! Must not know: who calls them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use cushim_process::elf::{self, Version};

/// The loader's own functions, after cushim's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    /// `dlsym`.
    Dlsym = 0,
    /// `dlvsym`.
    Dlvsym = 1,
    /// `dlopen`.
    Dlopen = 2,
}

static REAL: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 3];

/// The loader's function: the next definition after cushim's, found without calling any of the
/// three (libc.so.6 has them from glibc 2.34 on, libdl.so.2 before).
#[inline(always)]
pub fn real(which: Real) -> *mut c_void {
    let known = match REAL.get(which as usize) {
        Some(slot) => slot.load(Ordering::Acquire),
        None => std::ptr::null_mut(),
    };
    if known.is_null() { find(which) } else { known }
}

#[cold]
fn find(which: Real) -> *mut c_void {
    let name = match which {
        Real::Dlsym => c"dlsym",
        Real::Dlvsym => c"dlvsym",
        Real::Dlopen => c"dlopen",
    };
    let found = elf::next(name, Version::Any, |_| true).unwrap_or(0) as *mut c_void;
    if let Some(slot) = REAL.get(which as usize) {
        slot.store(found, Ordering::Release);
    }
    found
}
