//! State that all warps of a launch share.

use super::arena::{Arena, Mapped};
use super::tier::Variant;
use cushim_ptx::Pos;
use cushim_ptx::exec::{Cause, Fault, Host, KernelLaunch};
use std::cell::Cell;
use std::time::Instant;

pub(crate) struct Exec<'a> {
    pub(crate) launch: &'a KernelLaunch<'a>,
    pub(crate) variant: &'a Variant,
    /// The code is worth making better.
    pub(crate) hot: &'a dyn Fn(),
    pub(crate) arena: Arena,
    pub(crate) memory: &'a dyn Mapped,
    pub(crate) host: &'a dyn Host,
    pub(crate) shared_size: u32,
    pub(crate) local_size: u32,
    /// Threads of a block.
    pub(crate) threads: u32,
    pub(crate) start: Instant,
    /// Where the stack of the code begins, if it is not the thread's.
    pub(crate) stack: u64,
    /// Blocks that begin now run by LLVM's code, where there is some.
    pub(crate) by_llvm: Cell<bool>,
}

impl Exec<'_> {
    pub(crate) fn fault(
        &self,
        cause: Cause,
        pos: Option<Pos>,
        block: [u32; 3],
        thread: [u32; 3],
    ) -> Fault {
        Fault::new(self.launch.module, self.launch.kernel, cause, pos, block, thread)
    }
}
