//! The options that AddressSanitizer asks loaded objects for.
//!
//! AddressSanitizer's shared library requires to be loaded first, and ends a program if another library was preloaded
//! before it. The launcher turns this check off in ASAN_OPTIONS; a child process may have its own ASAN_OPTIONS, so
//! this function turns the check off, too. The loader finds the program's definition before this one, and
//! ASAN_OPTIONS overrides both. (A definition in a library never takes effect: the sanitizer's own empty one comes
//! first.)

use std::ffi::c_char;

/// Default options, in the form of ASAN_OPTIONS.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    c"verify_asan_link_order=0".as_ptr()
}
