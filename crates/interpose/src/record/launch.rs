//! A launch in the form in which it is recorded.
//!
//! Must not know: who made it.

use cushim_abi::types::Dim3;

use crate::arguments::Arguments;
use crate::registry::Kernel;

/// A launch as the program asked for it.
pub struct LaunchRecord {
    /// What is launched.
    pub kernel: &'static Kernel,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Blocks per cluster, zeros for none.
    pub cluster: [u8; 3],
    /// Dynamic shared memory, bytes.
    pub shared: usize,
    /// Stream handle.
    pub stream: usize,
    /// The arguments.
    pub args: Arguments,
    /// `LAUNCH_*` bits.
    pub flags: u8,
}

impl LaunchRecord {
    /// A launch without a configuration: an error, which the trace should show.
    pub fn shapeless(kernel: &'static Kernel) -> Self {
        let none = Dim3 { x: 0, y: 0, z: 0 };
        LaunchRecord {
            kernel,
            grid: none,
            block: none,
            cluster: [0; 3],
            shared: 0,
            stream: 0,
            args: Arguments::None,
            flags: 0,
        }
    }
}
