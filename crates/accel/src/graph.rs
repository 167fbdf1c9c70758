//! Graphs as kernels use them: the run that a kernel belongs to, and changes that kernels make to nodes.
//!
//! Owns the types of this interface. Must not know: who runs graphs, who asks.

/// A change that a kernel makes to a kernel node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node's handle (`cudaGraphDeviceNode_t`).
    pub node: u64,
    /// The changed part.
    pub field: NodeField,
}

/// A part of a kernel node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeField {
    /// Blocks in x, y, z.
    Grid([u32; 3]),
    /// Offset and bytes of parameters.
    Parameter(u64, Box<[u8]>),
    /// Whether it is to run.
    Enabled(bool),
}

/// A run of a graph, as its kernels see it.
pub trait GraphRun: Send + Sync {
    /// The graph's handle, if kernels may launch it; else 0.
    fn handle(&self) -> u64;
    /// Launches a graph (`cudaGraphLaunch` in a kernel) in one of the streams that select the mode.
    ///
    /// # Errors
    /// The number of the error.
    fn launch(&self, graph: u64, stream: u64) -> Result<(), i32>;
}
