//! The output of `ptxas --verbose` for each kernel.
//!
//! Owns: the lines. Sizes are those of the PTX; a kernel on the CPU uses no GPU registers, so the count is the one
//! that `cuFuncGetAttribute` of the backend cpu returns. Must not know: files.

use std::fmt::Write;

use cushim_ptx::exec;
use cushim_ptx::ir::{Function, Module};
use cushim_ptx::types::Space;

/// The reported registers of each kernel: `REGISTERS` of the accelerator.
const REGISTERS: u32 = 32;
/// Where a kernel's parameters begin in the first bank of constants, since compute capability 7.0.
const PARAMETERS: u32 = 0x160;

/// The lines for all kernels of a module.
pub fn report(module: &Module, gpu: &str) -> String {
    let bytes = |space| {
        let of = module.globals.iter().filter(|global| global.space == space);
        of.fold(0u64, |sum, global| sum.saturating_add(global.size))
    };
    let mut text = format!("ptxas info    : {} bytes gmem", bytes(Space::Global));
    if bytes(Space::Const) > 0 {
        let _ = write!(text, ", {} bytes cmem[3]", bytes(Space::Const));
    }
    text.push('\n');
    for (number, kernel) in (0u32..).zip(&module.functions) {
        if kernel.entry && kernel.defined {
            let shared = exec::shared_layout(module, number).1;
            text.push_str(&one(kernel, u64::from(shared), gpu));
        }
    }
    text
}

fn one(kernel: &Function, shared: u64, gpu: &str) -> String {
    let (name, stack) = (&kernel.name, kernel.local_size);
    let shared = if shared > 0 { format!(", {shared} bytes smem") } else { String::new() };
    let parameters = PARAMETERS.saturating_add(kernel.params_size);
    format!(
        "ptxas info    : Compiling entry function '{name}' for '{gpu}'\n\
         ptxas info    : Function properties for {name}\n    \
             {stack} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
         ptxas info    : Used {REGISTERS} registers{shared}, {parameters} bytes cmem[0]\n"
    )
}
