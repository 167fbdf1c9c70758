//! Modules: code in a context, its functions and variables by name.
//!
//! Owns the objects, loading, and `cuModule*`. A module belongs to the context in which it was loaded, and has its
//! own variables. Source: CUDA Driver API, "Module Management". Must not know: launches, libraries.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock, Weak};

use cushim_abi::types::{self as abi, *};

use super::context::{self, Context as Ctx};
use super::entry::entry;
use super::function::{FUNCTIONS, Function, Settings};
use super::handle::{Handles, handle};
use super::jit::Options;
use super::memory;
use super::state::{accelerator, check, give, offer, pointer};
use super::status;
use crate::argument::{Place, Text};
use cushim_accel::{Code, Failure, Image, ImageKind, Variable};
use cushim_vbase::code::{self, Source, Target, choose};

/// Modules by handle.
pub static MODULES: Handles<Loaded> = Handles::new();

/// Called for modules that are unloaded, to drop further state.
static TOLD: OnceLock<fn(&Loaded)> = OnceLock::new();

/// Has `told` called with every module that is unloaded from now on; only the first registration
/// counts.
pub fn tell_when_gone(told: fn(&Loaded)) {
    let _ = TOLD.set(told);
}

/// Code in a context.
pub struct Loaded {
    /// Its context.
    pub context: Weak<Ctx>,
    /// The number of that context, which outlives it.
    pub context_id: u64,
    /// The code.
    pub code: Arc<dyn Code>,
    kernels: HashMap<CString, usize>,
    /// The index of the first variable of each name.
    variables: HashMap<String, usize>,
    functions: Vec<OnceLock<Arc<Function>>>,
}

impl Loaded {
    /// Code as a module of a context, with a handle. `settings` returns those of each kernel by its
    /// name.
    pub fn create(
        context: &Arc<Ctx>,
        code: Arc<dyn Code>,
        settings: impl Fn(&CStr) -> Arc<Settings>,
    ) -> Arc<Loaded> {
        let module = Arc::new_cyclic(|weak: &Weak<Loaded>| {
            let (mut kernels, mut functions) = (HashMap::new(), Vec::new());
            for (index, kernel) in code.kernels().iter().enumerate() {
                let name = CString::new(kernel.name.as_str()).unwrap_or_default();
                let settings = settings(&name);
                let function =
                    Function::new(name.clone(), weak.clone(), context, &code, index, settings);
                functions.push(OnceLock::from(Arc::new(function)));
                kernels.insert(name, index);
            }
            let mut variables = HashMap::new();
            for (index, variable) in code.variables().iter().enumerate() {
                variables.entry(variable.name.clone()).or_insert(index);
            }
            let (context_id, context) = (context.id, Arc::downgrade(context));
            Loaded { context, context_id, code, kernels, variables, functions }
        });
        module.adopt(context, |_| true);
        MODULES.add(module.clone());
        module
    }

    /// The function of a kernel; it has a handle from now on.
    pub fn function(&self, name: &CStr) -> Option<Arc<Function>> {
        let index = *self.kernels.get(name)?;
        let function = self.functions.get(index)?.get()?;
        FUNCTIONS.add(function.clone());
        Some(function.clone())
    }

    /// All functions, in the order of the code.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.iter().filter_map(OnceLock::get)
    }

    /// A variable by its name.
    pub fn variable(&self, name: &CStr) -> Option<&Variable> {
        self.named(name).filter(|variable| !variable.reference)
    }

    /// A texture or surface reference by its name.
    pub fn reference(&self, name: &CStr) -> Option<&Variable> {
        self.named(name).filter(|variable| variable.reference)
    }

    fn named(&self, name: &CStr) -> Option<&Variable> {
        let index = *self.variables.get(name.to_str().ok()?)?;
        self.code.variables().get(index)
    }

    /// Makes variables known to copies and pointer queries; managed ones belong to several modules.
    fn adopt(&self, context: &Arc<Ctx>, which: impl Fn(&Variable) -> bool) {
        let visible = |variable: &&Variable| variable.bytes > 0 && !variable.reference;
        for variable in self.code.variables().iter().filter(visible) {
            let known = variable.managed && memory::find(variable.address).is_some();
            if which(variable) && !known {
                memory::adopt(context, variable.address, variable.bytes, variable.managed);
            }
        }
    }

    /// Invalidates its handle and those of its functions, after the work in its context has ended.
    pub fn forget(self: &Arc<Self>) {
        if MODULES.remove(handle(self)).is_none() {
            return;
        }
        if let Some(context) = self.context.upgrade() {
            context.streams.wait();
        }
        if let Some(told) = TOLD.get() {
            told(self);
        }
        for variable in self.code.variables().iter().filter(|variable| variable.bytes > 0) {
            memory::remove(variable.address);
        }
        if self.code.variables().iter().any(|variable| variable.managed) {
            // The library's modules in other contexts stay loaded.
            for other in MODULES.all() {
                if let Some(context) = other.context.upgrade() {
                    other.adopt(&context, |variable| variable.managed);
                }
            }
        }
        for function in self.functions() {
            FUNCTIONS.remove(handle(function));
        }
    }
}

/// A context has ended: ends its modules.
pub fn end(context: &Ctx) {
    for module in MODULES.all() {
        if module.context_id == context.id {
            module.forget();
        }
    }
}

/// Loads the code of an image for a device; `managed` as in [`Image`].
///
/// # Errors
/// CUDA_ERROR_NO_BINARY_FOR_GPU, _INVALID_IMAGE, _INVALID_PTX, with the reason in the log of `options`, else
/// on standard error.
pub fn load(
    source: &Source<'_>,
    device: usize,
    options: &Options,
    managed: Option<&Arc<dyn Code>>,
) -> Result<Arc<dyn Code>, i32> {
    let accelerator = accelerator();
    let fail = |why: &str, code: i32| {
        if !options.error(why) {
            code::say_once(&format!("{}: {why}", code::owner(source.address)));
        }
        Err(code)
    };
    let chosen = match choose(source, &Target::of(accelerator, device)) {
        Ok(chosen) => chosen,
        Err(error) => return fail(&error.to_string(), error.status()),
    };
    // sm_10 is the oldest target; the driver of an H200 still accepts PTX for it.
    if let cushim_image::Arch::Sm(number @ ..10, _) = chosen.arch {
        let why = format!("PTX for sm_{number}: expected sm_10 or later");
        return fail(&why, status::INVALID_PTX);
    }
    let parts: Vec<&[u8]> = chosen.parts.iter().map(|part| &**part).collect();
    let image = Image {
        kind: chosen.kind,
        parts: &parts,
        externals: &|_| None,
        managed,
        optimised: options.optimised(),
    };
    match accelerator.load(device, &image) {
        Ok(code) => Ok(code),
        Err(Failure::InvalidImage(why)) if chosen.kind == ImageKind::Ptx => {
            fail(&why, status::INVALID_PTX)
        }
        Err(failure) => fail(&failure.to_string(), status::of(&failure)),
    }
}

/// The module of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn of(module: abi::Module) -> Result<Arc<Loaded>, i32> {
    check()?;
    MODULES.get(module.0).ok_or(status::INVALID_HANDLE)
}

/// Loads an image into the current context.
unsafe fn load_data(to: Place<abi::Module>, image: Ptr, options: &Options) -> Result<(), i32> {
    let context = context::current()?;
    if to.is_null() || image.0 == 0 {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's; used during this call only.
    let source = unsafe { Source::at(image.0) };
    let source = source.map_err(|error| {
        options.error(&error.to_string());
        error.status()
    })?;
    create(to, &context, &source, options)
}

fn create(
    to: Place<abi::Module>,
    context: &Arc<Ctx>,
    source: &Source<'_>,
    options: &Options,
) -> Result<(), i32> {
    accelerator().flush_output();
    let code = load(source, context.device, options, None)?;
    let module = Loaded::create(context, code, |_| Arc::default());
    give(to, abi::Module(handle(&module)))
}

/// A file's bytes.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, _FILE_NOT_FOUND.
pub fn file(name: &Text) -> Result<Source<'static>, i32> {
    use std::os::unix::ffi::OsStrExt;
    let name = name.read()?;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    std::fs::read(path).map(Source::owned).map_err(|_| status::FILE_NOT_FOUND)
}

/// Returns address and size of a variable; one of the places may be null.
///
/// # Errors
/// CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_VALUE.
pub fn give_variable(
    address: Place<Ptr>,
    bytes: Place<usize>,
    found: Option<&Variable>,
) -> Result<(), i32> {
    if address.is_null() && bytes.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let found = found.ok_or(status::NOT_FOUND)?;
    offer(address, Ptr(found.address as usize));
    offer(bytes, found.bytes);
    Ok(())
}

/// Stores as many handles as fit.
///
/// # Safety
/// `to` has room for `room` of them, or that is 0.
pub unsafe fn give_all(to: Ptr, room: u32, handles: impl Iterator<Item = usize>) {
    for (n, handle) in handles.take(room as usize).enumerate() {
        // SAFETY: `n` is below `room`, and `to` has room for as many by the caller's promise.
        unsafe { pointer::<usize>(to).add(n).write_unaligned(handle) };
    }
}

/// Checks the current context, for a function that checks its module first: without a context, a
/// null module is CUDA_ERROR_INVALID_HANDLE (H200).
fn current_for(module: Module) -> Result<(), i32> {
    match context::current() {
        Err(status::INVALID_CONTEXT) if module.0 == 0 => Err(status::INVALID_HANDLE),
        other => other.map(drop),
    }
}

entry! {
    fn cuModuleLoad (module: Out<Module>, fname: Str) {
        let context = context::current()?;
        if module.is_null() {
            return Err(status::INVALID_VALUE);
        }
        create(module, &context, &file(&fname)?, &Options::none())
    }

    fn cuModuleLoadData (module: Out<Module>, image: Ptr) {
        // SAFETY: an image, which its own headers measure.
        unsafe { load_data(module, image, &Options::none()) }
    }

    fn cuModuleLoadFatBinary (module: Out<Module>, fatCubin: Ptr) {
        // SAFETY: an image, which its own headers measure.
        unsafe { load_data(module, fatCubin, &Options::none()) }
    }

    fn cuModuleLoadDataEx (module: Out<Module>, image: Ptr, numOptions: u32, options: Ptr, optionValues: Ptr) {
        // SAFETY: as many options as the call says.
        let options = unsafe { Options::read(numOptions, options, optionValues)? };
        // SAFETY: an image, which its own headers measure.
        unsafe { load_data(module, image, &options) }
    }

    fn cuModuleUnload (hmod: Module) {
        current_for(hmod)?;
        let module = of(hmod)?;
        accelerator().flush_output();
        module.forget();
        Ok(())
    }

    fn cuModuleGetFunction (hfunc: Out<Func>, hmod: Module, name: Str) {
        current_for(hmod)?;
        let module = of(hmod)?;
        let function = module.function(name.read()?);
        if hfunc.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(hfunc, Func(handle(&function.ok_or(status::NOT_FOUND)?)))
    }

    fn cuModuleGetFunctionCount (count: Out<u32>, mod_: Module) {
        let number = of(mod_)?.functions().count();
        give(count, number as u32)
    }

    fn cuModuleEnumerateFunctions (functions: Ptr, numFunctions: u32, mod_: Module) {
        let module = of(mod_)?;
        if functions.0 == 0 || numFunctions == 0 {
            return Err(status::INVALID_VALUE);
        }
        let handles = module.functions().map(|function| FUNCTIONS.add(function.clone()));
        // SAFETY: room for as many as the call says.
        unsafe { give_all(functions, numFunctions, handles) };
        Ok(())
    }

    fn cuModuleGetGlobal_v2 (dptr: Out<Ptr>, bytes: Out<usize>, hmod: Module, name: Str) {
        context::current()?;
        let module = of(hmod)?;
        give_variable(dptr, bytes, module.variable(name.read()?))
    }

    fn cuModuleGetLoadingMode (mode: Out<i32>) {
        check()?;
        // CU_MODULE_LAZY_LOADING: kernels are compiled when they are first run.
        give(mode, 2)
    }
}
