//! The input of code generation: a kernel of a module, its calls lowered, and the code generators for this machine.

use crate::cache::folder::Cache;
use crate::checked::Checked;
use crate::emit;
use crate::error::NotCompiled;
use crate::simt::calls::{self, Lowered};
use crate::warp::Quality;
use cranelift_codegen::isa::OwnedTargetIsa;
use cushim_ptx::ir::{Function, Module};
use std::sync::Arc;

/// What code is made from.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: u32,
    /// The kernel with the functions it calls.
    pub(crate) lowered: Arc<Lowered>,
    pub(crate) quick: OwnedTargetIsa,
    pub(crate) best: OwnedTargetIsa,
    pub(crate) cache: Option<Arc<Cache>>,
    /// What the code reports to an observer.
    pub(crate) checked: Checked,
}

impl Source {
    pub(crate) fn new(
        module: Arc<Module>,
        kernel: u32,
        cache: Option<Arc<Cache>>,
        checked: Checked,
    ) -> Result<Source, NotCompiled> {
        let (quick, best) = (emit::machine(Quality::Quick)?, emit::machine(Quality::Best)?);
        let lowered = Arc::new(calls::lower(&module, kernel).map_err(|e| e.in_text(&module))?);
        Ok(Source { module, kernel, lowered, quick, best, cache, checked })
    }

    pub(crate) fn function(&self) -> &Function {
        &self.lowered.function
    }
}
