//! What constructors register with HIP: as with CUDA's runtime, except for the functions' results.
//!
//! Must not know: how a launch is recorded.

use cushim_abi::types::*;

use crate::dump;
use crate::forward::recorded;
use crate::given::{Fn1, text};
use crate::layouts::Code;
use crate::origin::Origin;
use crate::registry;
use crate::site::Site;

/// `__hipRegisterFatBinary`.
pub unsafe fn register_fat_binary(site: &'static Site, real: Fn1<usize>, wrapper: Ptr) -> usize {
    let handle = recorded!(site, [wrapper], real(wrapper));
    if handle != 0 {
        // SAFETY: the runtime took it.
        let code = unsafe { Code::from_pointer(wrapper.0) };
        dump::code(&code, "__hipRegisterFatBinary");
        registry::add_module(handle, code, "__hipRegisterFatBinary", Origin::Other);
    }
    handle
}

/// `__hipUnregisterFatBinary`.
pub unsafe fn unregister_fat_binary(site: &'static Site, real: Fn1<()>, handle: Ptr) {
    let module = registry::module(handle.0);
    recorded!(site, [handle], real(handle));
    registry::remove_module(handle.0, module);
}

/// `__hipRegisterFunction`.
pub unsafe fn register_function(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Func, Str, Str, i32, Ptr, Ptr, Ptr, Ptr, Ptr),
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
) {
    // SAFETY: registration code passes the symbol's name.
    if let Some(symbol) = unsafe { text(name) } {
        registry::add_function(stub.0, symbol.to_bytes(), registry::module(handle.0));
    }
    recorded!(
        site,
        [handle, stub, device_fun, name, thread_limit, tid, bid, block, grid, warp],
        real(handle, stub, device_fun, name, thread_limit, tid, bid, block, grid, warp)
    );
}
