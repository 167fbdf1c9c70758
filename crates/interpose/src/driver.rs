//! Handlers of the driver face: calls of libcuda that are more than recorded.
//!
//! For a program with a static runtime, and for everything that uses the driver directly, this face is
//! the registration, the name and the launch; under a shared runtime it sees the same calls as children.
//!
//! Must not know: exports, the runtime's functions.

use std::ffi::CStr;

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::{LAUNCH_ARGS_BUFFER, LAUNCH_COOPERATIVE};

use crate::dump;
use crate::graph::arguments;
use crate::layouts::Code;
use crate::library::observed;
use crate::loader;
use crate::record::{Arguments, Launch, Observed};
use crate::redirect::{self, driver::Kind};
use crate::registry::{self, Kernel};
use crate::runtime::{answered, attributes, launched, launched_list, stack, text};
use crate::site::Site;
use cushim_process::elf::{self, Version};

pub use crate::contexts::*;
pub use crate::graph::driver::*;
pub use crate::library::{
    library_enumerate_kernels, library_get_kernel as module_get_function, library_load_data,
    library_load_file, library_unload as module_unload, module_enumerate_functions,
};
pub use crate::old::*;

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

pub use crate::window::{profiler_start, profiler_stop};

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
        if let Some(module) = answered(status, out) {
            dump::code(&code, "cuModuleLoad");
            redirect::driver::fresh(module.0);
            registry::add_module(module.0, code, "cuModuleLoad");
        }
        return status;
    }
    let status = observed!(site, [out, file], real(out, file));
    if let Some(module) = answered(status, out) {
        redirect::driver::fresh(module.0);
        // SAFETY: CUDA took this path.
        let path = unsafe { text(file) }.unwrap_or_default().to_string_lossy();
        dump::file(&path, "cuModuleLoad");
        registry::add_module(module.0, Code::from_file(&path), "cuModuleLoad");
    }
    status
}

/// A module that was loaded from memory.
unsafe fn loaded(status: i32, out: Out<Module>, image: Ptr, api: &'static str) -> i32 {
    if let Some(module) = answered(status, out) {
        // SAFETY: CUDA took it.
        let code = unsafe { Code::from_pointer(image.0) };
        dump::code(&code, api);
        redirect::driver::fresh(module.0);
        registry::add_module(module.0, code, api);
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
        // SAFETY: CUDA took so many bytes from there.
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
    if let (Some(cubin), Some(size)) = (answered(status, out), answered(status, size)) {
        // SAFETY: CUDA says that so many bytes are there, until the link state goes.
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
    if let Some(module) = answered(status, out)
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
    if let Some(func) = answered(status, out)
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

// ---- names

/// A string that a function of the driver tells about a handle (`cuFuncGetName`, `cuKernelGetName`:
/// CUDA 12.3).
fn driver_name(function: &CStr, handle: usize) -> Option<String> {
    let get = elf::next(function, Version::Any, |_| true)?;
    let mut name: *const libc::c_char = std::ptr::null();
    // SAFETY: the signature of both; the handle is one that the driver gave out or is being given.
    let status = unsafe {
        let get: unsafe extern "C-unwind" fn(*mut *const libc::c_char, usize) -> i32 =
            std::mem::transmute::<usize, _>(get);
        get(&mut name, handle)
    };
    if status != 0 || name.is_null() {
        return None;
    }
    // SAFETY: the driver's own string.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The symbol of a `CUfunction` or `CUkernel`.
pub fn name(handle: usize) -> Option<String> {
    driver_name(c"cuFuncGetName", handle).or_else(|| driver_name(c"cuKernelGetName", handle))
}

/// How many kernels a library or module has (`cuLibraryGetKernelCount`, `cuModuleGetFunctionCount`:
/// CUDA 12.4).
pub fn count(how_many: &CStr, owner: Module) -> Option<u32> {
    let get = elf::next(how_many, Version::Any, |_| true)?;
    let mut count = 0;
    // SAFETY: the signature of both; the owner is one that CUDA just answered for.
    let status = unsafe {
        let get: unsafe extern "C-unwind" fn(*mut u32, Module) -> i32 =
            std::mem::transmute::<usize, _>(get);
        get(&mut count, owner)
    };
    (status == 0).then_some(count)
}

/// The kernel that a handle launches, which the driver is asked about where it was not seen coming.
#[inline(always)]
pub fn kernel_of(func: usize) -> &'static Kernel {
    match registry::find(func) {
        Some(kernel) => kernel,
        None => ask(func),
    }
}

#[cold]
fn ask(func: usize) -> &'static Kernel {
    // A handle that did not come through us is the driver's own affair, and if it is garbage the driver
    // answers with an error (measured on 580.159) or faults as the launch itself would.
    registry::unknown(func, name(func))
}

// ---- launch

/// `cuLaunchKernel` and its `_ptsz` form.
#[inline(always)]
pub unsafe fn launch_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Func,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        Stream,
        Ptr,
        Ptr,
    ) -> i32,
    f: Func,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> i32 {
    if redirect::launch::enabled() {
        let asked = redirected(f, [gx, gy, gz], [bx, by, bz], shared, stream, params, extra);
        return redirect::launch::around(site, asked, stack!(), &mut |l| {
            let (g, b, shared) = (l.grid, l.block, l.shared as u32);
            launched!(
                site,
                asked_for(&l, stream),
                real(l.func, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, l.params, l.extra)
            )
        });
    }
    launched!(
        site,
        launch(f, [gx, gy, gz], [bx, by, bz], shared, stream, params, extra),
        real(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
    )
}

/// A launch as redirection is asked about it.
#[inline(always)]
fn redirected(
    func: Func,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> redirect::launch::Launch {
    let (grid, block) = (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz });
    let (shared, stream) = (shared as usize, stream.0);
    redirect::launch::Launch { func, grid, block, shared, stream, params, extra }
}

/// The launch that came of asking.
fn asked_for(l: &redirect::launch::Launch, stream: Stream) -> Launch {
    let (grid, block) = ([l.grid.x, l.grid.y, l.grid.z], [l.block.x, l.block.y, l.block.z]);
    launch(l.func, grid, block, l.shared as u32, stream, l.params, l.extra)
}

#[inline(always)]
pub(crate) fn launch(
    f: Func,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> Launch {
    // SAFETY: CUDA's own lists, which the driver is about to read.
    let args = unsafe { arguments(params.0, extra.0) };
    Launch {
        kernel: kernel_of(f.0),
        grid: Dim3 { x: gx, y: gy, z: gz },
        block: Dim3 { x: bx, y: by, z: bz },
        cluster: [0; 3],
        shared: shared as usize,
        stream: stream.0,
        args,
        flags: if matches!(args, Arguments::Buffer(..)) { LAUNCH_ARGS_BUFFER } else { 0 },
    }
}

/// `cuLaunchKernelEx` and its `_ptsz` form.
pub unsafe fn launch_kernel_ex(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Func, Ptr, Ptr) -> i32,
    config: Ptr,
    f: Func,
    params: Ptr,
    extra: Ptr,
) -> i32 {
    if config.0 == 0 {
        return launched!(site, Launch::shapeless(kernel_of(f.0)), real(config, f, params, extra));
    }
    // SAFETY: the program's launch configuration.
    let c = unsafe { (config.0 as *const DriverLaunchConfig).read_unaligned() };
    if redirect::launch::enabled() {
        let DriverLaunchConfig { grid, block, shared, stream, .. } = c;
        let (func, shared) = (f, shared as usize);
        let asked = redirect::launch::Launch { func, grid, block, shared, stream, params, extra };
        return redirect::launch::around(site, asked, stack!(), &mut |l| {
            let changed = (l.grid, l.block, l.shared) != (grid, block, shared);
            let mut other = c;
            (other.grid, other.block, other.shared) = (l.grid, l.block, l.shared as u32);
            let config = if changed { Ptr((&raw const other).addr()) } else { config };
            launched!(
                site,
                configured(&other, l.func, l.params, l.extra),
                real(config, l.func, l.params, l.extra)
            )
        });
    }
    launched!(site, configured(&c, f, params, extra), real(config, f, params, extra))
}

/// A launch by a configuration.
fn configured(c: &DriverLaunchConfig, f: Func, params: Ptr, extra: Ptr) -> Launch {
    // SAFETY: as the program's configuration says.
    let (cluster, flags) = unsafe { attributes(c.attributes, c.attribute_count) };
    let (grid, block) = ([c.grid.x, c.grid.y, c.grid.z], [c.block.x, c.block.y, c.block.z]);
    let plain = launch(f, grid, block, c.shared, Stream(c.stream), params, extra);
    Launch { cluster, flags: plain.flags | flags, ..plain }
}

/// `cuLaunchCooperativeKernel` and its `_ptsz` form.
pub unsafe fn launch_cooperative_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, u32, u32, u32, u32, u32, u32, u32, Stream, Ptr) -> i32,
    f: Func,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: Stream,
    params: Ptr,
) -> i32 {
    if redirect::launch::enabled() {
        let asked = redirected(f, [gx, gy, gz], [bx, by, bz], shared, stream, params, Ptr(0));
        return redirect::launch::around(site, asked, stack!(), &mut |l| {
            let (g, b, shared) = (l.grid, l.block, l.shared as u32);
            launched!(
                site,
                Launch { flags: LAUNCH_COOPERATIVE, ..asked_for(&l, stream) },
                real(l.func, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, l.params)
            )
        });
    }
    launched!(
        site,
        Launch {
            flags: LAUNCH_COOPERATIVE,
            ..launch(f, [gx, gy, gz], [bx, by, bz], shared, stream, params, Ptr(0))
        },
        real(f, gx, gy, gz, bx, by, bz, shared, stream, params)
    )
}

/// `cuLaunchCooperativeKernelMultiDevice`: one event per launch in the list.
pub unsafe fn launch_cooperative_multi_device(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, u32, Flags) -> i32,
    list: Ptr,
    count: u32,
    flags: Flags,
) -> i32 {
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(list, count, flags) };
    launched_list(site, stack!(), list, count, call, |at| {
        // SAFETY: an entry of the program's list.
        let p = unsafe { (at as *const DriverLaunchParams).read_unaligned() };
        let (grid, block) = ([p.grid.x, p.grid.y, p.grid.z], [p.block.x, p.block.y, p.block.z]);
        let plain =
            launch(Func(p.func), grid, block, p.shared, Stream(p.stream), Ptr(p.args), Ptr(0));
        Launch { flags: LAUNCH_COOPERATIVE, ..plain }
    })
}
