//! Handlers of the runtime face: calls of libcudart that are more than recorded.
//!
//! Each takes the hook's site, the real function, and the call's arguments; each forwards exactly once and returns
//! what the real function returned. Registry updates happen in every case, also for nested calls; events only as
//! [`crate::record`] decides.
//!
//! Must not know: exports, the driver's functions.

use cushim_abi::types::*;

use crate::direct;
use crate::dump;
use crate::forward::{recorded, stack};
use crate::given::{Fn1, RegisterFunction, answered, text};
use crate::gputime;
use crate::layouts::Code;
use crate::observe;
use crate::origin::Origin;
use crate::record::slots::MOST_WORDS;
use crate::redirect::runtime::Registration;
use crate::redirect::{self, launch as redirected};
use crate::registry;
use crate::site::Site;

pub use crate::profiler::{profiler_start, profiler_stop};

/// `__cudaRegisterFatBinary`.
pub unsafe fn register_fat_binary(site: &'static Site, real: Fn1<usize>, wrapper: Ptr) -> usize {
    // SAFETY: what the program passed.
    let wrapper = unsafe { redirect::runtime::wrapper(site, wrapper) };
    let handle = recorded!(site, [wrapper], real(wrapper));
    if handle != 0 {
        // SAFETY: the runtime took it.
        let code = unsafe { Code::from_pointer(wrapper.0) };
        dump::code(&code, "__cudaRegisterFatBinary");
        registry::add_module(handle, code, "__cudaRegisterFatBinary", Origin::Registered);
    }
    handle
}

/// `__cudaRegisterFatBinaryEnd`.
pub unsafe fn register_fat_binary_end(site: &'static Site, real: Fn1<()>, handle: Ptr) {
    redirect::runtime::complete(site, handle);
    recorded!(site, [handle], real(handle));
}

/// `__cudaUnregisterFatBinary`.
pub unsafe fn unregister_fat_binary(site: &'static Site, real: Fn1<()>, handle: Ptr) {
    let module = registry::module(handle.0);
    recorded!(site, [handle], real(handle));
    registry::remove_module(handle.0, module);
    redirect::runtime::unregister(real, handle);
}

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
        [handle, stub, device_fun, name, thread_limit, tid, bid, block, grid, warp],
        real(handle, stub, device_fun, name, thread_limit, tid, bid, block, grid, warp)
    )
}

/// `__cudaPushCallConfiguration`: not recorded, as the launch shows the same.
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

type GetKernel = unsafe extern "C-unwind" fn(Out<Func>, Func) -> i32;

/// `__cudaGetKernel`, `cudaGetKernel`: from a stub to a handle that launches the same. Without a
/// driver, the runtime returns the stub itself and an error (measured, 13.5).
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
    // SAFETY: the call's own place and answer.
    if let Some(handle) = unsafe { answered(status, out) }
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
    // SAFETY: the call's own arguments.
    let begun = unsafe { observe::begin(site, stack!(), words, 2) };
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
        // SAFETY: a call without arguments.
        let call = unsafe { observe::begin(site, stack!(), [0; MOST_WORDS], 0) };
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
pub use crate::launch::runtime::*;
pub use crate::library::*;
pub use crate::variables::*;
