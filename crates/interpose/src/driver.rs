//! Handlers of the driver face: calls of libcuda that are more than recorded.
//!
//! In a program with a static runtime, or one that uses the driver API, this face sees each registration, name and
//! launch; under a shared runtime it sees the same calls as children.
//!
//! Must not know: exports, the runtime's functions.

use cushim_abi::types::*;

use crate::dump;
use crate::forward::observed;
use crate::given::{answered, text};
use crate::layouts::Code;
use crate::loader;
use crate::origin::Origin;
use crate::redirect::{self, driver::Kind};
use crate::registry;
use crate::site::Site;

pub use crate::contexts::*;
pub use crate::graph::driver::*;
pub use crate::launch::driver::{launch_cooperative_kernel, launch_kernel, launch_kernel_ex};
pub use crate::launch::list::launch_cooperative_multi_device;
pub use crate::launch::old::*;
pub use crate::library::{
    library_enumerate_kernels, library_get_kernel as module_get_function, library_load_data,
    library_load_file, library_unload as module_unload, module_enumerate_functions,
};

// ---- ways to a function

/// `cuGetProcAddress`, first form.
pub unsafe fn get_proc_address(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Str, Ptr, i32, Flags64) -> i32,
    symbol: Str,
    out: Ptr,
    version: i32,
    flags: Flags64,
) -> i32 {
    // SAFETY: forwarded as it came.
    let status = unsafe { real(symbol, out, version, flags) };
    if status == 0 {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_driver_pointer(site.home, out.0) };
    }
    status
}

/// `cuGetProcAddress_v2`.
pub unsafe fn get_proc_address_v2(
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
    if status == 0 {
        // SAFETY: the call succeeded.
        unsafe { loader::wrap_driver_pointer(site.home, out.0) };
    }
    status
}

pub use crate::profiler::{profiler_start, profiler_stop};

// ---- modules

type LoadData = unsafe extern "C-unwind" fn(Out<Module>, Ptr) -> i32;
type ModuleLoad = unsafe extern "C-unwind" fn(Out<Module>, Str) -> i32;

/// `cuModuleLoad`.
pub unsafe fn module_load(
    site: &'static Site,
    real: ModuleLoad,
    out: Out<Module>,
    file: Str,
) -> i32 {
    // SAFETY: what the program passed.
    if let Some((image, load, code)) = unsafe { redirect::driver::file(site, file, Kind::Module) } {
        // SAFETY: cuModuleLoadData, which has this signature.
        let load = unsafe { std::mem::transmute::<*mut (), LoadData>(load) };
        let status = observed!(site, [out, file], load(out, image));
        // SAFETY: the call's own place and answer.
        if let Some(module) = unsafe { answered(status, out) } {
            dump::code(&code, "cuModuleLoad");
            redirect::driver::fresh(module.0);
            registry::add_module(module.0, code, "cuModuleLoad", Origin::Module);
        }
        return status;
    }
    let status = observed!(site, [out, file], real(out, file));
    // SAFETY: the call's own place and answer.
    if let Some(module) = unsafe { answered(status, out) } {
        redirect::driver::fresh(module.0);
        // SAFETY: CUDA took this path.
        let path = unsafe { text(file) }.unwrap_or_default().to_string_lossy();
        dump::file(&path, "cuModuleLoad");
        registry::add_module(
            module.0,
            Code::from_file(&path, redirect::plan().is_some()),
            "cuModuleLoad",
            Origin::Module,
        );
    }
    status
}

/// A module that was loaded from memory.
unsafe fn loaded(status: i32, out: Out<Module>, image: Ptr, api: &'static str) -> i32 {
    // SAFETY: the call's own place and answer.
    if let Some(module) = unsafe { answered(status, out) } {
        // SAFETY: CUDA took it.
        let code = unsafe { Code::from_pointer(image.0) };
        dump::code(&code, api);
        redirect::driver::fresh(module.0);
        registry::add_module(module.0, code, api, Origin::Module);
    }
    status
}

/// `cuModuleLoadData`, `cuModuleLoadFatBinary`.
pub unsafe fn module_load_data(
    site: &'static Site,
    real: LoadData,
    out: Out<Module>,
    image: Ptr,
) -> i32 {
    // SAFETY: what the program passed.
    let image = unsafe { redirect::driver::image(site, image, Kind::Module) };
    let status = observed!(site, [out, image], real(out, image));
    // SAFETY: its own out value and image.
    unsafe { loaded(status, out, image, "cuModuleLoadData") }
}

/// `cuModuleLoadDataEx`.
pub unsafe fn module_load_data_ex(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Module>, Ptr, u32, Ptr, Ptr) -> i32,
    out: Out<Module>,
    image: Ptr,
    count: u32,
    options: Ptr,
    values: Ptr,
) -> i32 {
    // SAFETY: what the program passed.
    let image = unsafe { redirect::driver::image(site, image, Kind::Module) };
    let status = observed!(
        site,
        [out, image, count, options, values],
        real(out, image, count, options, values)
    );
    // SAFETY: its own out value and image.
    unsafe { loaded(status, out, image, "cuModuleLoadDataEx") }
}

/// `cuLinkAddData_v2`: code that becomes part of a link.
pub unsafe fn link_add_data(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, i32, Ptr, usize, Str, u32, Ptr, Ptr) -> i32,
    state: Ptr,
    kind: i32,
    data: Ptr,
    size: usize,
    name: Str,
    count: u32,
    options: Ptr,
    values: Ptr,
) -> i32 {
    let status = observed!(
        site,
        [state, kind, data, size, name, count, options, values],
        real(state, kind, data, size, name, count, options, values)
    );
    if status == 0 {
        // SAFETY: CUDA read this many bytes from there.
        unsafe { dump::memory(data.0, size, "cuLinkAddData") };
    }
    status
}

/// `cuLinkComplete`: the machine code that came out.
pub unsafe fn link_complete(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Out<Ptr>, Out<usize>) -> i32,
    state: Ptr,
    out: Out<Ptr>,
    size: Out<usize>,
) -> i32 {
    let status = observed!(site, [state, out, size], real(state, out, size));
    // SAFETY: the call's own places and answer.
    let made = unsafe { (answered(status, out), answered(status, size)) };
    if let (Some(cubin), Some(size)) = made {
        // SAFETY: CUDA says that this many bytes are there until the link state is destroyed.
        unsafe { dump::memory(cubin.0, size, "cuLinkComplete") };
    }
    status
}

/// `cuLibraryGetModule`: the module holds the library's kernels.
pub unsafe fn library_get_module(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Module>, Module) -> i32,
    out: Out<Module>,
    library: Module,
) -> i32 {
    let status = observed!(site, [out, library], real(out, library));
    // SAFETY: the call's own place and answer.
    if let Some(module) = unsafe { answered(status, out) }
        && let Some(known) = registry::module(library.0)
    {
        registry::alias_module(module.0, known);
    }
    status
}

/// `cuKernelGetFunction`.
pub unsafe fn kernel_get_function(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Func>, Func) -> i32,
    out: Out<Func>,
    kernel: Func,
) -> i32 {
    let status = observed!(site, [out, kernel], real(out, kernel));
    // SAFETY: the call's own place and answer.
    if let Some(func) = unsafe { answered(status, out) }
        && let Some(known) = registry::find(kernel.0)
    {
        registry::alias_function(func.0, known);
        redirect::launch::alias(func.0, kernel.0, true, |other| {
            let mut func = Func(0);
            // SAFETY: the same function, for a kernel that the driver gave out.
            let known = unsafe { real(Out(&mut func), Func(other)) } == 0;
            if let Some(kernel) = registry::find(other).filter(|_| known) {
                registry::alias_function(func.0, kernel);
            }
            known.then_some(func.0)
        });
    }
    status
}
