//! HIP launches that take a structure: a configuration with attributes, or a list of launches.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::{DriverLaunchConfig, DriverLaunchParams, LaunchConfig, LaunchParams};
use cushim_abi::types::*;
use cushim_trace::layout::LAUNCH_COOPERATIVE;

use super::launch::record;
use crate::forward::{launched, stack};
use crate::launch::list;
use crate::launch::shape::attributes;
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

/// An entry of the same form as in CUDA's runtime.
///
/// # Safety
/// `at` points to `hipLaunchParams`.
unsafe fn by_stub(at: usize, bits: u8) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const LaunchParams).read_unaligned() };
    record(Func(p.func), p.grid, p.block, p.shared, p.stream, [Ptr(p.args), NONE], bits)
}

/// An entry of the same form as in CUDA's driver.
///
/// # Safety
/// `at` points to `hipFunctionLaunchParams`.
unsafe fn by_function(at: usize, bits: u8) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const DriverLaunchParams).read_unaligned() };
    record(Func(p.func), p.grid, p.block, p.shared as usize, p.stream, [Ptr(p.args), NONE], bits)
}

/// The arguments of a function whose list has the entries of CUDA's runtime.
type LaunchList = unsafe extern "C-unwind" fn(Ptr, i32, Flags) -> i32;

/// `hipLaunchCooperativeKernelMultiDevice`.
pub unsafe fn launch_cooperative_multi_device(
    site: &'static Site,
    real: LaunchList,
    list: Ptr,
    count: i32,
    flags: Flags,
) -> i32 {
    // SAFETY: the program's list; forwarded as it came.
    unsafe {
        let entry = |at| by_stub(at, LAUNCH_COOPERATIVE);
        list::recorded(site, stack!(), list, count as u32, entry, || real(list, count, flags))
    }
}

/// `hipExtLaunchMultiKernelMultiDevice`.
pub unsafe fn ext_launch_multi_device(
    site: &'static Site,
    real: LaunchList,
    list: Ptr,
    count: i32,
    flags: Flags,
) -> i32 {
    // SAFETY: the program's list; forwarded as it came.
    unsafe {
        let entry = |at| by_stub(at, 0);
        list::recorded(site, stack!(), list, count as u32, entry, || real(list, count, flags))
    }
}

/// `hipModuleLaunchCooperativeKernelMultiDevice`.
pub unsafe fn module_launch_multi_device(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, u32, Flags) -> i32,
    list: Ptr,
    count: u32,
    flags: Flags,
) -> i32 {
    // SAFETY: the program's list; forwarded as it came.
    unsafe {
        let entry = |at| by_function(at, LAUNCH_COOPERATIVE);
        list::recorded(site, stack!(), list, count, entry, || real(list, count, flags))
    }
}
