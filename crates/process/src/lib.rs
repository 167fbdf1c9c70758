//! What code that lives inside other people's processes needs, and no library gives it.
//!
//! - [`elf`]: what is loaded, and looking symbols up in it without the loader's lock.
//! - [`table`]: a table keyed by address that is read without a lock.
//! - [`memory`]: where what is never forgotten lies.
//! - [`limit`]: writing where files have a limit.
//!
//! Must not know: CUDA. Linked into the preloaded library and into virtual CUDA, each with its own copy:
//! "our own object" is the one that the code lies in.

pub mod elf;
pub mod limit;
pub mod memory;
mod sync;
pub mod table;
