//! Handlers of the driver's launch functions.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::{LAUNCH_ARGS_BUFFER, LAUNCH_COOPERATIVE};

use super::shape::attributes;
use crate::arguments::Arguments;
use crate::arguments::arguments;
use crate::forward::{launched, stack};
use crate::names::kernel_of;
use crate::record::launch::LaunchRecord;
use crate::redirect;
use crate::site::Site;

/// A launch whose shape comes as numbers, with these `LAUNCH_*` bits; `$extra` is the list of arguments' other form, where
/// the function has it.
macro_rules! by_numbers {
    ($(#[$attribute:meta])* $name:ident, $flags:expr $(, $extra:ident: $kind:ty)?) => {
        $(#[$attribute])*
        pub unsafe fn $name(
            site: &'static Site,
            real: unsafe extern "C-unwind" fn(
                Func, u32, u32, u32, u32, u32, u32, u32, Stream, Ptr $(, $kind)?
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
            params: Ptr
            $(, $extra: $kind)?
        ) -> i32 {
            let (grid, block, other) = ([gx, gy, gz], [bx, by, bz], by_numbers!(@or_none $($extra)?));
            if redirect::launch::enabled() {
                let asked = redirected(f, grid, block, shared, stream, params, other);
                return redirect::launch::around(site, asked, stack!(), &mut |l| {
                    let (g, b, shared) = (l.grid, l.block, l.shared as u32);
                    launched!(
                        site,
                        flagged(asked_for(&l, stream), $flags),
                        real(
                            l.func, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, l.params
                            $(, by_numbers!(@of l $extra))?
                        )
                    )
                });
            }
            launched!(
                site,
                flagged(launch(f, grid, block, shared, stream, params, other), $flags),
                real(f, gx, gy, gz, bx, by, bz, shared, stream, params $(, $extra)?)
            )
        }
    };
    (@or_none) => { Ptr(0) };
    (@or_none $extra:ident) => { $extra };
    (@of $launch:ident $extra:ident) => { $launch.extra };
}

by_numbers! {
    /// `cuLaunchKernel` and its `_ptsz` form.
    #[inline(always)]
    launch_kernel, 0, extra: Ptr
}

by_numbers! {
    /// `cuLaunchCooperativeKernel` and its `_ptsz` form.
    launch_cooperative_kernel, LAUNCH_COOPERATIVE
}

/// Adds these `LAUNCH_*` bits.
#[inline(always)]
fn flagged(launch: LaunchRecord, flags: u8) -> LaunchRecord {
    LaunchRecord { flags: launch.flags | flags, ..launch }
}

/// A launch in the form that redirection takes.
#[inline(always)]
fn redirected(
    func: Func,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> redirect::launch::AskedLaunch {
    let (grid, block) = (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz });
    let (shared, stream) = (shared as usize, stream.0);
    redirect::launch::AskedLaunch { func, grid, block, shared, stream, params, extra }
}

/// The launch as redirection changed it.
fn asked_for(l: &redirect::launch::AskedLaunch, stream: Stream) -> LaunchRecord {
    let (grid, block) = ([l.grid.x, l.grid.y, l.grid.z], [l.block.x, l.block.y, l.block.z]);
    launch(l.func, grid, block, l.shared as u32, stream, l.params, l.extra)
}

/// A launch in the form that is recorded.
#[inline(always)]
pub(crate) fn launch(
    f: Func,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> LaunchRecord {
    // SAFETY: CUDA's own lists, which the driver is about to read.
    let args = unsafe { arguments(params.0, extra.0) };
    LaunchRecord {
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
        return launched!(
            site,
            LaunchRecord::shapeless(kernel_of(f.0)),
            real(config, f, params, extra)
        );
    }
    // SAFETY: the program's launch configuration.
    let c = unsafe { (config.0 as *const DriverLaunchConfig).read_unaligned() };
    if redirect::launch::enabled() {
        let DriverLaunchConfig { grid, block, shared, stream, .. } = c;
        let (func, shared) = (f, shared as usize);
        let asked =
            redirect::launch::AskedLaunch { func, grid, block, shared, stream, params, extra };
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
fn configured(c: &DriverLaunchConfig, f: Func, params: Ptr, extra: Ptr) -> LaunchRecord {
    // SAFETY: as the program's configuration says.
    let (cluster, flags) = unsafe { attributes(c.attributes, c.attribute_count) };
    let (grid, block) = ([c.grid.x, c.grid.y, c.grid.z], [c.block.x, c.block.y, c.block.z]);
    let plain = launch(f, grid, block, c.shared, Stream(c.stream), params, extra);
    LaunchRecord { cluster, flags: plain.flags | flags, ..plain }
}
