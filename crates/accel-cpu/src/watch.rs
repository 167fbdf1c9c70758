//! Kernels that are looked at while they run.
//!
//! Owns which launches are, and what compiled code shows for that. Must not know what is looked for.

use std::sync::Arc;

use cushim_accel::Dispatch;
use cushim_check::{Launch, Launched, Looks, Tool};
use cushim_ptx_jit::Checked;

use super::code::CpuCode;
use super::memory::Memory;

/// What compiled code is to show.
pub fn shown(memory: &Memory) -> Checked {
    let Some(checker) = &memory.checker else { return Checked::default() };
    let has = |tool| checker.has(tool);
    Checked {
        global: has(Tool::Memory) || has(Tool::Init),
        every: has(Tool::Race),
        shared: has(Tool::Init) || has(Tool::Race),
        local: has(Tool::Init),
        barriers: has(Tool::Sync) || has(Tool::Race),
    }
}

/// Whether blocks are to run on one thread.
pub fn in_order(memory: &Memory) -> bool {
    memory.checker.as_ref().is_some_and(|checker| checker.has(Tool::Race))
}

/// Who looks on at a launch, if somebody does.
pub fn watch(memory: &Memory, dispatch: &Dispatch) -> Option<Looks> {
    let checker = memory.checker.clone().filter(|checker| checker.looks_at_kernels())?;
    let code = dispatch.code.as_any().downcast_ref::<CpuCode>()?;
    let kernel = *code.functions.get(dispatch.kernel)?;
    let name = &code.module.functions.get(kernel as usize)?.name;
    // What was queued behind a launch that failed would not run on a GPU, and reads what that one has not written.
    let reported = checker.reports_on(name) && !checker.is_broken();
    let sides = dispatch.cluster.unwrap_or([1; 3]).map(u64::from);
    let launched = Launched {
        module: code.module.clone(),
        kernel,
        block: dispatch.block,
        cluster: sides.iter().product(),
        trail: dispatch.trail.clone(),
        stream: dispatch.stream,
    };
    Some(Looks(Arc::new(Launch { checker, of: Arc::new(launched), reported })))
}
