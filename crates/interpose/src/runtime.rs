//! Handlers of the runtime face: calls of libcudart that are more than recorded.
//!
//! Each takes the hook's site, the real function, and the call's arguments; each forwards exactly once
//! and answers what the real function answered. Registry updates happen in every case, also inside
//! other calls; events only as [`crate::record`] decides.
//!
//! Must not know: exports, the driver's functions.

use std::ffi::CStr;

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::*;

use crate::direct::{self, LaunchKernel};
use crate::dump;
use crate::gputime;
use crate::layouts::Code;
use crate::observe;
use crate::record::{Arguments, Launch, MOST_WORDS, Observed};
use crate::redirect::runtime::Registration;
use crate::redirect::{self, launch as redirected};
use crate::registry;
use crate::site::Site;

/// An address in the caller's frame, as [`crate::thread::Thread::enter`] wants it.
macro_rules! stack {
    () => {{
        let here = 0u8;
        (&raw const here).addr()
    }};
}
pub(crate) use stack;

/// Records a call with the given words around `$call`; answers its result.
macro_rules! recorded {
    ($site:expr, [$($word:expr),*], $call:expr) => {{
        let mut words = [0u64; $crate::record::MOST_WORDS];
        let given = [$($word as u64),*];
        for (to, from) in words.iter_mut().zip(given) {
            *to = from;
        }
        let call = $crate::observe::begin($site, $crate::runtime::stack!(), words, given.len());
        // SAFETY: forwarded as it came.
        let result = unsafe { $call };
        if let Some(call) = call {
            $crate::observe::end(call, 0, [None; $crate::record::MOST_WORDS]);
        }
        result
    }};
}
pub(crate) use recorded;

/// The C string at `at`, if there is one.
///
/// # Safety
/// `at` is null or points to a NUL-terminated string that stays for the call.
pub(crate) unsafe fn text<'a>(at: Str) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    (at.0 != 0).then(|| unsafe { CStr::from_ptr(at.0 as *const libc::c_char) })
}

/// What the call that answered `status` wrote to its own `out`; `None` where it failed or had nowhere to.
pub(crate) fn answered<T: Copy>(status: i32, out: Out<T>) -> Option<T> {
    if status != 0 || out.0.is_null() {
        return None;
    }
    // SAFETY: CUDA was given this place, and has written there and said so.
    Some(unsafe { out.0.read_unaligned() })
}

pub use crate::window::{profiler_start, profiler_stop};

pub(crate) type Fn1<R> = unsafe extern "C-unwind" fn(Ptr) -> R;

/// `__cudaRegisterFatBinary`.
pub unsafe fn register_fat_binary(site: &'static Site, real: Fn1<usize>, wrapper: Ptr) -> usize {
    // SAFETY: what the program passed.
    let wrapper = unsafe { redirect::runtime::wrapper(site, wrapper) };
    let handle = recorded!(site, [wrapper.0], real(wrapper));
    if handle != 0 {
        // SAFETY: the runtime took it.
        let code = unsafe { Code::from_pointer(wrapper.0) };
        dump::code(&code, "__cudaRegisterFatBinary");
        registry::add_module(handle, code, "__cudaRegisterFatBinary");
    }
    handle
}

/// `__cudaRegisterFatBinaryEnd`.
pub unsafe fn register_fat_binary_end(site: &'static Site, real: Fn1<()>, handle: Ptr) {
    redirect::runtime::complete(site, handle);
    recorded!(site, [handle.0], real(handle));
}

/// `__cudaUnregisterFatBinary`.
pub unsafe fn unregister_fat_binary(site: &'static Site, real: Fn1<()>, handle: Ptr) {
    let module = registry::module(handle.0);
    recorded!(site, [handle.0], real(handle));
    registry::remove_module(handle.0, module);
    redirect::runtime::unregister(real, handle);
}

/// `__cudaInitModule`.
pub unsafe fn init_module(site: &'static Site, real: Fn1<i32>, handle: Ptr) -> i32 {
    recorded!(site, [handle.0], real(handle))
}

pub(crate) type RegisterFunction =
    unsafe extern "C-unwind" fn(Ptr, Func, Str, Str, i32, Ptr, Ptr, Ptr, Ptr, Ptr) -> i32;

/// `__cudaRegisterFunction`.
pub unsafe fn register_function(
    site: &'static Site,
    real: RegisterFunction,
    handle: Ptr,
    stub: Func,
    device_fun: Str,
    name: Str,
    thread_limit: i32,
    tid: Ptr,
    bid: Ptr,
    block: Ptr,
    grid: Ptr,
    warp: Ptr,
) -> i32 {
    // SAFETY: registration code passes the symbol's name.
    if let Some(symbol) = unsafe { text(name) } {
        if redirect::plan().is_some()
            && let Ok(mangled) = symbol.to_str()
        {
            let rest = [tid, bid, block, grid, warp];
            let given = Registration { handle, stub, name, limit: thread_limit, rest };
            if let Some(answer) = redirect::runtime::function(site, mangled, &given) {
                return answer;
            }
        }
        registry::add_function(stub.0, symbol.to_bytes(), registry::module(handle.0));
    }
    recorded!(
        site,
        [
            handle.0,
            stub.0,
            device_fun.0,
            name.0,
            i64::from(thread_limit),
            tid.0,
            bid.0,
            block.0,
            grid.0,
            warp.0
        ],
        real(handle, stub, device_fun, name, thread_limit, tid, bid, block, grid, warp)
    )
}

/// `__cudaPushCallConfiguration`: nothing to see that the launch itself does not show.
pub unsafe fn push_call_configuration(
    _site: &'static Site,
    real: unsafe extern "C-unwind" fn(Dim3, Dim3, usize, Stream) -> u32,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
) -> u32 {
    // SAFETY: forwarded as it came.
    unsafe { real(grid, block, shared, stream) }
}

/// `__cudaPopCallConfiguration`.
pub unsafe fn pop_call_configuration(
    _site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Ptr, Ptr) -> i32,
    grid: Ptr,
    block: Ptr,
    shared: Ptr,
    stream: Ptr,
) -> i32 {
    // SAFETY: forwarded as it came.
    unsafe { real(grid, block, shared, stream) }
}

/// Records a launch around `$call`.
macro_rules! launched {
    ($site:expr, $launch:expr, $call:expr) => {
        launched!($site, stack!(), $launch, $call)
    };
    ($site:expr, $stack:expr, $launch:expr, $call:expr) => {{
        match Observed::enter($site, $stack) {
            // SAFETY: forwarded as it came.
            #[allow(unused_unsafe)]
            None => unsafe { $call },
            Some(observed) if !observed.wanted => {
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                observed.finish_unkept(status, || $launch);
                status
            }
            Some(observed) => {
                let launch = $launch;
                let stored = observed.launch(&launch);
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                observed.finish_launch(stored, status, &launch);
                status
            }
        }
    }};
}
pub(crate) use launched;

fn pointers(args: Ptr) -> Arguments {
    if args.0 == 0 { Arguments::None } else { Arguments::Pointers(args.0 as *const *const u8) }
}

/// A launch by a stub or handle, with an array of argument pointers.
#[inline(always)]
pub(crate) fn plain(
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
    flags: u8,
) -> Launch {
    Launch {
        kernel: registry::find_or_unknown(func.0),
        grid,
        block,
        cluster: [0; 3],
        shared,
        stream: stream.0,
        args: pointers(args),
        flags,
    }
}

/// `cudaLaunchCooperativeKernel` and its `_ptsz` form.
pub unsafe fn launch_cooperative_kernel(
    site: &'static Site,
    real: LaunchKernel,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
) -> i32 {
    if redirected::enabled() {
        let (params, extra) = (args, Ptr(0));
        let launch =
            redirected::Launch { func, grid, block, shared, stream: stream.0, params, extra };
        return redirected::around(site, launch, stack!(), &mut |l| {
            launched!(
                site,
                plain(l.func, l.grid, l.block, l.params, l.shared, stream, LAUNCH_COOPERATIVE),
                real(l.func, l.grid, l.block, l.params, l.shared, stream)
            )
        });
    }
    launched!(
        site,
        plain(func, grid, block, args, shared, stream, LAUNCH_COOPERATIVE),
        real(func, grid, block, args, shared, stream)
    )
}

/// What the attributes of a launch say about its shape: cluster, `LAUNCH_*` bits.
///
/// # Safety
/// `attributes` is null or points to `count` launch attributes.
pub(crate) unsafe fn attributes(attributes: usize, count: u32) -> ([u8; 3], u8) {
    let (mut cluster, mut flags) = ([0; 3], 0);
    if attributes == 0 || count > 64 {
        return (cluster, flags);
    }
    for i in 0..count as usize {
        // SAFETY: as the caller promises; an attribute is 72 bytes in every version.
        let attribute = unsafe { (attributes as *const LaunchAttribute).add(i).read_unaligned() };
        let [x, y, z, ..] = attribute.value;
        match attribute.id {
            ATTRIBUTE_COOPERATIVE if x != 0 => flags |= LAUNCH_COOPERATIVE,
            ATTRIBUTE_CLUSTER_DIMENSION => cluster = [x, y, z].map(|n| n.min(255) as u8),
            _ => {}
        }
    }
    (cluster, flags)
}

/// `cudaLaunchKernelExC` and its `_ptsz` form.
pub unsafe fn launch_kernel_ex(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Func, Ptr) -> i32,
    config: Ptr,
    func: Func,
    args: Ptr,
) -> i32 {
    if config.0 == 0 {
        return launched!(
            site,
            Launch::shapeless(registry::find_or_unknown(func.0)),
            real(config, func, args)
        );
    }
    // SAFETY: the program's launch configuration, of which this is the part all versions share.
    let c = unsafe { (config.0 as *const LaunchConfig).read_unaligned() };
    // SAFETY: forwarded as it came.
    let real = |config, c: &LaunchConfig, func, args| unsafe {
        match direct::enabled() {
            true => direct::launch_kernel_ex(site, real, config, c, func, args),
            false => real(config, func, args),
        }
    };
    if redirected::enabled() {
        let (params, extra) = (args, Ptr(0));
        let LaunchConfig { grid, block, shared, stream, .. } = c;
        let launch = redirected::Launch { func, grid, block, shared, stream, params, extra };
        return redirected::around(site, launch, stack!(), &mut |l| {
            let changed = (l.grid, l.block, l.shared) != (grid, block, shared);
            let mut other = c;
            (other.grid, other.block, other.shared) = (l.grid, l.block, l.shared);
            // The structure may be longer in a later version, but holds no more than this today (11.8 to
            // 13.5); the program's own is passed on where nothing changes.
            let config = if changed { Ptr((&raw const other).addr()) } else { config };
            launched!(
                site,
                configured(&other, l.func, l.params),
                real(config, &other, l.func, l.params)
            )
        });
    }
    launched!(site, configured(&c, func, args), real(config, &c, func, args))
}

/// A launch by a configuration.
fn configured(c: &LaunchConfig, func: Func, args: Ptr) -> Launch {
    // SAFETY: as the program's configuration says.
    let (cluster, flags) = unsafe { attributes(c.attributes, c.attribute_count) };
    Launch {
        kernel: registry::find_or_unknown(func.0),
        grid: c.grid,
        block: c.block,
        cluster,
        shared: c.shared,
        stream: c.stream,
        args: pointers(args),
        flags,
    }
}

/// `cudaLaunchCooperativeKernelMultiDevice`: one event per launch in the list.
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
        let p = unsafe { (at as *const LaunchParams).read_unaligned() };
        plain(
            Func(p.func),
            p.grid,
            p.block,
            Ptr(p.args),
            p.shared,
            Stream(p.stream),
            LAUNCH_COOPERATIVE,
        )
    })
}

/// What an entry of a list launches, and where.
///
/// # Safety
/// `at` is an entry of a list that the function of `site` takes.
unsafe fn function_and_stream(site: &Site, at: usize) -> (Func, usize) {
    if site.node.is_none() {
        // SAFETY: as the caller promises.
        let p = unsafe { (at as *const DriverLaunchParams).read_unaligned() };
        return (Func(p.func), p.stream);
    }
    // SAFETY: as above.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    (Func(p.func), p.stream)
}

/// Records the launches in a list of `count` entries (56 bytes each on both faces) around `call`.
pub(crate) fn launched_list(
    site: &'static Site,
    stack: usize,
    list: Ptr,
    count: u32,
    call: impl FnOnce() -> i32,
    launch: impl Fn(usize) -> Launch,
) -> i32 {
    /// More devices than any machine has: a longer list is none.
    const MOST: u32 = 1024;
    if redirected::enabled() && list.0 != 0 && count <= MOST {
        for i in 0..count as usize {
            // SAFETY: an entry of the program's list.
            let (func, stream) =
                unsafe { function_and_stream(site, list.0 + i * size_of::<LaunchParams>()) };
            if let Err(status) = redirected::ready(site, func, stream) {
                return status;
            }
        }
    }
    let Some(observed) = Observed::enter(site, stack) else { return call() };
    let mut stored = Vec::new();
    if list.0 != 0 && count <= MOST {
        for i in 0..count as usize {
            let launch = launch(list.0 + i * size_of::<LaunchParams>());
            stored.push((observed.launch(&launch), launch));
        }
    }
    let status = call();
    for (stored, launch) in &stored {
        observed.finish_launch(*stored, status, launch);
    }
    status
}

type GetKernel = unsafe extern "C-unwind" fn(Out<Func>, Func) -> i32;

/// `__cudaGetKernel`, `cudaGetKernel`: from a stub to a handle that launches the same. Without a driver
/// the stub itself is the answer (measured, 13.5), with an error.
pub unsafe fn get_kernel(site: &'static Site, real: GetKernel, out: Out<Func>, stub: Func) -> i32 {
    // SAFETY: forwarded as it came.
    unsafe { get_handle(site, real, out, stub, false) }
}

/// From a stub to a handle that launches the same: a kernel, or a function of the current context.
unsafe fn get_handle(
    site: &'static Site,
    real: GetKernel,
    out: Out<Func>,
    stub: Func,
    is_function: bool,
) -> i32 {
    // SAFETY: forwarded as it came.
    let status = unsafe { observed_out(site, out, stub.0, || real(out, stub)) };
    if let Some(handle) = answered(status, out)
        && let Some(kernel) = registry::find(stub.0)
    {
        registry::alias_function(handle.0, kernel);
        direct::handle_of_stub(handle.0, stub.0);
        redirected::alias(handle.0, stub.0, is_function, |other| {
            let mut handle = Func(0);
            // SAFETY: the same function, for a stub that was registered.
            let known = unsafe { real(Out(&mut handle), Func(other)) } == 0;
            if let Some(kernel) = registry::find(other).filter(|_| known) {
                registry::alias_function(handle.0, kernel);
                direct::handle_of_stub(handle.0, other);
            }
            known.then_some(handle.0)
        });
    }
    status
}

/// Records a call with one out value and one further word.
unsafe fn observed_out<T: Arg>(
    site: &'static Site,
    out: Out<T>,
    word: usize,
    call: impl FnOnce() -> i32,
) -> i32 {
    let mut words = [0; MOST_WORDS];
    words[0] = out.0 as u64;
    words[1] = word as u64;
    let begun = observe::begin(site, stack!(), words, 2);
    let status = call();
    if let Some(begun) = begun {
        let mut outs = [None; MOST_WORDS];
        if status == 0 {
            // SAFETY: the call succeeded.
            outs[0] = unsafe { out.written() };
        }
        observe::end(begun, status, outs);
    }
    status
}

/// `cudaGetFuncBySymbol`.
pub unsafe fn get_func_by_symbol(
    site: &'static Site,
    real: GetKernel,
    out: Out<Func>,
    symbol: Func,
) -> i32 {
    // SAFETY: the same signature and meaning.
    unsafe { get_handle(site, real, out, symbol, true) }
}

/// `cudaDeviceReset`: what was loaded is gone.
pub unsafe fn device_reset(site: &'static Site, real: unsafe extern "C-unwind" fn() -> i32) -> i32 {
    direct::forget();
    let status = gputime::ending(None, || {
        let call = observe::begin(site, stack!(), [0; MOST_WORDS], 0);
        // SAFETY: forwarded as it came.
        let status = unsafe { real() };
        if let Some(call) = call {
            observe::end(call, status, [None; MOST_WORDS]);
        }
        status
    });
    redirect::driver::context_gone(0);
    redirect::binding::switched();
    status
}

pub use crate::graph::runtime::*;
pub use crate::launch::launch_kernel;
pub use crate::library::*;
pub use crate::variables::*;
