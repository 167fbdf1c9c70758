//! HIP's modules and libraries, and calls that return a function.
//!
//! Must not know: how a launch is recorded.

use cushim_abi::types::*;

use crate::dump;
use crate::forward::observed;
use crate::given::{LibraryLoad, LibraryLoadFile, answered, text};
use crate::layouts::Code;
use crate::loader;
use crate::origin::Origin;
use crate::registry;
use crate::site::Site;

/// The function's name.
fn name(site: &'static Site) -> &'static str {
    site.name.to_str().unwrap_or("")
}

/// `hipModuleLoad`.
pub unsafe fn module_load(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Module>, Str) -> i32,
    out: Out<Module>,
    file: Str,
) -> i32 {
    let status = observed!(site, [out, file], real(out, file));
    // SAFETY: its own out value and file.
    unsafe { loaded_file(site, status, out, file) }
}

/// Registers a module or library that was loaded from a file, if the call succeeded.
///
/// # Safety
/// `out` and `file` are those of the call that returned `status`.
unsafe fn loaded_file(site: &'static Site, status: i32, out: Out<Module>, file: Str) -> i32 {
    // SAFETY: as the caller promises.
    if let Some(module) = unsafe { answered(status, out) } {
        // SAFETY: HIP took this path.
        let path = unsafe { text(file) }.unwrap_or_default().to_string_lossy();
        dump::file(&path, name(site));
        let code = Code::from_file(&path, false);
        registry::add_module(module.0, code, name(site), Origin::Other);
    }
    status
}

/// Registers a module or library that was loaded from memory, if the call succeeded.
///
/// # Safety
/// `out` and `image` are those of the call that returned `status`.
unsafe fn loaded(site: &'static Site, status: i32, out: Out<Module>, image: Ptr) -> i32 {
    // SAFETY: as the caller promises.
    if let Some(module) = unsafe { answered(status, out) } {
        // SAFETY: HIP took it.
        let code = unsafe { Code::from_pointer(image.0) };
        dump::code(&code, name(site));
        registry::add_module(module.0, code, name(site), Origin::Other);
    }
    status
}

/// `hipModuleLoadData`, `hipModuleLoadFatBinary`.
pub unsafe fn module_load_data(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Module>, Ptr) -> i32,
    out: Out<Module>,
    image: Ptr,
) -> i32 {
    let status = observed!(site, [out, image], real(out, image));
    // SAFETY: its own out value and image.
    unsafe { loaded(site, status, out, image) }
}

/// `hipModuleLoadDataEx`.
pub unsafe fn module_load_data_ex(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Module>, Ptr, u32, Ptr, Ptr) -> i32,
    out: Out<Module>,
    image: Ptr,
    count: u32,
    options: Ptr,
    values: Ptr,
) -> i32 {
    let status = observed!(
        site,
        [out, image, count, options, values],
        real(out, image, count, options, values)
    );
    // SAFETY: its own out value and image.
    unsafe { loaded(site, status, out, image) }
}

/// `hipLibraryLoadData`. The handles of its kernels launch as functions do.
pub unsafe fn library_load_data(
    site: &'static Site,
    real: LibraryLoad,
    out: Out<Module>,
    code: Ptr,
    options: Ptr,
    values: Ptr,
    count: u32,
    library_options: Ptr,
    library_values: Ptr,
    library_count: u32,
) -> i32 {
    let status = observed!(
        site,
        [out, code, options, values, count, library_options, library_values, library_count],
        real(out, code, options, values, count, library_options, library_values, library_count)
    );
    // SAFETY: its own out value and image.
    unsafe { loaded(site, status, out, code) }
}

/// `hipLibraryLoadFromFile`.
pub unsafe fn library_load_file(
    site: &'static Site,
    real: LibraryLoadFile,
    out: Out<Module>,
    file: Str,
    options: Ptr,
    values: Ptr,
    count: u32,
    library_options: Ptr,
    library_values: Ptr,
    library_count: u32,
) -> i32 {
    let status = observed!(
        site,
        [out, file, options, values, count, library_options, library_values, library_count],
        real(out, file, options, values, count, library_options, library_values, library_count)
    );
    // SAFETY: its own out value and file.
    unsafe { loaded_file(site, status, out, file) }
}

/// `hipModuleUnload`, `hipLibraryUnload`.
pub unsafe fn module_unload(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Module) -> i32,
    module: Module,
) -> i32 {
    let known = registry::module(module.0);
    let status = observed!(site, [module], real(module));
    if status == 0 {
        registry::remove_module(module.0, known);
    }
    status
}

/// `hipModuleGetFunction`, `hipLibraryGetKernel`.
pub unsafe fn module_get_function(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Func>, Module, Str) -> i32,
    out: Out<Func>,
    module: Module,
    name: Str,
) -> i32 {
    let status = observed!(site, [out, module, name], real(out, module, name));
    // SAFETY: the call's own place and answer, and the name that HIP took.
    if let (Some(func), Some(name)) = unsafe { (answered(status, out), text(name)) } {
        registry::add_function(func.0, name.to_bytes(), registry::module(module.0));
    }
    status
}

/// `hipGetFuncBySymbol`: from a host stub to a function that launches the same kernel.
pub unsafe fn get_func_by_symbol(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Func>, Func) -> i32,
    out: Out<Func>,
    symbol: Func,
) -> i32 {
    let status = observed!(site, [out, symbol], real(out, symbol));
    // SAFETY: the call's own place and answer.
    if let Some(func) = unsafe { answered(status, out) }
        && let Some(kernel) = registry::find(symbol.0)
    {
        registry::alias_function(func.0, kernel);
    }
    status
}

/// `hipGetProcAddress`.
pub unsafe fn get_proc_address(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Str, Ptr, i32, Flags64, Ptr) -> i32,
    symbol: Str,
    out: Ptr,
    version: i32,
    flags: Flags64,
    symbol_status: Ptr,
) -> i32 {
    // SAFETY: forwarded as it came.
    let status = unsafe { real(symbol, out, version, flags, symbol_status) };
    // SAFETY: the name that HIP took.
    if let (0, Some(name)) = (status, unsafe { text(symbol) }) {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_hip_pointer(site.home, name, out.0) };
    }
    status
}
