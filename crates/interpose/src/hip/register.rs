//! What constructors register with HIP: as with CUDA's runtime, but for what the functions answer.
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
    let handle = recorded!(site, [wrapper.0], real(wrapper));
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
    recorded!(site, [handle.0], real(handle));
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
    );
}

/// `__hipRegisterVar`.
pub unsafe fn register_var(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Str, Str, i32, usize, i32, i32),
    handle: Ptr,
    var: Ptr,
    host: Str,
    device: Str,
    ext: i32,
    size: usize,
    constant: i32,
    global: i32,
) {
    recorded!(
        site,
        [
            handle.0,
            var.0,
            host.0,
            device.0,
            i64::from(ext),
            size,
            i64::from(constant),
            i64::from(global)
        ],
        real(handle, var, host, device, ext, size, constant, global)
    );
}

/// `__hipRegisterManagedVar`.
pub unsafe fn register_managed_var(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Ptr, Str, usize, u32),
    handle: Ptr,
    pointer: Ptr,
    init: Ptr,
    name: Str,
    size: usize,
    align: u32,
) {
    recorded!(
        site,
        [handle.0, pointer.0, init.0, name.0, size, align],
        real(handle, pointer, init, name, size, align)
    );
}

/// `__hipRegisterTexture`.
pub unsafe fn register_texture(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Str, Str, i32, i32, i32),
    handle: Ptr,
    var: Ptr,
    host: Str,
    device: Str,
    kind: i32,
    norm: i32,
    ext: i32,
) {
    recorded!(
        site,
        [handle.0, var.0, host.0, device.0, i64::from(kind), i64::from(norm), i64::from(ext)],
        real(handle, var, host, device, kind, norm, ext)
    );
}

/// `__hipRegisterSurface`.
pub unsafe fn register_surface(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Str, Str, i32, i32),
    handle: Ptr,
    var: Ptr,
    host: Str,
    device: Str,
    kind: i32,
    ext: i32,
) {
    recorded!(
        site,
        [handle.0, var.0, host.0, device.0, i64::from(kind), i64::from(ext)],
        real(handle, var, host, device, kind, ext)
    );
}
