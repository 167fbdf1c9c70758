//! A kernel launch.
//!
//! Owns its description: kernel, shape, arguments. Must not know who runs it.

use crate::ir::Module;

/// A kernel launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The module.
    pub module: &'a Module,
    /// The kernel's number in it.
    pub kernel: u32,
    /// Address of each of the module's globals.
    pub globals: &'a [u64],
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; at most 1,024 in all, which the caller checks.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub dynamic_shared: u32,
    /// Parameter bytes, laid out as the kernel's [`crate::ir::Param`]s say.
    pub params: &'a [u8],
    /// All blocks must make progress together (cooperative launch).
    pub cooperative: bool,
    /// Address of the zeroed workspace of `grid.sync()`, at least 16 bytes; 0
    /// for none.
    pub workspace: u64,
    /// Local memory of one thread, in bytes, call frames included.
    pub local_limit: u32,
}
