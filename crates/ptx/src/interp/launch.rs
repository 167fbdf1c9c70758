//! State that all blocks of a launch share.

use super::decode::Code;
use super::versions::Version;
use crate::error::Pos;
use crate::exec::{Cause, Fault, Host, KernelLaunch, Memory, shared_layout, shared_size};
use crate::ir::Module;
use std::cell::OnceCell;

/// What all blocks of a launch share.
pub(super) struct Exec<'a> {
    pub(super) launch: &'a KernelLaunch<'a>,
    pub(super) module: &'a Module,
    pub(super) memory: &'a dyn Memory,
    pub(super) host: &'a dyn Host,
    /// Offset of each shared variable of the module, where the kernel reaches it.
    pub(super) shared: Vec<u32>,
    pub(super) shared_size: u32,
    /// Threads of a block.
    pub(super) threads: u32,
    /// The module's functions, decoded as far as they have run.
    pub(super) code: Vec<OnceCell<Code<'a>>>,
    pub(super) version: Version,
}

impl<'a> Exec<'a> {
    pub(super) fn new(
        launch: &'a KernelLaunch<'a>,
        memory: &'a dyn Memory,
        host: &'a dyn Host,
    ) -> Result<Exec<'a>, Fault> {
        let module = launch.module;
        let (shared, static_size) = shared_layout(module, launch.kernel);
        let exec = Exec {
            launch,
            module,
            memory,
            host,
            shared,
            shared_size: shared_size(static_size, launch.dynamic_shared),
            threads: launch.block.iter().product(),
            code: module.functions.iter().map(|_| OnceCell::new()).collect(),
            version: Version::in_use(),
        };
        let kernel = &module.functions[launch.kernel as usize];
        let refused = module.refusals(launch.kernel);
        if let Some((f, r)) = refused.first() {
            let cause = Cause::Refused {
                instruction: r.instruction.clone(),
                function: module.functions[*f as usize].name.clone(),
                reason: r.reason.clone(),
            };
            return Err(exec.fault(cause, Some(r.pos), [0; 3], [0; 3]));
        }
        if !kernel.defined || launch.params.len() < kernel.params_size as usize {
            let cause =
                Cause::Parameters { found: launch.params.len(), expected: kernel.params_size };
            return Err(exec.fault(cause, None, [0; 3], [0; 3]));
        }
        Ok(exec)
    }

    pub(super) fn fault(
        &self,
        cause: Cause,
        pos: Option<Pos>,
        block: [u32; 3],
        thread: [u32; 3],
    ) -> Fault {
        Fault::new(self.module, self.launch.kernel, cause, pos, block, thread)
    }
}
