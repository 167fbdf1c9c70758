//! A kernel launch.
//!
//! Owns its description: kernel, shape, arguments. Must not know who runs it.

use crate::ir::Module;

/// A kernel launch.
#[derive(Debug, Clone, Copy)]
pub struct KernelLaunch<'a> {
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
    /// Blocks of a cluster in x, y, z, which divide the grid; ones where there are no clusters.
    pub cluster: [u32; 3],
    /// The launch or the kernel names a size of clusters.
    pub explicit_cluster: bool,
    /// All blocks must make progress together (cooperative launch).
    pub cooperative: bool,
    /// Address of the zeroed workspace of `grid.sync()`, at least 16 bytes; 0
    /// for none.
    pub workspace: u64,
    /// Local memory of one thread, in bytes, call frames included.
    pub local_limit: u32,
}

impl KernelLaunch<'_> {
    /// Blocks of a cluster: 1 where there are none.
    pub fn cluster_size(&self) -> u64 {
        self.cluster.iter().map(|side| u64::from((*side).max(1))).product()
    }

    /// Clusters of the grid, which run one by one; its blocks where there are none.
    pub fn clusters(&self) -> u64 {
        let blocks: u64 = self.grid.iter().map(|side| u64::from(*side)).product();
        blocks / self.cluster_size()
    }
}
