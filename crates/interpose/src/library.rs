//! Handlers of `cudaLibrary*` and of the runtime's calls that return driver functions.

use std::ffi::CStr;

use cushim_abi::types::*;

use crate::dump;
use crate::forward::observed;
use crate::given::{LibraryLoad, LibraryLoadFile, answered, text};
use crate::layouts::Code;
use crate::loader;
use crate::names;
use crate::origin::Origin;
use crate::redirect::{self, driver::Kind};
use crate::registry;
use crate::site::Site;

/// `cudaLibraryLoadData`, `cuLibraryLoadData`.
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
    // SAFETY: what the program passed.
    let code = unsafe { redirect::driver::image(site, code, Kind::Library) };
    let status = observed!(
        site,
        [out, code, options, values, count, library_options, library_values, library_count],
        real(out, code, options, values, count, library_options, library_values, library_count)
    );
    // SAFETY: the call's own place and answer.
    if let Some(library) = unsafe { answered(status, out) } {
        // SAFETY: CUDA took it.
        let code = unsafe { Code::from_pointer(code.0) };
        dump::code(&code, name(site));
        redirect::driver::fresh(library.0);
        add(site, library, code);
    }
    status
}

fn add(site: &'static Site, library: Module, code: Code) {
    if let Some(module) = registry::add_module(library.0, code, name(site), Origin::Library) {
        module.of_runtime(site.node);
    }
}

fn name(site: &'static Site) -> &'static str {
    site.name.to_str().unwrap_or("")
}

/// `cudaLibraryLoadFromFile`, `cuLibraryLoadFromFile`.
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
    // SAFETY: what the program passed.
    if let Some((image, load, code)) = unsafe { redirect::driver::file(site, file, Kind::Library) }
    {
        // SAFETY: the function that takes the same arguments, but for an image in memory.
        let load = unsafe { std::mem::transmute::<*mut (), LibraryLoad>(load) };
        let status = observed!(
            site,
            [out, file, options, values, count, library_options, library_values, library_count],
            load(
                out,
                image,
                options,
                values,
                count,
                library_options,
                library_values,
                library_count
            )
        );
        // SAFETY: the call's own place and answer.
        if let Some(library) = unsafe { answered(status, out) } {
            dump::code(&code, name(site));
            redirect::driver::fresh(library.0);
            add(site, library, code);
        }
        return status;
    }
    let status = observed!(
        site,
        [out, file, options, values, count, library_options, library_values, library_count],
        real(out, file, options, values, count, library_options, library_values, library_count)
    );
    // SAFETY: the call's own place and answer.
    if let Some(library) = unsafe { answered(status, out) } {
        redirect::driver::fresh(library.0);
        // SAFETY: CUDA took this path.
        let path = unsafe { text(file) }.unwrap_or_default();
        let path = path.to_string_lossy();
        dump::file(&path, name(site));
        add(site, library, Code::from_file(&path, redirect::plan().is_some()));
    }
    status
}

/// `cudaLibraryUnload`, `cuLibraryUnload`, `cuModuleUnload`.
pub unsafe fn library_unload(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Module) -> i32,
    library: Module,
) -> i32 {
    let module = registry::module(library.0);
    let status = observed!(site, [library], real(library));
    if status == 0 {
        registry::remove_module(library.0, module);
        redirect::driver::unload(library.0);
    }
    status
}

/// `cudaLibraryGetKernel`, `cuLibraryGetKernel`, `cuModuleGetFunction`. A load through the runtime
/// is seen by both faces; the handles are the same, and the first call makes the record.
pub unsafe fn library_get_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Func>, Module, Str) -> i32,
    out: Out<Func>,
    library: Module,
    kernel: Str,
) -> i32 {
    let status = observed!(site, [out, library, kernel], real(out, library, kernel));
    // SAFETY: the call's own place and answer.
    if let Some(func) = unsafe { answered(status, out) }
        // SAFETY: CUDA found a kernel of this name.
        && let Some(name) = unsafe { text(kernel) }
    {
        registry::add_function(func.0, name.to_bytes(), registry::module(library.0));
        let other = redirect::driver::kernel(site, library.0, name, func);
        if other != func {
            // SAFETY: the place that the call has just written.
            unsafe { out.0.write_unaligned(other) };
        }
    }
    status
}

type Enumerate = unsafe extern "C-unwind" fn(Ptr, u32, Module) -> i32;

/// `cudaLibraryEnumerateKernels`, `cuLibraryEnumerateKernels`.
pub unsafe fn library_enumerate_kernels(
    site: &'static Site,
    real: Enumerate,
    kernels: Ptr,
    count: u32,
    library: Module,
) -> i32 {
    let status = observed!(site, [kernels, count, library], real(kernels, count, library));
    // SAFETY: the call was given room for `count` handles.
    unsafe { enumerated(status, kernels, count, library, c"cuLibraryGetKernelCount") };
    status
}

/// `cuModuleEnumerateFunctions`.
pub unsafe fn module_enumerate_functions(
    site: &'static Site,
    real: Enumerate,
    functions: Ptr,
    count: u32,
    module: Module,
) -> i32 {
    let status = observed!(site, [functions, count, module], real(functions, count, module));
    // SAFETY: the call was given room for `count` handles.
    unsafe { enumerated(status, functions, count, module, c"cuModuleGetFunctionCount") };
    status
}

/// Handles that a successful call wrote to `list`: the driver tells their count and names.
///
/// # Safety
/// `list` has room for `count` handles.
unsafe fn enumerated(status: i32, list: Ptr, count: u32, owner: Module, how_many: &CStr) {
    if status != 0 || list.0 == 0 {
        return;
    }
    let there = names::count(how_many, owner).unwrap_or(0).min(count);
    for i in 0..there as usize {
        // SAFETY: the call wrote a handle for each kernel of the owner, up to `count`.
        let handle = unsafe { (list.0 as *const usize).add(i).read_unaligned() };
        if registry::find(handle).is_none()
            && let Some(name) = names::name(handle)
        {
            registry::add_function(handle, name.as_bytes(), registry::module(owner.0));
        }
    }
}

/// `cudaGetDriverEntryPoint` of 11.8.
pub unsafe fn get_driver_entry_point_11(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Str, Ptr, Flags64) -> i32,
    symbol: Str,
    out: Ptr,
    flags: Flags64,
) -> i32 {
    let result = observed!(site, [symbol, out, flags], real(symbol, out, flags));
    if result == 0 {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_driver_pointer(site.home, out.0) };
    }
    result
}

/// `cudaGetDriverEntryPoint` from 12 on.
pub unsafe fn get_driver_entry_point(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Str, Ptr, Flags64, Ptr) -> i32,
    symbol: Str,
    out: Ptr,
    flags: Flags64,
    status: Ptr,
) -> i32 {
    let result = observed!(site, [symbol, out, flags, status], real(symbol, out, flags, status));
    if result == 0 {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_driver_pointer(site.home, out.0) };
    }
    result
}

/// `cudaGetDriverEntryPointByVersion`.
pub unsafe fn get_driver_entry_point_by_version(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Str, Ptr, u32, Flags64, Ptr) -> i32,
    symbol: Str,
    out: Ptr,
    version: u32,
    flags: Flags64,
    status: Ptr,
) -> i32 {
    let result = observed!(
        site,
        [symbol, out, version, flags, status],
        real(symbol, out, version, flags, status)
    );
    if result == 0 {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_driver_pointer(site.home, out.0) };
    }
    result
}
