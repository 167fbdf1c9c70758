//! Translates PTX text to code objects.
//!
//! Owns the order of the steps: parse, check, fuse as NVIDIA's compiler does, emit, compile or take the cached
//! result.

use crate::abi::Facts;
use crate::cache::{Cache, Key};
use crate::compiler::{Compiler, Error};
use crate::refusal::Refusal;
use crate::target::Target;
use cushim_ptx::ir::Module;

/// A module's code for one target.
#[derive(Debug, Clone)]
pub struct Translated {
    /// The code object; `None` if every kernel is refused, or there is none.
    pub object: Option<Vec<u8>>,
    /// The kernels in it.
    pub kernels: Vec<Facts>,
    /// The refused kernels.
    pub refused: Vec<Refusal>,
}

/// Text as a module that is ready to be translated. Text for a debugger is not fused.
///
/// # Errors
/// It is no PTX.
pub fn module(text: &str) -> Result<Module, cushim_ptx::Error> {
    let tree = cushim_ptx::parse(text)?;
    let mut module = cushim_ptx::check(&tree)?;
    if !tree.targets.contains(&"debug") {
        cushim_ptx::contract(&mut module);
    }
    Ok(module)
}

/// The code object of a module for a target.
///
/// # Errors
/// The compiler cannot be started, or refuses the generated code.
pub fn translate(
    module: &Module,
    target: &Target,
    compiler: &Compiler,
    cache: Option<&Cache>,
) -> Result<Translated, Error> {
    let made = crate::amdgpu::emit(module, target);
    let object = match made.kernels.is_empty() {
        true => None,
        false => Some(compiled(&made.ir, target, compiler, cache)?),
    };
    Ok(Translated { object, kernels: made.kernels, refused: made.refused })
}

/// The code object of emitted code for a target, cached or compiled now.
///
/// # Errors
/// As [`translate`].
pub fn compiled(
    ir: &str,
    target: &Target,
    compiler: &Compiler,
    cache: Option<&Cache>,
) -> Result<Vec<u8>, Error> {
    let parts = [ir, target.name(), compiler.version()];
    let key = Key::of(&parts.map(str::as_bytes));
    if let Some(object) = cache.and_then(|cache| cache.load(&key)) {
        return Ok(object);
    }
    let object = compiler.compile(ir, target)?;
    if let Some(cache) = cache {
        cache.store(&key, &object);
    }
    Ok(object)
}
