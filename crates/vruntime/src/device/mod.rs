//! Devices: their number, a thread's device, their properties, limits and flags.
//!
//! Owns the runtime's device queries. Attributes, limits and flags have the driver's numbers. Must not know: memory,
//! launches.

pub mod asked;
mod properties;

pub use properties::*;

use std::sync::Mutex;

use cushim_abi::types::*;

use super::error::code;
use super::forward::{PerThread, done, forwards, functions, give, pass};
use super::{context, error};
use cushim_accel::locks::lock;
use cushim_vbase::api;

impl PerThread for Str {}

/// The devices that cudaSetValidDevices allows; empty for all.
static VALID: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// One driver call that needs no context.
fn plain(call: impl Fn() -> i32) -> Status {
    done(context::init().and_then(|()| match call() {
        0 => Ok(()),
        result => Err(error::from_driver(result)),
    }))
}

/// `CU_CTX_SCHED_MASK`: one way of waiting, or none.
const SCHEDULE: u32 = 7;
/// Mapped memory, which every context has: not passed to the driver, and always read back
/// (measured).
const MAP_HOST: u32 = 8;
/// The flags passed to the driver and read back: the schedule, kept local memory, synchronous
/// copies.
const HANDED_ON: u32 = SCHEDULE | 0x10 | 0x80;

/// The driver's flags for flags of the program (`cudaDeviceMask`; 32 and 64 are accepted and
/// ignored, measured).
fn valid_flags<const MAJOR: usize>(flags: u32) -> Result<Flags, Status> {
    let all = if MAJOR >= 12 { 0xff } else { 0x1f };
    if flags & !all != 0 || !matches!(flags & SCHEDULE, 0 | 1 | 2 | 4) {
        return Err(code::INVALID_VALUE);
    }
    Ok(Flags(flags & HANDED_ON))
}

fn set_flags<const MAJOR: usize>(device: i32, flags: u32) -> Result<(), Status> {
    let flags = valid_flags::<MAJOR>(flags)?;
    // SAFETY: no pointers.
    match unsafe { api::cuDevicePrimaryCtxSetFlags_v2(Device(device), flags) } {
        0 => Ok(()),
        result => Err(error::from_driver(result)),
    }
}

fn flags() -> Result<u32, Status> {
    let device = context::current_device()?;
    let (mut flags, mut active) = (0, 0);
    // SAFETY: places for the results.
    let result = unsafe {
        api::cuDevicePrimaryCtxGetState(Device(device), Out(&mut flags), Out(&mut active))
    };
    if result == 0 { Ok(flags & HANDED_ON | MAP_HOST) } else { Err(error::from_driver(result)) }
}

fn set_valid(list: Ptr, length: i32) -> Result<(), Status> {
    context::init()?;
    let count = context::devices()?;
    let length = usize::try_from(length).map_err(|_| code::INVALID_VALUE)?;
    if length > 0 && list.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let first = std::ptr::with_exposed_provenance::<i32>(list.0);
    // SAFETY: the program's list.
    let asked: Vec<i32> = (0..length).map(|at| unsafe { first.add(at).read_unaligned() }).collect();
    if asked.iter().any(|device| !(0..count).contains(device)) {
        return Err(code::INVALID_DEVICE);
    }
    *lock(&VALID) = asked;
    Ok(())
}

/// The first of the valid devices, for [`cudaChooseDevice`].
pub(super) fn candidates() -> Result<Vec<i32>, Status> {
    let count = context::devices()?;
    let valid = lock(&VALID).clone();
    Ok(if valid.is_empty() { (0..count).collect() } else { valid })
}

functions! {
    cudaGetDeviceCount (count: Out<i32>) {
        // SAFETY: the program's place for a number, or null.
        done(context::devices().and_then(|found| unsafe { give(count, found) }))
    }

    cudaGetDevice (device: Out<i32>) {
        // SAFETY: the program's place for a number, or null.
        done(context::current_device().and_then(|found| unsafe { give(device, found) }))
    }

    cudaSetDevice (device: Device) {
        done(context::set_device::<MAJOR>(device.0))
    }

    cudaInitDevice (device: Device, deviceFlags: u32, flags: Flags) {
        // cudaInitDeviceFlagsAreValid.
        const FLAGS_ARE_VALID: u32 = 1;
        done(context::init().and_then(|()| context::devices()).and_then(|count| {
            if !(0..count).contains(&device.0) {
                return Err(code::INVALID_DEVICE);
            }
            // Other bits are ignored (measured).
            if flags.0 & FLAGS_ARE_VALID != 0 {
                set_flags::<MAJOR>(device.0, deviceFlags)?;
            }
            context::primary(device.0).map(drop)
        }))
    }

    cudaSetValidDevices (device_arr: Ptr, len: i32) {
        done(set_valid(device_arr, len))
    }

    cudaSetDeviceFlags (flags: Flags) {
        // Invalid flags are reported first, also while the process ends (measured).
        let valid = valid_flags::<MAJOR>(flags.0).map(drop);
        done(context::current_device().or_else(|error| valid.and(Err(error))).and_then(|device| set_flags::<MAJOR>(device, flags.0)))
    }

    cudaGetDeviceFlags (flags: Out<u32>) {
        // SAFETY: the program's place for a number, or null.
        done(self::flags().and_then(|found| unsafe { give(flags, found) }))
    }

    cudaDeviceGetAttribute (value: Out<i32>, attr: i32, device: Device) {
        // SAFETY: the program's place, which the driver checks.
        plain(|| unsafe { api::cuDeviceGetAttribute(value, attr, device) })
    }

    cudaDeviceGetPCIBusId (pciBusId: Ptr, len: i32, device: Device) {
        // SAFETY: the program's place for this many characters.
        plain(|| unsafe { api::cuDeviceGetPCIBusId(pciBusId, len, device) })
    }

    cudaDeviceGetByPCIBusId (device: Out<i32>, pciBusId: Str) {
        // SAFETY: a place for a number, the program's string; the driver checks both.
        plain(|| unsafe { api::cuDeviceGetByPCIBusId(Out(device.0.cast::<Device>()), pciBusId) })
    }

    cudaDeviceGetP2PAttribute (value: Out<i32>, attr: i32, srcDevice: Device, dstDevice: Device) {
        // SAFETY: the program's place for a number.
        plain(|| unsafe { api::cuDeviceGetP2PAttribute(value, attr, srcDevice, dstDevice) })
    }

    cudaDeviceGetP2PAtomicCapabilities (capabilities: Ptr, operations: Ptr, count: u32, srcDevice: Device, dstDevice: Device) {
        // SAFETY: the program's lists.
        plain(|| unsafe {
            api::cuDeviceGetP2PAtomicCapabilities(capabilities, operations, count, srcDevice, dstDevice)
        })
    }

    cudaDeviceGetHostAtomicCapabilities (capabilities: Ptr, operations: Ptr, count: u32, device: Device) {
        // SAFETY: the program's lists of so many entries.
        plain(|| unsafe {
            api::cuDeviceGetHostAtomicCapabilities(capabilities, operations, count, device)
        })
    }

    cudaDeviceGetNvSciSyncAttributes (nvSciSyncAttrList: Ptr, device: Device, flags: i32) {
        // SAFETY: the program's lists of so many entries.
        plain(|| unsafe { api::cuDeviceGetNvSciSyncAttributes(nvSciSyncAttrList, device, flags) })
    }

    cudaDeviceRegisterAsyncNotification (device: Device, callbackFunc: Ptr, userData: Ptr, callback: Out<Ptr>) {
        // SAFETY: the program's function.
        plain(|| unsafe {
            api::cuDeviceRegisterAsyncNotification(device, callbackFunc, userData, callback)
        })
    }

    cudaDeviceUnregisterAsyncNotification (device: Device, callback: Ptr) {
        // SAFETY: a handle.
        plain(|| unsafe { api::cuDeviceUnregisterAsyncNotification(device, callback) })
    }

    cudaDeviceReset () {
        done(context::reset())
    }

    cudaThreadExit () {
        done(context::reset())
    }

    cudaSetDoubleForDevice (_d: Ptr) {
        // All devices support doubles today: nothing is converted.
        done(context::init())
    }

    cudaSetDoubleForHost (_d: Ptr) {
        done(context::init())
    }

    cudaDeviceGetLimit (pValue: Out<usize>, limit: i32) {
        done(get_limit(pValue, limit))
    }

    cudaDeviceSetLimit (limit: i32, value: usize) {
        done(set_limit(limit, value))
    }

    cudaThreadSetLimit (limit: i32, value: usize) {
        done(set_limit(limit, value))
    }

    cudaThreadGetLimit (pValue: Out<usize>, limit: i32) {
        done(get_limit(pValue, limit))
    }
}

/// `cudaLimit` and room for later ones: numbers beyond are an invalid value for the runtime
/// (measured).
const LIMITS: std::ops::Range<i32> = 0..16;

fn get_limit(to: Out<usize>, limit: i32) -> Result<(), Status> {
    context::ready()?;
    if to.0.is_null() || !LIMITS.contains(&limit) {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the program's place.
    context::attempt(|| unsafe { api::cuCtxGetLimit(to, limit) })
}

fn set_limit(limit: i32, value: usize) -> Result<(), Status> {
    context::ready()?;
    if !LIMITS.contains(&limit) {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: no pointers.
    context::attempt(|| unsafe { api::cuCtxSetLimit(limit, value) })
}

forwards! {
    cudaDeviceSynchronize () = cuCtxSynchronize();
    cudaThreadSynchronize () = cuCtxSynchronize();
    cudaDeviceGetCacheConfig (pCacheConfig: Out<i32>) = cuCtxGetCacheConfig(pCacheConfig);
    cudaThreadGetCacheConfig (pCacheConfig: Out<i32>) = cuCtxGetCacheConfig(pCacheConfig);
    cudaDeviceSetCacheConfig (cacheConfig: i32) = cuCtxSetCacheConfig(cacheConfig);
    cudaThreadSetCacheConfig (cacheConfig: i32) = cuCtxSetCacheConfig(cacheConfig);
    cudaDeviceGetSharedMemConfig (pConfig: Out<i32>) = cuCtxGetSharedMemConfig(pConfig);
    cudaDeviceSetSharedMemConfig (config: i32) = cuCtxSetSharedMemConfig(config);
    cudaDeviceGetStreamPriorityRange (leastPriority: Out<i32>, greatestPriority: Out<i32>) = cuCtxGetStreamPriorityRange(leastPriority, greatestPriority);
    cudaDeviceFlushGPUDirectRDMAWrites (target: i32, scope: i32) = cuFlushGPUDirectRDMAWrites(target, scope);
    cudaCtxResetPersistingL2Cache () = cuCtxResetPersistingL2Cache();
}
