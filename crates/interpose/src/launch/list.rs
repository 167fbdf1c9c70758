//! Lists of launches (`…LaunchCooperativeKernelMultiDevice`) of both CUDA faces, and the parts that HIP's lists
//! share.
//!
//! Must not know: how a launch is recorded.

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::LAUNCH_COOPERATIVE;

use super::driver;
use super::shape::{by_stub, plain};
use crate::forward::stack;
use crate::record::Observed;
use crate::record::launch::LaunchRecord;
use crate::redirect::launch as redirected;
use crate::site::Site;

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
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    (Func(p.func), p.stream)
}

/// The launch that an entry of a list stands for.
///
/// # Safety
/// As [`function_and_stream`].
unsafe fn entry(site: &Site, at: usize) -> LaunchRecord {
    if site.node.is_none() {
        // SAFETY: as the caller promises.
        let p = unsafe { (at as *const DriverLaunchParams).read_unaligned() };
        let (grid, block) = ([p.grid.x, p.grid.y, p.grid.z], [p.block.x, p.block.y, p.block.z]);
        let (stream, args) = (Stream(p.stream), Ptr(p.args));
        let plain = driver::launch(Func(p.func), grid, block, p.shared, stream, args, Ptr(0));
        return LaunchRecord { flags: LAUNCH_COOPERATIVE, ..plain };
    }
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    let (stream, args) = (Stream(p.stream), Ptr(p.args));
    let asked = by_stub(Func(p.func), p.grid, p.block, args, p.shared, stream);
    plain(&asked, LAUNCH_COOPERATIVE)
}

/// `cudaLaunchCooperativeKernelMultiDevice` and `cuLaunchCooperativeKernelMultiDevice`: one event for each of the
/// `count` launches in the list (56 bytes each on both faces).
///
/// # Safety
/// `real` is the function of `site`, and the arguments are what the program passed.
pub unsafe fn launch_cooperative_multi_device(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, u32, Flags) -> i32,
    list: Ptr,
    count: u32,
    flags: Flags,
) -> i32 {
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(list, count, flags) };
    if redirected::enabled() {
        for at in entries(list, count) {
            // SAFETY: an entry of the program's list.
            let (func, stream) = unsafe { function_and_stream(site, at) };
            if let Err(status) = redirected::ready(site, func, stream) {
                return status;
            }
        }
    }
    // SAFETY: the program's list.
    unsafe { recorded(site, stack!(), list, count, |at| entry(site, at), call) }
}

/// The addresses of a list's entries, 56 bytes each; none if it has more entries than any machine
/// has devices.
fn entries(list: Ptr, count: u32) -> impl Iterator<Item = usize> {
    /// More devices than any machine has.
    const MOST: u32 = 1024;
    let known = if list.0 != 0 && count <= MOST { count as usize } else { 0 };
    const { assert!(size_of::<LaunchParams>() == size_of::<DriverLaunchParams>()) };
    (0..known).map(move |i| list.0 + i * size_of::<LaunchParams>())
}

/// Forwards a call with one event for each launch in its list, which `launch` reads.
///
/// # Safety
/// `list` is what the program passed to `site`'s function, with `count` entries if it is not null.
pub unsafe fn recorded(
    site: &'static Site,
    stack: usize,
    list: Ptr,
    count: u32,
    launch: impl Fn(usize) -> LaunchRecord,
    call: impl FnOnce() -> i32,
) -> i32 {
    let Some(observed) = Observed::enter(site, stack) else { return call() };
    let mut stored = Vec::new();
    for at in entries(list, count) {
        let launch = launch(at);
        // SAFETY: its arguments, which are about to be forwarded.
        stored.push((unsafe { observed.launch(&launch) }, launch));
    }
    let status = call();
    for (stored, launch) in &stored {
        // SAFETY: the arguments of an entry; the list is still there.
        unsafe { observed.finish_launch(*stored, status, launch) };
    }
    status
}
