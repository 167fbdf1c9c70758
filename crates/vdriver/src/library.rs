//! Libraries: device code that belongs to no context and is loaded into each that uses it.
//!
//! Owns the objects and `cuLibrary*`. Nothing is chosen, unpacked or compiled before a kernel or variable is
//! requested. Source: CUDA Driver API, "Library Management". Must not know: launches.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types::{self as abi, *};

use super::context::{self, Context as Ctx};
use super::entry::entry;
use super::function::Settings;
use super::handle::{Handles, handle};
use super::jit::Options;
use super::kernel::{KERNELS, Kernel};
use super::module::{self, Loaded, file, give_all, give_variable};
use super::state::{accelerator, check, give, take};
use super::status;
use crate::argument::{Place, Text};
use cushim_accel::locks::lock;
use cushim_accel::{Code, Variable};
use cushim_vbase::code::Source;

/// Libraries by handle.
pub static LIBRARIES: Handles<Library> = Handles::new();

/// `CU_LIBRARY_BINARY_IS_PRESERVED`: the image stays where it is.
const PRESERVED: i32 = 1;

/// A library.
pub struct Library {
    own: Weak<Library>,
    source: Source<'static>,
    kernels: Mutex<HashMap<CString, Arc<Kernel>>>,
    /// By the number of the context. A failure to load is kept.
    modules: Mutex<HashMap<u64, Result<Arc<Loaded>, i32>>>,
    /// The code that was loaded first, if it has managed variables: all contexts share them, and
    /// their addresses stay valid as long as the library.
    managed: Mutex<Option<Arc<dyn Code>>>,
    /// Settings of kernels, by name and device.
    settings: Mutex<HashMap<(CString, usize), Arc<Settings>>>,
}

impl Library {
    /// A library of an image, with a handle.
    pub fn create(source: Source<'static>) -> Arc<Library> {
        let library = Arc::new_cyclic(|own| Library {
            own: own.clone(),
            source,
            kernels: Mutex::default(),
            modules: Mutex::default(),
            managed: Mutex::default(),
            settings: Mutex::default(),
        });
        LIBRARIES.add(library.clone());
        library
    }

    /// Its module in a context, loaded now if it was not yet.
    ///
    /// # Errors
    /// As [`module::load`].
    pub fn module(&self, context: &Arc<Ctx>) -> Result<Arc<Loaded>, i32> {
        let mut modules = lock(&self.modules);
        let load = || {
            let mut first = lock(&self.managed);
            let code =
                module::load(&self.source, context.device, &Options::none(), first.as_ref())?;
            if first.is_none() && code.variables().iter().any(|variable| variable.managed) {
                *first = Some(code.clone());
            }
            let settings = |name: &CStr| self.settings(name, context.device);
            Ok(Loaded::create(context, code, settings))
        };
        modules.entry(context.id).or_insert_with(load).clone()
    }

    /// Its module in the current context, else in the primary one of the first device: for questions that
    /// need no context.
    ///
    /// # Errors
    /// As [`Library::module`].
    pub fn any_module(&self) -> Result<Arc<Loaded>, i32> {
        match context::current() {
            Ok(context) => self.module(&context),
            Err(_) => self.module(&context::primary(0)?.context),
        }
    }

    /// The settings of a kernel on a device.
    pub fn settings(&self, name: &CStr, device: usize) -> Arc<Settings> {
        lock(&self.settings).entry((name.to_owned(), device)).or_default().clone()
    }

    /// A kernel by its name; it has a handle from now on.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_FOUND, and those of loading.
    pub fn kernel(&self, name: &CStr) -> Result<Arc<Kernel>, i32> {
        if let Some(kernel) = lock(&self.kernels).get(name) {
            return Ok(kernel.clone());
        }
        self.any_module()?.function(name).ok_or(status::NOT_FOUND)?;
        let mut kernels = lock(&self.kernels);
        let make = || Arc::new(Kernel::new(name, self.own.clone()));
        let kernel = kernels.entry(name.to_owned()).or_insert_with(make);
        KERNELS.add(kernel.clone());
        Ok(kernel.clone())
    }

    fn forget(&self) {
        for module in lock(&self.modules).drain().filter_map(|(_, module)| module.ok()) {
            module.forget();
        }
        for (_, kernel) in lock(&self.kernels).drain() {
            KERNELS.remove(handle(&kernel));
        }
    }
}

/// A context has ended: its modules are gone.
pub fn end(context: u64) {
    for library in LIBRARIES.all() {
        lock(&library.modules).remove(&context);
    }
}

/// The library of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn of(library: abi::Module) -> Result<Arc<Library>, i32> {
    check()?;
    LIBRARIES.get(library.0).ok_or(status::INVALID_HANDLE)
}

/// Whether the image stays, by the options of a load.
unsafe fn preserved(count: u32, ids: Ptr, values: Ptr) -> Result<bool, i32> {
    let mut found = false;
    for n in 0..count as usize {
        // SAFETY: the caller's arrays.
        let id = unsafe { take::<i32>(Ptr(ids.0.wrapping_add(n * 4))) }?;
        match id {
            // The table of universal functions and data: not used here.
            0 => {}
            PRESERVED => {
                let place = Ptr(values.0.wrapping_add(n * size_of::<usize>()));
                // SAFETY: the caller's array, which may be null with other options only.
                found = values.0 != 0 && unsafe { take::<usize>(place) }? != 0;
            }
            _ => return Err(status::INVALID_VALUE),
        }
    }
    Ok(found)
}

/// A variable in the current context.
fn variable(
    address: Place<Ptr>,
    bytes: Place<usize>,
    library: abi::Module,
    name: Text,
    wanted: impl Fn(&Variable) -> bool,
    contextless: bool,
) -> Result<(), i32> {
    let library = of(library)?;
    let name = name.read()?;
    let module = match contextless {
        true => library.any_module()?,
        false => library.module(&context::current()?)?,
    };
    let found = module.variable(name).filter(|variable| wanted(variable));
    give_variable(address, bytes, found)
}

entry! {
    fn cuLibraryLoadData (library: Out<Module>, code: Ptr, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) {
        check()?;
        if library.is_null() || code.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many options as the call says.
        let options = unsafe { Options::read(numJitOptions, jitOptions, jitOptionsValues)? };
        // SAFETY: as many options as the call says.
        let preserved = unsafe { preserved(numLibraryOptions, libraryOptions, libraryOptionValues)? };
        // SAFETY: an image, which its own headers measure and which stays where the options say so.
        let source = unsafe { Source::at(code.0) };
        let source = source.map_err(|error| {
            options.error(&error.to_string());
            error.status()
        })?;
        let source = if preserved { source } else { source.into_owned() };
        give(library, abi::Module(handle(&Library::create(source))))
    }

    fn cuLibraryLoadFromFile (library: Out<Module>, fileName: Str, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) {
        check()?;
        if library.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many options as the call says.
        unsafe {
            Options::read(numJitOptions, jitOptions, jitOptionsValues)?;
            preserved(numLibraryOptions, libraryOptions, libraryOptionValues)?;
        }
        let source = file(&fileName)?;
        give(library, abi::Module(handle(&Library::create(source))))
    }

    fn cuLibraryUnload (library: Module) {
        let found = of(library)?;
        LIBRARIES.remove(library.0);
        found.forget();
        Ok(())
    }

    fn cuLibraryGetKernel (pKernel: Out<Func>, library: Module, name: Str) {
        let library = of(library)?;
        if pKernel.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let kernel = library.kernel(name.read()?)?;
        give(pKernel, Func(handle(&kernel)))
    }

    fn cuLibraryGetKernelCount (count: Out<u32>, lib: Module) {
        let number = of(lib)?.any_module()?.functions().count();
        give(count, number as u32)
    }

    fn cuLibraryEnumerateKernels (kernels: Ptr, numKernels: u32, lib: Module) {
        let library = of(lib)?;
        if kernels.0 == 0 || numKernels == 0 {
            return Err(status::INVALID_VALUE);
        }
        let module = library.any_module()?;
        let all = module.functions().filter_map(|function| library.kernel(&function.name).ok());
        // SAFETY: room for as many as the call says.
        unsafe { give_all(kernels, numKernels, all.map(|kernel| handle(&kernel))) };
        Ok(())
    }

    fn cuLibraryGetModule (pMod: Out<Module>, library: Module) {
        let context = context::current()?;
        let library = of(library)?;
        if pMod.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(pMod, abi::Module(handle(&library.module(&context)?)))
    }

    fn cuLibraryGetGlobal (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) {
        variable(dptr, bytes, library, name, |_| true, false)
    }

    fn cuLibraryGetManaged (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) {
        variable(dptr, bytes, library, name, |variable| variable.managed, true)
    }

    fn cuLibraryGetUnifiedFunction (fptr: Out<Ptr>, library: Module, symbol: Str) {
        // Functions for both host and device: only for processors that share an instruction set.
        of(library)?;
        symbol.read()?;
        let _ = (fptr, accelerator());
        Err(status::NOT_FOUND)
    }
}
