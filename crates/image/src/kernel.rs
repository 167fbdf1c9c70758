//! The properties of one kernel or device function, in any format.

use crate::params::layout::ParamLayout;

/// A kernel (or a device function) and its resources. `None`: the image does
/// not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// Name as in the image (mangled).
    pub name: String,
    /// A device function: linked to be called, not launched.
    pub device: bool,
    /// Registers per thread; for AMD the vector registers.
    pub registers: Option<u32>,
    /// AMD: scalar registers per wave.
    pub scalar_registers: Option<u32>,
    /// AMD: accumulation registers per work-item.
    pub accumulation_registers: Option<u32>,
    /// Static shared memory (AMD: group segment), bytes per block.
    pub shared: Option<u32>,
    /// Stack (AMD: private segment), bytes per thread, callees included. Not
    /// known before device linking.
    pub stack: Option<Stack>,
    /// Its own part of the stack.
    pub frame: Option<u32>,
    /// Bytes of the `.nv.local` section; 0 in all code since CUDA 4.
    pub local: Option<u32>,
    /// Most threads a block may have, by `__launch_bounds__`.
    pub max_threads: Option<[u32; 3]>,
    /// Threads a block must have.
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster, where fixed at compile time.
    pub cluster: Option<[u32; 3]>,
    /// `--maxrregcount`, `__maxnreg__`.
    pub max_registers: Option<u32>,
    /// Hardware barriers used.
    pub barriers: Option<u32>,
    /// Bytes of each constant bank of this kernel: `(bank, bytes)`.
    pub constants: Vec<(u32, u64)>,
    /// Bytes of machine code.
    pub code: Option<u64>,
    /// The layout of the parameters.
    pub params: ParamLayout,
    /// Device-runtime functions it calls (`vprintf`, `malloc`, `__assertfail`).
    pub externs: Vec<String>,
    /// AMD: lanes of a wave.
    pub wavefront: Option<u32>,
}

/// Stack need of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// This many bytes.
    Bytes(u32),
    /// Recursion or an indirect call: unknown.
    Unbounded,
}

/// A device variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// Name as in the image (mangled).
    pub name: String,
    /// Its memory space: `global`, `constant3`, `managed`, …
    pub space: String,
    /// Its size.
    pub size: u64,
}
