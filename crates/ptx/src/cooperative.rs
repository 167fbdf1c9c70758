//! Functions by which kernels wait for their whole grid: those of libcudadevrt (`cudaCGSynchronize` and similar,
//! which Numba calls) and the driver's below them (`__cuda_syscall_CGS_*`).
//!
//! Owns them as PTX (cooperative.ptx), because a function that waits cannot be a host function. Only cooperative
//! launches have a workspace, so the handle is 0 in others. Groups of several grids are not supported. Must not know:
//! what runs the module. Source: libcudadevrt's PTX, which calls the driver's functions; cooperative_groups/details
//! of CUDA's headers.

use crate::error::Error;
use crate::ir::Module;
use crate::{check, parse};

const TEXT: &str = include_str!("cooperative.ptx");
/// How the names begin.
const NAMES: [&str; 2] = ["__cuda_syscall_CGS_", "cudaCG"];

/// Adds a module with these functions if one of `modules` calls one that none of them defines.
///
/// # Errors
/// None in practice: the text is part of this crate.
pub fn complete(modules: &mut Vec<Module>) -> Result<(), Error> {
    let named = |name: &str| NAMES.iter().any(|start| name.starts_with(start));
    let functions =
        || modules.iter().flat_map(|module| &module.functions).filter(|f| named(&f.name));
    let defined = |name: &str| functions().any(|f| f.defined && f.name == name);
    if functions().any(|f| !f.defined && !defined(&f.name)) {
        modules.push(check(&parse(TEXT)?)?);
    }
    Ok(())
}
