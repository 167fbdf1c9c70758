//! What the preloaded library has of its own where others would ask the C library.
//!
//! A sanitizer, an allocator or another preloaded library puts itself in the place of functions of the C
//! library: for the whole process, and so for us. ThreadSanitizer's `strlen` and `dl_iterate_phdr` crash before
//! it is ready, and it looks symbols up (so calls our `dlsym`) before that; MemorySanitizer ends a program
//! whose library hands `write` bytes that it did not see being written; LeakSanitizer counts what we keep; and a
//! program's own `malloc` may use CUDA. So references to such functions, also those that rustc and std make,
//! are bound inside the library: each is defined here under the C library's name with hidden visibility, which
//! nobody else can see.
//!
//! - [`bytes`] has `memcpy` and the like;
//! - [`calls`] has system calls;
//! - [`known`] has what the C library alone can do, found in its own tables; the environment; random bytes;
//! - [`heap`] has memory.
//!
//! What is still asked of the C library stands in `crates/cli/tests/shim/imports.rs`, which compares.
//!
//! Must not know: what the library does. Linked into libcushim.so and libvcuda.so: a program or a test has no need of it.

pub mod bytes;
pub mod calls;
pub mod heap;
pub mod known;
