//! Handlers of the runtime's other launch calls: cooperative, by configuration, lists.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::*;

use super::plain::launch_kernel_rarely;
use super::shape::{attributes, by_stub, pointers};
use crate::direct::{self, LaunchKernel};
use crate::forward::{launched, stack};
use crate::record::launch::LaunchRecord;
use crate::redirect::launch as redirected;
use crate::registry;
use crate::site::Site;

pub use super::list::launch_cooperative_multi_device;
pub use super::plain::launch_kernel;

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
    let asked = by_stub(func, grid, block, args, shared, stream);
    // SAFETY: as it came.
    unsafe { launch_kernel_rarely(site, stack!(), real, asked, LAUNCH_COOPERATIVE) }
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
            LaunchRecord::shapeless(registry::find_or_unknown(func.0)),
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
        let launch = redirected::AskedLaunch { func, grid, block, shared, stream, params, extra };
        return redirected::around(site, launch, stack!(), &mut |l| {
            let changed = (l.grid, l.block, l.shared) != (grid, block, shared);
            let mut other = c;
            (other.grid, other.block, other.shared) = (l.grid, l.block, l.shared);
            // A later version's structure may be longer, but up to 13.5 it is not; where nothing
            // changes, the program's own is passed on.
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
fn configured(c: &LaunchConfig, func: Func, args: Ptr) -> LaunchRecord {
    // SAFETY: as the program's configuration says.
    let (cluster, flags) = unsafe { attributes(c.attributes, c.attribute_count) };
    LaunchRecord {
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
