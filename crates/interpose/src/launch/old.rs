//! Handlers of the driver's launches from before CUDA 4.0, where earlier calls set shape and arguments.
//!
//! Must not know: rules, except whether the kernel can be launched.

use cushim_abi::types::*;

use super::driver::launch;
use crate::arguments::Arguments;
use crate::forward::launched;
use crate::record::launch::LaunchRecord;
use crate::redirect;
use crate::site::Site;

/// The launch of `cuLaunch`, `cuLaunchGrid`: block shape and arguments were set on the function before
/// (`cuFuncSetBlockShape`, `cuParamSet*`, deprecated since CUDA 4.0) and are not seen.
fn old_launch(f: Func, width: i32, height: i32, stream: Stream) -> LaunchRecord {
    let unseen = launch(f, [width as u32, height as u32, 1], [0; 3], 0, stream, Ptr(0), Ptr(0));
    LaunchRecord { args: Arguments::None, ..unseen }
}

/// `cuLaunch`.
pub unsafe fn launch_grid(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func) -> i32,
    f: Func,
) -> i32 {
    if redirect::launch::enabled()
        && let Err(status) = redirect::launch::ready(site, f, 0)
    {
        return status;
    }
    launched!(site, old_launch(f, 1, 1, Stream(0)), real(f))
}

/// `cuLaunchGrid`.
pub unsafe fn launch_grid_2d(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, i32, i32) -> i32,
    f: Func,
    width: i32,
    height: i32,
) -> i32 {
    if redirect::launch::enabled()
        && let Err(status) = redirect::launch::ready(site, f, 0)
    {
        return status;
    }
    launched!(site, old_launch(f, width, height, Stream(0)), real(f, width, height))
}

/// `cuLaunchGridAsync`.
pub unsafe fn launch_grid_async(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, i32, i32, Stream) -> i32,
    f: Func,
    width: i32,
    height: i32,
    stream: Stream,
) -> i32 {
    if redirect::launch::enabled()
        && let Err(status) = redirect::launch::ready(site, f, stream.0)
    {
        return status;
    }
    launched!(site, old_launch(f, width, height, stream), real(f, width, height, stream))
}
