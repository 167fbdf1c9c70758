//! Kernels of libraries: a name that has a function in each context.
//!
//! Owns the objects and `cuKernel*`. Source: CUDA Driver API, "Library Management". Must not know: launches.

use std::ffi::{CStr, CString};
use std::sync::{Arc, RwLock, Weak};

use cushim_abi::types::{self as abi, *};

use super::context;
use super::device::device;
use super::entry::entry;
use super::function::{self, Function, give_param};
use super::handle::{Handles, handle};
use super::library::Library;
use super::state::{check, give};
use super::status;
use cushim_accel::locks::{read, write};

/// Kernels by handle.
pub static KERNELS: Handles<Kernel> = Handles::new();

/// A kernel of a library.
pub struct Kernel {
    /// Its name, to which the program may keep pointers.
    pub name: CString,
    library: Weak<Library>,
    /// Its functions, by the number of the context; launches use this.
    functions: RwLock<Vec<(u64, Weak<Function>)>>,
}

impl Kernel {
    /// The kernel of this name.
    pub fn new(name: &CStr, library: Weak<Library>) -> Kernel {
        Kernel { name: name.to_owned(), library, functions: RwLock::default() }
    }

    fn library(&self) -> Result<Arc<Library>, i32> {
        self.library.upgrade().ok_or(status::INVALID_HANDLE)
    }

    /// Its function in the current context.
    ///
    /// # Errors
    /// Those of [`context::current`] and of loading the library there.
    pub fn function(&self) -> Result<Arc<Function>, i32> {
        self.in_context(&context::current()?)
    }

    /// Its function in a context.
    ///
    /// # Errors
    /// Those of loading the library there.
    pub fn in_context(&self, context: &Arc<context::Context>) -> Result<Arc<Function>, i32> {
        let of_context = |list: &Vec<(u64, Weak<Function>)>| {
            list.iter().find(|(id, _)| *id == context.id).and_then(|(_, f)| f.upgrade())
        };
        let known = of_context(&read(&self.functions));
        match known {
            // A context that was reset and retained again has other modules.
            Some(function) if function.module.strong_count() > 0 => Ok(function),
            _ => self.function_in(context),
        }
    }

    fn function_in(&self, context: &Arc<context::Context>) -> Result<Arc<Function>, i32> {
        let module = self.library()?.module(context)?;
        let function = module.function(&self.name).ok_or(status::NOT_FOUND)?;
        let mut known = write(&self.functions);
        known.retain(|(id, f)| *id != context.id && f.strong_count() > 0);
        known.push((context.id, Arc::downgrade(&function)));
        Ok(function)
    }

    /// Its function on a device: in the current context if that is there, else in the primary one.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_DEVICE, and those of loading.
    fn on(&self, number: Device) -> Result<Arc<Function>, i32> {
        device(number)?;
        match context::current() {
            Ok(context) if context.device == number.0 as usize => self.function_in(&context),
            _ => self.function_in(&context::primary(number.0)?.context),
        }
    }

    /// Its function in any context, for properties that are the same in all.
    fn anywhere(&self) -> Result<Arc<Function>, i32> {
        self.library()?.any_module()?.function(&self.name).ok_or(status::NOT_FOUND)
    }
}

/// The handle of the kernel that a function is of; 0 for a function of a module.
pub fn of_function(function: usize) -> usize {
    let has = |kernel: &&Arc<Kernel>| {
        read(&kernel.functions).iter().any(|(_, own)| own.as_ptr().addr() == function)
    };
    KERNELS.all().iter().find(has).map_or(0, handle)
}

/// The kernel of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn of(kernel: Func) -> Result<Arc<Kernel>, i32> {
    check()?;
    KERNELS.get(kernel.0).ok_or(status::INVALID_HANDLE)
}

entry! {
    fn cuKernelGetFunction (pFunc: Out<Func>, kernel: Func) {
        let function = of(kernel)?.function()?;
        give(pFunc, Func(handle(&function)))
    }

    fn cuKernelGetLibrary (pLib: Out<Module>, kernel: Func) {
        let library = of(kernel)?.library()?;
        give(pLib, abi::Module(handle(&library)))
    }

    fn cuKernelGetName (name: Out<Str>, hfunc: Func) {
        let kernel = of(hfunc)?;
        // It stays as long as the library is loaded.
        give(name, Str(kernel.name.as_ptr().expose_provenance()))
    }

    fn cuKernelGetAttribute (pi: Out<i32>, attrib: i32, kernel: Func, dev: Device) {
        let function = of(kernel)?.on(dev)?;
        let value =
            function::attribute(&function.kernel, &function.settings, function.device, attrib);
        give(pi, value.ok_or(status::INVALID_VALUE)?)
    }

    fn cuKernelSetAttribute (attrib: i32, val: i32, kernel: Func, dev: Device) {
        let function = of(kernel)?.on(dev)?;
        function::set_attribute(&function.kernel, &function.settings, function.device, attrib, val)
    }

    fn cuKernelSetCacheConfig (kernel: Func, config: i32, dev: Device) {
        of(kernel)?;
        device(dev)?;
        match config {
            0..=3 => Ok(()),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuKernelGetParamCount (kernel: Func, paramCount: Out<usize>) {
        let function = of(kernel)?.anywhere()?;
        give(paramCount, function.kernel.params.len())
    }

    fn cuKernelGetParamInfo (kernel: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) {
        // It fails without a current context: cuda.core's tests expect so on NVIDIA's driver.
        let function = of(kernel)?.function()?;
        give_param(&function.kernel, paramIndex, paramOffset, paramSize)
    }
}
