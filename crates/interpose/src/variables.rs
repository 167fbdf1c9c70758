//! Handlers of the calls by which programs register variables and texture references with the runtime.
//!
//! Must not know: what is done with them.

use cushim_abi::Runtime;
use cushim_abi::types::*;

use crate::forward::recorded;
use crate::given::RegisterVar;
use crate::redirect;
use crate::site::Site;

/// `__cudaRegisterVar`.
pub unsafe fn register_var(
    site: &'static Site,
    real: RegisterVar,
    handle: Ptr,
    host: Ptr,
    device: Str,
    name: Str,
    ext: i32,
    size: usize,
    constant: i32,
    global: i32,
) {
    redirect::runtime::variable(site, handle, host, name, size, is_managed(site));
    recorded!(
        site,
        [
            handle.0,
            host.0,
            device.0,
            name.0,
            i64::from(ext),
            size,
            i64::from(constant),
            i64::from(global)
        ],
        real(handle, host, device, name, ext, size, constant, global)
    );
}

fn is_managed(site: &Site) -> bool {
    site.id == Runtime::__cudaRegisterManagedVar as u16
}

/// `__cudaRegisterManagedVar`. LLVM passes six arguments: the rest is whatever the registers held, and
/// goes on as it came.
pub unsafe fn register_managed_var(
    site: &'static Site,
    real: RegisterVar,
    handle: Ptr,
    host: Ptr,
    device: Str,
    name: Str,
    ext: i32,
    size: usize,
    constant: i32,
    global: i32,
) {
    // SAFETY: forwarded as it came.
    unsafe { register_var(site, real, handle, host, device, name, ext, size, constant, global) }
}

/// `__cudaRegisterTexture`.
pub unsafe fn register_texture(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Ptr, Str, i32, i32, i32),
    handle: Ptr,
    host: Ptr,
    device: Ptr,
    name: Str,
    dim: i32,
    norm: i32,
    ext: i32,
) {
    recorded!(
        site,
        [handle.0, host.0, device.0, name.0, i64::from(dim), i64::from(norm), i64::from(ext)],
        real(handle, host, device, name, dim, norm, ext)
    );
}

/// `__cudaRegisterSurface`.
pub unsafe fn register_surface(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Ptr, Ptr, Str, i32, i32),
    handle: Ptr,
    host: Ptr,
    device: Ptr,
    name: Str,
    dim: i32,
    ext: i32,
) {
    recorded!(
        site,
        [handle.0, host.0, device.0, name.0, i64::from(dim), i64::from(ext)],
        real(handle, host, device, name, dim, ext)
    );
}
