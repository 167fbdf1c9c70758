//! What programs register: images, and the kernels and variables in them.
//!
//! Owns the lookup by the addresses that a program uses: the handle of an image, the host stub (or the driver's
//! handle) of a kernel, the host's shadow of a variable ([`table`]). Registration never calls the driver:
//! constructors of libraries register, before main, under the loader's lock. Images are loaded at first use
//! ([`load`]). Must not know: launches, copies.

mod image;
mod known;
pub mod legacy;
pub mod load;
mod reference;
mod register;
pub mod table;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::error::code;

pub use reference::{Reference, reference};
pub use register::*;
use table::{Binary, KERNELS, Kernel, VARIABLES, all};
pub use table::{forget, forget_handles, know_handle};

/// The driver's handle to launch, for a program's host stub or handle of a kernel.
///
/// # Errors
/// As [`unknown`] for an address that is neither; those of loading.
#[inline(always)]
pub fn kernel<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    let Some(kernel) = KERNELS.get(func.0) else { return unknown::<MAJOR>(func) };
    match kernel.handle.load(Ordering::Acquire) {
        0 => kernel.load(),
        handle => Ok(Func(handle)),
    }
}

/// As [`kernel`], where that is known without asking the driver.
pub fn known(func: Func) -> Option<Func> {
    let handle = KERNELS.get(func.0)?.handle.load(Ordering::Acquire);
    (handle != 0).then_some(Func(handle))
}

/// Whether [`kernel`] returns the function of the current context, and not a `CUkernel`.
pub fn is_function(func: Func) -> bool {
    let binary = KERNELS.get(func.0).and_then(|kernel| kernel.binary);
    binary.map_or_else(legacy::is_here, Binary::is_by_module)
}

/// The host stub that the program registered for a handle, else the handle.
pub fn stub(handle: Func) -> Func {
    let stub = match KERNELS.get(handle.0) {
        Some(kernel) => kernel.stub,
        None => of_function(handle).map_or(0, |kernel| kernel.stub),
    };
    if stub == 0 { handle } else { Func(stub) }
}

/// The kernel of this function in the current context: drivers report launches by function.
#[cold]
fn of_function(function: Func) -> Option<&'static Kernel> {
    let loaded = all().filter(|binary| binary.library.load(Ordering::Acquire) != 0);
    loaded.flat_map(Binary::kernels).find(|kernel| {
        let mut its = Func(0);
        let handle = Func(kernel.handle.load(Ordering::Acquire));
        // SAFETY: a place for a handle, a kernel of the driver.
        handle.0 != 0
            && unsafe { cushim_vbase::api::cuKernelGetFunction(Out(&raw mut its), handle) } == 0
            && its == function
    })
}

/// The name of a kernel that was registered, for its stub or handle.
pub fn kernel_name(func: Func) -> Option<Str> {
    KERNELS.get(func.0).filter(|kernel| kernel.name != 0).map(|kernel| Str(kernel.name))
}

/// An address that was not registered: a handle that the program got from the driver itself, or an
/// invalid one.
///
/// # Errors
/// cudaErrorInvalidDeviceFunction; from 13 on cudaErrorInvalidResourceHandle, as an address that is not null
/// is taken for a handle there (measured).
#[cold]
fn unknown<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    super::context::ready()?;
    if func.0 == 0 {
        return Err(code::INVALID_DEVICE_FUNCTION);
    }
    // NVIDIA's older drivers dereference any pointer; cushim's looks it up in its table.
    if cushim_vbase::backend::chosen() != Some(cushim_vbase::backend::Backend::Driver) {
        let mut library = Module(0);
        // SAFETY: a place for a handle; our driver looks handles up.
        if unsafe { cushim_vbase::api::cuKernelGetLibrary(Out(&mut library), func) } == 0 {
            return Ok(func);
        }
    }
    Err(if MAJOR >= 13 { code::INVALID_HANDLE } else { code::INVALID_DEVICE_FUNCTION })
}

/// The variable with this host address: its address on the current device, and its size.
///
/// # Errors
/// cudaErrorInvalidSymbol for an address that is no variable's; those of loading.
pub fn variable(symbol: Ptr) -> Result<(Ptr, usize), Status> {
    super::context::ready()?;
    VARIABLES.get(symbol.0).ok_or(code::INVALID_SYMBOL)?.place()
}
