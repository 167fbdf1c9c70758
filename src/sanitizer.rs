//! What AddressSanitizer asks of the objects that it finds itself among.
//!
//! As a library it wants to be the first one that was loaded, and ends a program where another was preloaded before it.
//! The launcher says in ASAN_OPTIONS that this is well; a child process may have options of its own, and is told here.
//! The program's definition comes before ours, as the loader looks there first, and ASAN_OPTIONS counts for more than
//! either. (A library's definition never counts: the sanitizer's own empty one comes before it.)

use std::ffi::c_char;

/// Default options, in the form of ASAN_OPTIONS.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    c"verify_asan_link_order=0".as_ptr()
}
