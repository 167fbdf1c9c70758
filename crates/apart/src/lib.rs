//! The preloaded library's own replacements for functions of the C library.
//!
//! A sanitizer, an allocator or another preloaded library replaces functions of the C library for the whole process,
//! and so for cushim. ThreadSanitizer's `strlen` and `dl_iterate_phdr` crash before it is initialised, and before
//! that it looks symbols up (so it calls cushim's `dlsym`); MemorySanitizer ends a program whose library passes bytes
//! to `write` that it did not see being written; LeakSanitizer counts what cushim allocates; and a program's own
//! `malloc` may use CUDA. So references to such functions, also those that rustc and std make, are bound inside the
//! library: each is defined here under the C library's name with hidden visibility, which no other object can see.
//!
//! - [`bytes`] has `memcpy` and the like;
//! - [`calls`] has system calls;
//! - [`known`] has the functions that only the C library offers, found in its own tables; the environment; random
//!   bytes;
//! - [`heap`] has memory.
//!
//! `crates/cli/tests/shim/imports.rs` lists the remaining imports from the C library, and compares.
//!
//! Must not know: what the library does. Only libcushim.so and libvcuda.so link it: a program or a test does not need
//! it.

pub mod bytes;
pub mod calls;
pub mod heap;
pub mod known;
