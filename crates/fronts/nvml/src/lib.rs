//! libnvidia-ml.so.1: NVML, with which management tools and frameworks query devices, for the devices of libvcuda.so.
//!
//! Count, names, memory and versions are the driver's. A device that is no GPU has no temperature, clock or fan:
//! those queries return "not supported", and its utilisation is 0. Functions that are not exported are missing for
//! programs, as in an older driver. Source: NVML's API reference. Must not know: which backend there is.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod driver;

use std::ffi::{c_char, c_void};

/// `nvmlReturn_t`.
mod status {
    pub const SUCCESS: i32 = 0;
    pub const UNINITIALIZED: i32 = 1;
    pub const INVALID_ARGUMENT: i32 = 2;
    pub const NOT_SUPPORTED: i32 = 3;
    pub const NOT_FOUND: i32 = 6;
    pub const INSUFFICIENT_SIZE: i32 = 7;
    pub const UNKNOWN: i32 = 999;
}
use status::*;

/// A device: its number plus one, so that none is null.
type Device = usize;

/// The result of `nvmlSystemGetDriverVersion`: the branch of NVIDIA's driver that introduced CUDA
/// 13.
const DRIVER: &[u8] = b"580.0\0";
/// The result of `nvmlSystemGetNVMLVersion`.
const NVML: &[u8] = b"13.580.0\0";

/// `nvmlMemory_t`.
#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
pub struct Memory2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// `nvmlUtilization_t`, in percent.
#[repr(C)]
pub struct Utilization {
    gpu: u32,
    memory: u32,
}

/// `nvmlPciInfo_t` since version 3.
#[repr(C)]
pub struct Pci {
    bus_id_legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    pci_device_id: u32,
    pci_subsystem_id: u32,
    bus_id: [u8; 32],
}

/// How many devices there are.
fn devices() -> Result<u32, i32> {
    let mut count = 0;
    // SAFETY: our own variable; starting the driver again has no effect.
    match unsafe { (driver::init(0), driver::count(&mut count)) } {
        (0, 0) => Ok(count.max(0) as u32),
        // CUDA_ERROR_NO_DEVICE.
        (100, _) => Ok(0),
        _ => Err(UNINITIALIZED),
    }
}

/// The number of a device.
fn number(device: Device) -> Result<i32, i32> {
    let number =
        device.checked_sub(1).and_then(|n| u32::try_from(n).ok()).ok_or(INVALID_ARGUMENT)?;
    if number < devices()? { Ok(number as i32) } else { Err(INVALID_ARGUMENT) }
}

/// CUDA's status as NVML's.
fn cuda(status: i32) -> Result<(), i32> {
    if status == 0 { Ok(()) } else { Err(UNKNOWN) }
}

/// Writes a result.
///
/// # Safety
/// `to` is null or valid.
unsafe fn give<T>(to: *mut T, value: T) -> Result<(), i32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: not null, hence a place for a `T` by the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a string with its NUL.
///
/// # Safety
/// `to` is null or has `size` bytes.
unsafe fn text(to: *mut c_char, size: u32, text: &[u8]) -> Result<(), i32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() > size as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: checked, and the caller promises the rest.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len()) };
    Ok(())
}

/// Total and free bytes of a device. Without a context of that device all count as free.
fn memory(device: i32) -> Result<(u64, u64), i32> {
    let (mut total, mut free, mut all) = (0usize, 0usize, 0usize);
    let (mut context, mut own) = (std::ptr::null_mut::<c_void>(), -1);
    // SAFETY: our own variables.
    unsafe {
        cuda(driver::memory(&mut total, device))?;
        let here = driver::context(&mut context) == 0 && !context.is_null();
        if here
            && driver::device(&mut own) == 0
            && own == device
            && driver::free(&mut free, &mut all) == 0
        {
            return Ok((all as u64, free as u64));
        }
    }
    Ok((total as u64, total as u64))
}

/// `GPU-` and the identifier in the usual form, with its NUL.
fn uuid(device: i32) -> Result<[u8; 41], i32> {
    let mut bytes = [0u8; 16];
    // SAFETY: our own variable.
    cuda(unsafe { driver::uuid(&mut bytes, device) })?;
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    let mut text = [0u8; 41];
    let mut places = text.iter_mut();
    let mut put = |byte: u8| {
        if let Some(place) = places.next() {
            *place = byte;
        }
    };
    b"GPU-".iter().for_each(|byte| put(*byte));
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            put(b'-');
        }
        put(digit(byte >> 4));
        put(digit(byte & 15));
    }
    Ok(text)
}

fn pci(device: i32) -> Result<Pci, i32> {
    let mut short = [0u8; 16];
    let [mut domain, mut bus, mut slot] = [0i32; 3];
    // SAFETY: our own variables.
    unsafe {
        cuda(driver::bus(short.as_mut_ptr().cast(), 16, device))?;
        // CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, _BUS_ID, _DEVICE_ID.
        cuda(driver::attribute(&mut domain, 50, device))?;
        cuda(driver::attribute(&mut bus, 33, device))?;
        cuda(driver::attribute(&mut slot, 34, device))?;
    }
    // The long form has eight digits of the domain.
    let mut long = [0u8; 32];
    let behind = long.iter_mut().skip(4).zip(short);
    behind.for_each(|(to, from)| *to = from);
    long.iter_mut().take(4).for_each(|to| *to = b'0');
    Ok(Pci {
        bus_id_legacy: short,
        domain: domain as u32,
        bus: bus as u32,
        device: slot as u32,
        pci_device_id: 0,
        pci_subsystem_id: 0,
        bus_id: long,
    })
}

/// Exports functions that return an `nvmlReturn_t`.
macro_rules! functions {
    ($(fn $($name:ident)+ ($($argument:ident: $ty:ty),*) $body:block)*) => {$(
        functions!(@each [$($name)+] ($($argument: $ty),*) $body);
    )*};
    (@each [] $arguments:tt $body:block) => {};
    (@each [$name:ident $($rest:ident)*] ($($argument:ident: $ty:ty),*) $body:block) => {
        /// As in nvml.h.
        ///
        /// # Safety
        /// Pointers are valid, or null.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> i32 {
            #[allow(unused_unsafe)]
            unsafe fn body($($argument: $ty),*) -> Result<(), i32> {
                // SAFETY: the caller's pointers are valid or null, and each body looks at null.
                unsafe { $body }
            }
            // SAFETY: a program passes pointers that are null or valid, as nvml.h requires.
            unsafe { body($($argument),*) }.err().unwrap_or(SUCCESS)
        }
        functions!(@each [$($rest)*] ($($argument: $ty),*) $body);
    };
}

functions! {
    fn nvmlInit nvmlInit_v2 () { devices().map(drop) }
    fn nvmlInitWithFlags (_flags: u32) { devices().map(drop) }
    fn nvmlShutdown () { Ok(()) }
    fn nvmlSystemGetDriverVersion (version: *mut c_char, size: u32) { text(version, size, DRIVER) }
    fn nvmlSystemGetNVMLVersion (version: *mut c_char, size: u32) { text(version, size, NVML) }
    fn nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2 (version: *mut i32) {
        let mut number = 0;
        cuda(driver::version(&mut number))?;
        give(version, number)
    }
    fn nvmlDeviceGetCount nvmlDeviceGetCount_v2 (count: *mut u32) { give(count, devices()?) }
    fn nvmlDeviceGetHandleByIndex nvmlDeviceGetHandleByIndex_v2 (index: u32, device: *mut Device) {
        let handle = (index as usize).wrapping_add(1);
        number(handle)?;
        give(device, handle)
    }
    fn nvmlDeviceGetHandleByUUID (wanted: *const c_char, device: *mut Device) {
        if wanted.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let wanted = std::ffi::CStr::from_ptr(wanted).to_bytes_with_nul();
        // cuda.core gives what CUDA calls it, without the prefix.
        let is_it = |n: &u32| uuid(*n as i32).is_ok_and(|text| text == *wanted || text.strip_prefix(b"GPU-") == Some(wanted));
        let found = (0..devices()?).find(is_it).ok_or(NOT_FOUND)?;
        give(device, found as usize + 1)
    }
    fn nvmlDeviceGetIndex nvmlDeviceGetMinorNumber (device: Device, index: *mut u32) {
        give(index, number(device)? as u32)
    }
    fn nvmlDeviceGetName (device: Device, name: *mut c_char, size: u32) {
        let number = number(device)?;
        if name.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        cuda(driver::name(name, i32::try_from(size).unwrap_or(i32::MAX), number))
    }
    fn nvmlDeviceGetUUID (device: Device, to: *mut c_char, size: u32) { text(to, size, &uuid(number(device)?)?) }
    fn nvmlDeviceGetMemoryInfo (device: Device, to: *mut Memory) {
        let (total, free) = memory(number(device)?)?;
        give(to, Memory { total, free, used: total.saturating_sub(free) })
    }
    fn nvmlDeviceGetMemoryInfo_v2 (device: Device, to: *mut Memory2) {
        let (total, free) = memory(number(device)?)?;
        if to.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let version = (*to).version;
        give(to, Memory2 { version, total, reserved: 0, free, used: total.saturating_sub(free) })
    }
    fn nvmlDeviceGetUtilizationRates (device: Device, to: *mut Utilization) {
        number(device)?;
        give(to, Utilization { gpu: 0, memory: 0 })
    }
    fn nvmlDeviceGetCudaComputeCapability (device: Device, major: *mut i32, minor: *mut i32) {
        let number = number(device)?;
        let (mut high, mut low) = (0, 0);
        // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR.
        cuda(driver::attribute(&mut high, 75, number))?;
        cuda(driver::attribute(&mut low, 76, number))?;
        give(major, high)?;
        give(minor, low)
    }
    fn nvmlDeviceGetPciInfo_v3 (device: Device, to: *mut Pci) { give(to, pci(number(device)?)?) }
    // No other process uses memory of this process's own device.
    fn nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetComputeRunningProcesses_v2
        nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses
        nvmlDeviceGetGraphicsRunningProcesses_v2 nvmlDeviceGetGraphicsRunningProcesses_v3
        (device: Device, count: *mut u32, _processes: *mut c_void) {
        number(device)?;
        give(count, 0)
    }
}

/// Queries about a GPU's hardware: no output is written. Each has the device as first argument.
macro_rules! not_supported {
    ($($name:ident)*) => { functions! { $(fn $name (device: Device) { number(device)?; Err(NOT_SUPPORTED) })* } };
}

not_supported! {
    nvmlDeviceGetBrand nvmlDeviceGetClockInfo nvmlDeviceGetMaxClockInfo nvmlDeviceGetCurrentClocksThrottleReasons
    nvmlDeviceGetDisplayActive nvmlDeviceGetDisplayMode nvmlDeviceGetEccMode nvmlDeviceGetEnforcedPowerLimit
    nvmlDeviceGetFanSpeed nvmlDeviceGetMigMode nvmlDeviceGetNvLinkCapability nvmlDeviceGetNvLinkRemotePciInfo
    nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState nvmlDeviceGetP2PStatus nvmlDeviceGetPcieThroughput
    nvmlDeviceGetPerformanceState nvmlDeviceGetPersistenceMode nvmlDeviceGetPowerManagementLimit
    nvmlDeviceGetPowerUsage nvmlDeviceGetSerial nvmlDeviceGetTemperature nvmlDeviceGetTopologyCommonAncestor
    nvmlDeviceGetTotalEccErrors nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetVbiosVersion
}

/// A static text.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: i32) -> *const c_char {
    let text = match result {
        SUCCESS => c"Success",
        UNINITIALIZED => c"Uninitialized",
        INVALID_ARGUMENT => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        NOT_FOUND => c"Not Found",
        INSUFFICIENT_SIZE => c"Insufficient Size",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}
