//! Times the phases of compiling a kernel.
//!
//! Owns a run of the same phases as [`crate::Kernel`]'s, without keeping the result. Must not know who asks.

use crate::checked::Checked;
use crate::emit;
use crate::error::NotCompiled;
use crate::simt::calls;
use crate::simt::plan::Layout;
use crate::warp::Quality;
use cushim_ptx::ir::Module;
use cushim_ptx::work::{self, Phase};
use std::time::Duration;

/// The generated code.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// Its bytes.
    pub code: usize,
    /// Bytes of stack that it uses.
    pub stack: usize,
}

/// Compiles both tiers of a kernel for a block shape; returns the cost of each phase, and the results.
///
/// # Errors
/// [`NotCompiled`], as for [`crate::Kernel::new`].
pub fn phases(
    module: &Module,
    kernel: u32,
    block: [u32; 3],
    clock: fn() -> Duration,
) -> Result<(Vec<Phase>, [Made; 2]), NotCompiled> {
    let (quick, best) = (emit::machine(Quality::Quick)?, emit::machine(Quality::Best)?);
    let layout = Layout::of(block);
    work::listen(clock);
    let made = (|| {
        let lowered = calls::lower(module, kernel)?;
        work::mark("calls");
        let quick = emit::compile(&quick, module, &lowered, layout, Checked::default())?;
        work::mark("quick");
        let other = work::heard();
        work::listen(clock);
        let best = emit::compile(&best, module, &lowered, layout, Checked::default())?;
        work::mark("best");
        let made = |o: crate::warp::Output| Made { code: o.bytes.len(), stack: o.stack as usize };
        Ok((other, [made(quick), made(best)]))
    })();
    let again = work::heard();
    let (mut all, sizes) = made?;
    all.extend(again.iter().filter(|p| p.name == "best"));
    Ok((all, sizes))
}
