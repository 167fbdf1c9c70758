//! Building blocks for code inside other people's processes that no library offers.
//!
//! - [`elf`]: loaded objects, and looking up symbols in them without the loader's lock.
//! - [`table`]: a table keyed by address that is read without a lock.
//! - [`memory`]: memory that is never freed.
//! - [`limit`]: writing files under a size limit.
//!
//! Must not know: CUDA. The preloaded library and virtual CUDA each link their own copy: "our own object" is the one
//! that contains the code.

pub mod elf;
pub mod limit;
pub mod memory;
mod sync;
pub mod table;
