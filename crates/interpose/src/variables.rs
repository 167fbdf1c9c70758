//! The handler of the calls by which programs register variables with the runtime.
//!
//! Must not know: how the variables are used.

use cushim_abi::Runtime;
use cushim_abi::types::*;

use crate::forward::recorded;
use crate::given::RegisterVar;
use crate::redirect;
use crate::site::Site;

/// `__cudaRegisterVar`, `__cudaRegisterManagedVar`. LLVM passes six arguments to the latter: the
/// others hold whatever was in the registers, and are passed on.
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
        [handle, host, device, name, ext, size, constant, global],
        real(handle, host, device, name, ext, size, constant, global)
    );
}

fn is_managed(site: &Site) -> bool {
    site.id == Runtime::__cudaRegisterManagedVar as u16
}
