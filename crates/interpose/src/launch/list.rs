//! Lists of launches, `…LaunchCooperativeKernelMultiDevice`, on both faces.
//!
//! Must not know: what an entry looks like besides what it launches and where.

use cushim_abi::structs::*;
use cushim_abi::types::*;

use crate::record::Observed;
use crate::record::launch::Launch;
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
    // SAFETY: as above.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    (Func(p.func), p.stream)
}

/// Records the launches in a list of `count` entries (56 bytes each on both faces) around `call`.
///
/// # Safety
/// The list is what the function of `site` is being given by `call`, and `launch` reads an entry of it.
pub unsafe fn launched_list(
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
            // SAFETY: an entry of the program's list, as the caller promises.
            stored.push((unsafe { observed.launch(&launch) }, launch));
        }
    }
    let status = call();
    for (stored, launch) in &stored {
        // SAFETY: as above; the list is still there.
        unsafe { observed.finish_launch(*stored, status, launch) };
    }
    status
}
