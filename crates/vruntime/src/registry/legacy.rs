//! Images that are a separate module in each context: all images on drivers of CUDA 11, which lack libraries, and
//! images with texture or surface references on later ones, whose libraries do not expose references (measured: 580
//! returns CUDA_ERROR_NOT_FOUND for the module of a library).
//!
//! Owns the modules of an image, by context, and the functions found in them. Must not know: libraries
//! ([`super::load`]).

use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::image;
use super::load::invalid_symbol;
use super::table::{Binary, Held, Kernel, Kind, Variable};
use crate::context;
use crate::error::{self, code};
use cushim_accel::locks::lock;
use cushim_vbase::api;

/// The first version of the driver that has libraries (cuLibraryLoadData: 12.0).
const LIBRARIES: i32 = 12_000;

/// Whether the driver is older than that. Only called at first uses, and with such a driver at each
/// launch.
pub fn is_here() -> bool {
    let mut version = 0;
    // SAFETY: a place for an int.
    let known = unsafe { api::cuDriverGetVersion(Out(&raw mut version)) } == 0;
    known && version < LIBRARIES
}

fn result(result: i32) -> Result<(), Status> {
    if result == 0 { Ok(()) } else { Err(error::from_driver(result)) }
}

impl Binary {
    /// Whether it is loaded as modules, not as a library.
    pub(super) fn is_by_module(&self) -> bool {
        self.variables().any(|variable| variable.kind == Kind::Reference) || is_here()
    }

    /// The state of an image in the current context; loads it there at the first use.
    fn held<T>(
        &'static self,
        body: impl FnOnce(&mut Held) -> Result<T, Status>,
    ) -> Result<T, Status> {
        context::ready()?;
        let mut current = Context(0);
        // SAFETY: a place for a handle.
        result(unsafe { api::cuCtxGetCurrent(Out(&raw mut current)) })?;
        let mut modules = lock(&self.modules);
        let at = match modules.iter().position(|held| held.context == current.0) {
            Some(at) => at,
            None => {
                let module = self.load_module()?;
                modules.push(Held { context: current.0, module, functions: Vec::new() });
                modules.len() - 1
            }
        };
        modules.get_mut(at).map_or(Err(code::UNKNOWN), body)
    }

    fn load_module(&'static self) -> Result<Module, Status> {
        let mut module = Module(0);
        let ours = image::ours(self.wrapper);
        let image =
            ours.as_deref().map_or(self.wrapper, |image| image.as_ptr().expose_provenance());
        // SAFETY: a wrapper that the program registered, or an image from it, which the driver copies.
        result(unsafe { api::cuModuleLoadData(Out(&raw mut module), Ptr(image)) })?;
        for variable in self.variables().filter(|variable| variable.kind == Kind::Managed) {
            if variable.managed.load(Ordering::Acquire) == 0 {
                variable.told(variable.in_module(module)?.0);
            }
        }
        Ok(module)
    }

    /// The module of the current context.
    ///
    /// # Errors
    /// As [`Binary::load`].
    pub(super) fn module(&'static self) -> Result<Module, Status> {
        self.held(|held| Ok(held.module))
    }

    /// Unloads the image from every context.
    pub(super) fn unload_modules(&self) {
        for held in std::mem::take(&mut *lock(&self.modules)) {
            let mut old = Context(0);
            // SAFETY: handles of the driver, which may have ended by now and then returns an error.
            unsafe {
                if api::cuCtxPushCurrent_v2(Context(held.context)) == 0 {
                    api::cuModuleUnload(held.module);
                    api::cuCtxPopCurrent_v2(Out(&raw mut old));
                }
            }
        }
    }
}

impl Kernel {
    /// The function of the current context.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub(super) fn function(&'static self, binary: &'static Binary) -> Result<Func, Status> {
        let key = std::ptr::from_ref(self).addr();
        binary.held(|held| {
            if let Some((_, function)) = held.functions.iter().find(|(kernel, _)| *kernel == key) {
                return Ok(*function);
            }
            let mut function = Func(0);
            let to = Out(&raw mut function);
            // SAFETY: a module of ours, a string of the registered image.
            match unsafe { api::cuModuleGetFunction(to, held.module, Str(self.name)) } {
                0 => {}
                code::SYMBOL_NOT_FOUND => return Err(code::INVALID_DEVICE_FUNCTION),
                failed => return Err(error::from_driver(failed)),
            }
            held.functions.push((key, function));
            Ok(function)
        })
    }
}

impl Variable {
    /// Address and size of the variable in a module.
    pub(super) fn in_module(&'static self, module: Module) -> Result<(Ptr, usize), Status> {
        let (mut at, mut bytes) = (Ptr(0), 0);
        let to = (Out(&raw mut at), Out(&raw mut bytes));
        // SAFETY: places for the results, a module of ours, a string of the registered image.
        result(unsafe { api::cuModuleGetGlobal_v2(to.0, to.1, module, Str(self.name)) })
            .map_err(invalid_symbol)?;
        Ok((at, bytes))
    }
}
