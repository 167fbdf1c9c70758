//! LLVM's code for a kernel and one block layout.
//!
//! Owns requesting it, and an estimate of how long it takes. Must not know who runs it ([`super::native`]), or how it
//! is compiled ([`crate::llvm`]).

use super::stack::Stack;
use crate::cache::{Kept, Place};
use crate::code::Code;
use crate::llvm;
use crate::simt::plan::Layout;
use crate::source::Source;
use crate::warp::{Quality, Site};
use cushim_ptx::ir::Function;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The variable that makes a kernel's first launch wait for LLVM's code, for tests.
const WAIT: &str = "CUSHIM_LLVM_WAIT";

/// Whether launches wait for its code.
pub(super) fn waits() -> bool {
    static WAITS: OnceLock<bool> = OnceLock::new();
    *WAITS.get_or_init(|| std::env::var_os(WAIT).is_some_and(|v| v == "1"))
}

/// LLVM's estimated compile time for a function, by its instructions.
pub(super) fn estimate(f: &Function) -> Duration {
    EACH.saturating_mul(f.code.len() as u32)
}

/// What LLVM takes for an instruction of PTX at most, of kernels of many short regions; of others a fifth.
const EACH: Duration = Duration::from_millis(5);

/// Code for one block layout, and its call sites of helpers.
pub(crate) struct Native {
    pub(super) code: Code,
    pub(super) sites: Vec<Site>,
}

impl Native {
    /// Takes cached code, or has LLVM compile it; `stack`: the available bytes of stack.
    pub(super) fn new(source: &Source, layout: Layout, stack: u32) -> Result<Native, String> {
        if !source.checked.is_none() {
            return Err("code that shows what it does".into());
        }
        let place = Place::of(source, layout, Some(llvm::opened()?));
        let kept = place.as_ref().and_then(|place| place.load(source));
        let made = match kept {
            Some(kept) => kept.output,
            None => {
                let start = Instant::now();
                let output = llvm::compile(&source.module, &source.lowered, layout)?;
                let (quality, took) = (Quality::Best, start.elapsed());
                let kept = Kept { quality, took, output };
                if let Some(place) = place {
                    place.store(source, &kept);
                }
                kept.output
            }
        };
        if !Stack::takes(stack, made.stack) {
            return Err(format!("{} bytes of the stack", made.stack));
        }
        let code = Code::new(&made.bytes).map_err(|e| e.to_string())?;
        Ok(Native { code, sites: made.sites })
    }
}
