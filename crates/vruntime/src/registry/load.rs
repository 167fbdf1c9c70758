//! Loads images into the driver, at the first use of anything in them.
//!
//! Owns the map from a registered image to the driver's library, from a kernel to its handle, and the addresses of
//! variables. An image is loaded once, as a library of the driver, which the driver loads into each context that uses
//! it. Must not know: how an image is chosen ([`super::image`]).

use std::ffi::CStr;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::table::{BINARIES, Binary, KERNELS, Kernel, Kind, MEMORY, VARIABLES, Variable, remove};
use super::{image, known};
use crate::context;
use crate::error::{self, code};
use cushim_accel::locks::lock;
use cushim_vbase::api;
use cushim_vbase::backend::{self, Backend};

const NULL: Ptr = Ptr(0);

impl Binary {
    /// The driver's library of this image. At the first call also the addresses of managed variables are
    /// stored where the program reads them.
    ///
    /// # Errors
    /// What the driver said: cudaErrorNoKernelImageForDevice, cudaErrorInvalidPtx, …
    #[cold]
    pub fn load(&'static self) -> Result<Module, Status> {
        context::ready()?;
        if self.is_by_module() {
            return self.module();
        }
        let _one = lock(&self.loading);
        let known = self.library.load(Ordering::Acquire);
        if known != 0 {
            return Ok(Module(known));
        }
        let mut library = Module(0);
        let to = Out(&raw mut library);
        let ours = image::ours(self.wrapper);
        let image =
            ours.as_deref().map_or(self.wrapper, |image| image.as_ptr().expose_provenance());
        context::attempt(|| {
            // SAFETY: a wrapper that the program registered, or an image from it; without options
            // the driver copies it.
            unsafe { api::cuLibraryLoadData(to, Ptr(image), NULL, NULL, 0, NULL, NULL, 0) }
        })?;
        for variable in self.variables().filter(|variable| variable.kind == Kind::Managed) {
            variable.tell(library)?;
        }
        self.library.store(library.0, Ordering::Release);
        Ok(library)
    }

    /// Forgets the image, and unloads it: its library is being closed, or the process ends.
    pub fn unload(&'static self) {
        remove(self);
        self.unload_modules();
        let _one = lock(&self.loading);
        let library = self.library.swap(0, Ordering::AcqRel);
        if library != 0 {
            // SAFETY: a library of ours. At exit the driver may have ended already and then returns
            // an error.
            unsafe { api::cuLibraryUnload(Module(library)) };
        }
    }
}

impl Kernel {
    /// The driver's handle; for an image loaded as modules, the function of the current context,
    /// each time.
    ///
    /// # Errors
    /// As [`Binary::load`]; cudaErrorInvalidDeviceFunction if the image has no such kernel.
    #[cold]
    pub(super) fn load(&'static self) -> Result<Func, Status> {
        let binary = self.binary.ok_or(code::INVALID_DEVICE_FUNCTION)?;
        context::ready()?;
        if binary.is_by_module() {
            return self.function(binary);
        }
        let own = binary.load().and_then(|library| kernel_in(library, Str(self.name)));
        let handle = match own {
            Err(code::NO_KERNEL_IMAGE) => self.load_known().ok_or(code::NO_KERNEL_IMAGE)?,
            own => own?,
        };
        let mut memory = lock(&MEMORY);
        self.handle.store(handle.0, Ordering::Release);
        if BINARIES.get(std::ptr::from_ref(binary).addr()).is_some() {
            // Programs may launch by the handle.
            KERNELS.set(&mut memory.tables, handle.0, Some(self));
        }
        Ok(handle)
    }
}

impl Kernel {
    /// This kernel from cushim's own PTX, if no image of the program's can run here. Not on NVIDIA's driver, whose
    /// error is passed on.
    #[cold]
    fn load_known(&'static self) -> Option<Func> {
        if self.name == 0 || backend::chosen() == Some(Backend::Driver) {
            return None;
        }
        // SAFETY: a string of the registered image.
        let name = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(self.name)) };
        let text = known::text(name.to_str().ok()?)?;
        let mut library = Module(0);
        let (to, at) = (Out(&raw mut library), Ptr(text.as_ptr().expose_provenance()));
        context::attempt(|| {
            // SAFETY: a text with its NUL, which the driver copies.
            unsafe { api::cuLibraryLoadData(to, at, NULL, NULL, 0, NULL, NULL, 0) }
        })
        .ok()?;
        kernel_in(library, Str(known::ENTRY.as_ptr().expose_provenance())).ok()
    }
}

/// The kernel of a library.
fn kernel_in(library: Module, name: Str) -> Result<Func, Status> {
    let mut handle = Func(0);
    let to = Out(&raw mut handle);
    context::attempt(|| {
        // SAFETY: a library of ours, a string of the registered image or of ours.
        unsafe { api::cuLibraryGetKernel(to, library, name) }
    })
    .map_err(|error| match error {
        code::SYMBOL_NOT_FOUND => code::INVALID_DEVICE_FUNCTION,
        other => other,
    })?;
    Ok(handle)
}

impl Variable {
    /// Address of the variable on the current device, and its size in bytes.
    ///
    /// # Errors
    /// As [`Binary::load`]; cudaErrorInvalidSymbol if the image has no such variable, also for
    /// texture references, which have no memory.
    pub(super) fn place(&'static self) -> Result<(Ptr, usize), Status> {
        if self.kind == Kind::Reference {
            return Err(code::INVALID_SYMBOL);
        }
        let library = self.binary.load()?;
        let managed = self.managed.load(Ordering::Acquire);
        if managed != 0 {
            return Ok((Ptr(managed), self.size));
        }
        if self.binary.is_by_module() {
            return self.in_module(library);
        }
        let (mut at, mut bytes) = (NULL, 0);
        let to = (Out(&raw mut at), Out(&raw mut bytes));
        context::attempt(|| {
            // SAFETY: places for the results, a library of ours, a string of the registered image.
            unsafe { api::cuLibraryGetGlobal(to.0, to.1, library, Str(self.name)) }
        })
        .map_err(invalid_symbol)?;
        Ok((at, bytes))
    }

    /// Stores a managed variable's address where the program reads it.
    fn tell(&'static self, library: Module) -> Result<(), Status> {
        let (mut at, mut bytes) = (NULL, 0);
        let to = (Out(&raw mut at), Out(&raw mut bytes));
        // SAFETY: places for the results, a library of ours, a string of the registered image.
        let result = unsafe { api::cuLibraryGetManaged(to.0, to.1, library, Str(self.name)) };
        if result != 0 {
            return Err(invalid_symbol(error::from_driver(result)));
        }
        self.told(at);
        Ok(())
    }

    /// Stores the address of a managed variable.
    pub(super) fn told(&'static self, at: Ptr) {
        self.managed.store(at.0, Ordering::Release);
        // From now on the program names the variable by this address: `&variable` gives it.
        let mut memory = lock(&MEMORY);
        VARIABLES.set(&mut memory.tables, at.0, Some(self));
        let shadow = std::ptr::with_exposed_provenance_mut::<usize>(self.host);
        // SAFETY: the program registered this place for the pointer.
        unsafe { shadow.write(at.0) };
    }
}

pub(super) fn invalid_symbol(error: Status) -> Status {
    if error == code::SYMBOL_NOT_FOUND { code::INVALID_SYMBOL } else { error }
}
