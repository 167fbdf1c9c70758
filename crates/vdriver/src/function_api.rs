//! The API functions on functions, and the handles that they accept.
//!
//! Source: CUDA Driver API, "Execution Control". Must not know: the settings ([`super::function`]).

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::entry::entry;
use super::function::{FUNCTIONS, Function, attribute, give_param, set_attribute};
use super::handle::handle;
use super::kernel::KERNELS;
use super::state::{check, give};
use super::status;

/// The function of a handle: of a `CUfunction`, or of a `CUkernel` in the current context.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, those of [`check`], and for a kernel those of loading its library.
pub fn of(function: Func) -> Result<Arc<Function>, i32> {
    if let Some(found) = FUNCTIONS.get(function.0) {
        return Ok(found);
    }
    check()?;
    match KERNELS.get(function.0) {
        Some(kernel) => kernel.function(),
        None => Err(status::INVALID_HANDLE),
    }
}

entry! {
    fn cuFuncGetAttribute (pi: Out<i32>, attrib: i32, hfunc: Func) {
        let function = of(hfunc)?;
        let value = attribute(&function.kernel, &function.settings, function.device, attrib);
        give(pi, value.ok_or(status::INVALID_VALUE)?)
    }

    fn cuFuncSetAttribute (hfunc: Func, attrib: i32, value: i32) {
        let function = of(hfunc)?;
        set_attribute(&function.kernel, &function.settings, function.device, attrib, value)
    }

    // Preferences for hardware that no accelerator here has.
    fn cuFuncSetCacheConfig (hfunc: Func, config: i32) {
        of(hfunc)?;
        if (0..=3).contains(&config) { Ok(()) } else { Err(status::INVALID_VALUE) }
    }

    fn cuFuncSetSharedMemConfig (hfunc: Func, config: i32) {
        of(hfunc)?;
        if (0..=2).contains(&config) { Ok(()) } else { Err(status::INVALID_VALUE) }
    }

    fn cuFuncGetModule (hmod: Out<Module>, hfunc: Func) {
        let function = of(hfunc)?;
        let module = function.module.upgrade().ok_or(status::INVALID_HANDLE)?;
        give(hmod, abi::Module(handle(&module)))
    }

    fn cuFuncGetName (name: Out<Str>, hfunc: Func) {
        let function = of(hfunc)?;
        // It stays as long as the module is loaded.
        give(name, Str(function.name.as_ptr().expose_provenance()))
    }

    fn cuFuncGetParamCount (func: Func, paramCount: Out<usize>) {
        let function = of(func)?;
        give(paramCount, function.kernel.params.len())
    }

    fn cuFuncGetParamInfo (func: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) {
        let function = of(func)?;
        give_param(&function.kernel, paramIndex, paramOffset, paramSize)
    }

    fn cuFuncIsLoaded (state: Out<i32>, function: Func) {
        of(function)?;
        // CU_FUNCTION_LOADING_STATE_LOADED.
        give(state, 1)
    }

    fn cuFuncLoad (function: Func) {
        of(function).map(drop)
    }
}
