//! Texture and surface references of CUDA 11, as variables of a module.
//!
//! Owns the lookup of a reference's module and name by its address. Must not know: what it is bound to.

use cushim_abi::types::*;

use super::table::{Kind, VARIABLES};
use crate::context;

/// A reference that was registered.
pub struct Reference {
    /// Its module in the current context.
    pub module: Module,
    /// Its name there, a string of the registered image.
    pub name: Str,
    /// `cudaTextureReadMode`: 0: elements unchanged, 1: integers as fractions.
    pub mode: usize,
}

/// The reference at an address; loads its image.
///
/// # Errors
/// `unknown` for an address that is no reference's; those of loading.
pub fn reference(at: Ptr, unknown: Status) -> Result<Reference, Status> {
    context::ready()?;
    let variable =
        VARIABLES.get(at.0).filter(|found| found.kind == Kind::Reference).ok_or(unknown)?;
    // An image with references is loaded as a module in each context.
    let module = variable.binary.load()?;
    Ok(Reference { module, name: Str(variable.name), mode: variable.size })
}
