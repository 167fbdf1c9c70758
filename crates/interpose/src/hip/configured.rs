//! HIP's launches by a structure: a configuration with attributes, or a list of launches.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::{DriverLaunchConfig, DriverLaunchParams, LaunchConfig, LaunchParams};
use cushim_abi::types::*;
use cushim_trace::layout::LAUNCH_COOPERATIVE;

use super::launch::record;
use crate::forward::{launched, stack};
use crate::launch::shape::attributes;
use crate::record::Observed;
use crate::record::launch::LaunchRecord;
use crate::registry;
use crate::site::Site;

/// No list.
const NONE: Ptr = Ptr(0);

/// A launch whose configuration has these attributes.
///
/// # Safety
/// `list` is null or points to `count` launch attributes.
unsafe fn with_attributes(plain: LaunchRecord, list: usize, count: u32) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let (cluster, flags) = unsafe { attributes(list, count) };
    LaunchRecord { cluster, flags: plain.flags | flags, ..plain }
}

/// `hipLaunchKernelExC`.
pub unsafe fn launch_kernel_ex_c(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Func, Ptr) -> i32,
    config: Ptr,
    func: Func,
    args: Ptr,
) -> i32 {
    let configured = || {
        if config.0 == 0 {
            return LaunchRecord::shapeless(registry::find_or_unknown(func.0));
        }
        // SAFETY: the program's launch configuration.
        let c = unsafe { (config.0 as *const LaunchConfig).read_unaligned() };
        let plain = record(func, c.grid, c.block, c.shared, c.stream, [args, NONE], 0);
        // SAFETY: as the program's configuration says.
        unsafe { with_attributes(plain, c.attributes, c.attribute_count) }
    };
    launched!(site, configured(), real(config, func, args))
}

/// `hipDrvLaunchKernelEx`.
pub unsafe fn drv_launch_kernel_ex(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Func, Ptr, Ptr) -> i32,
    config: Ptr,
    func: Func,
    params: Ptr,
    extra: Ptr,
) -> i32 {
    let configured = || {
        if config.0 == 0 {
            return LaunchRecord::shapeless(registry::find_or_unknown(func.0));
        }
        // SAFETY: the program's launch configuration.
        let c = unsafe { (config.0 as *const DriverLaunchConfig).read_unaligned() };
        let lists = [params, extra];
        let plain = record(func, c.grid, c.block, c.shared as usize, c.stream, lists, 0);
        // SAFETY: as the program's configuration says.
        unsafe { with_attributes(plain, c.attributes, c.attribute_count) }
    };
    launched!(site, configured(), real(config, func, params, extra))
}

/// An event for each launch of a list, around `call`; `entry` reads one. A list of more than 1,024 entries is longer than any
/// machine has devices, and is not read.
///
/// # Safety
/// `list` is null or has `count` entries of `size` bytes, which `entry` can read.
unsafe fn each(
    site: &'static Site,
    stack: usize,
    [list, count, size]: [usize; 3],
    entry: unsafe fn(usize, u8) -> LaunchRecord,
    call: impl FnOnce() -> i32,
) -> i32 {
    const MOST: usize = 1024;
    let Some(observed) = Observed::enter(site, stack) else { return call() };
    let cooperative = site.name.to_bytes().windows(11).any(|word| word == b"Cooperative");
    let bits = if cooperative { LAUNCH_COOPERATIVE } else { 0 };
    let mut stored = Vec::new();
    if list != 0 && count <= MOST {
        for i in 0..count {
            // SAFETY: an entry of the program's list.
            let launch = unsafe { entry(list + i * size, bits) };
            // SAFETY: its arguments, which are about to be forwarded.
            stored.push((unsafe { observed.launch(&launch) }, launch));
        }
    }
    let status = call();
    for (stored, launch) in &stored {
        // SAFETY: the arguments of an entry; the list is still there.
        unsafe { observed.finish_launch(*stored, status, launch) };
    }
    status
}

/// An entry as CUDA's runtime has it, too.
///
/// # Safety
/// `at` points to `hipLaunchParams`.
unsafe fn by_stub(at: usize, bits: u8) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    record(Func(p.func), p.grid, p.block, p.shared, p.stream, [Ptr(p.args), NONE], bits)
}

/// An entry as CUDA's driver has it, too.
///
/// # Safety
/// `at` points to `hipFunctionLaunchParams`.
unsafe fn by_function(at: usize, bits: u8) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const DriverLaunchParams).read_unaligned() };
    record(Func(p.func), p.grid, p.block, p.shared as usize, p.stream, [Ptr(p.args), NONE], bits)
}

/// `hipLaunchCooperativeKernelMultiDevice`, `hipExtLaunchMultiKernelMultiDevice`.
pub unsafe fn launch_multi_device(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, i32, Flags) -> i32,
    list: Ptr,
    count: i32,
    flags: Flags,
) -> i32 {
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(list, count, flags) };
    let count_given = usize::try_from(count).unwrap_or(0);
    let entries = [list.0, count_given, size_of::<LaunchParams>()];
    // SAFETY: the program's list.
    unsafe { each(site, stack!(), entries, by_stub, call) }
}

/// `hipModuleLaunchCooperativeKernelMultiDevice`.
pub unsafe fn module_launch_multi_device(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, u32, Flags) -> i32,
    list: Ptr,
    count: u32,
    flags: Flags,
) -> i32 {
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(list, count, flags) };
    let entries = [list.0, count as usize, size_of::<DriverLaunchParams>()];
    // SAFETY: the program's list.
    unsafe { each(site, stack!(), entries, by_function, call) }
}
