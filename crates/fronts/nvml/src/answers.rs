//! The functions that have an answer for a device that is no GPU.
//!
//! Owns: their signatures. Source: NVML's API reference and nvml.h of CUDA 13.5. Must not know: how the driver is called
//! but for what [`device`](crate::device) does not cover.

use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStringExt;

use crate::device::*;
use crate::driver;
use crate::status::*;

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
    fn nvmlDeviceGetHandleByPciBusId nvmlDeviceGetHandleByPciBusId_v2 (wanted: *const c_char, device: *mut Device) {
        if wanted.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let wanted = place(std::ffi::CStr::from_ptr(wanted).to_bytes()).ok_or(INVALID_ARGUMENT)?;
        let is_it = |n: &u32| pci(*n as i32).is_ok_and(|pci| (pci.domain, pci.bus, pci.device) == wanted);
        let found = (0..devices()?).find(is_it).ok_or(NOT_FOUND)?;
        give(device, found as usize + 1)
    }
    fn nvmlDeviceGetHandleBySerial (serial: *const c_char, _device: *mut Device) {
        // No device has a serial number.
        Err(if serial.is_null() { INVALID_ARGUMENT } else { NOT_FOUND })
    }
    // The structures before the third version end earlier.
    fn nvmlDeviceGetPciInfo (device: Device, to: *mut [u32; 8]) { give(to, old_pci(pci(number(device)?)?)) }
    fn nvmlDeviceGetPciInfo_v2 (device: Device, to: *mut [u32; 9]) {
        let [a, b, c, d, e, f, g, h] = old_pci(pci(number(device)?)?);
        give(to, [a, b, c, d, e, f, g, h, 0])
    }
    fn nvmlDeviceGetArchitecture (device: Device, to: *mut u32) {
        let number = number(device)?;
        let (mut major, mut minor) = (0, 0);
        cuda(driver::attribute(&mut major, 75, number))?;
        cuda(driver::attribute(&mut minor, 76, number))?;
        give(to, architecture(major, minor))
    }
    fn nvmlDeviceGetComputeMode (device: Device, to: *mut i32) {
        let mut mode = 0;
        // CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, with NVML's values.
        cuda(driver::attribute(&mut mode, 20, number(device)?))?;
        give(to, mode)
    }
    fn nvmlDeviceGetMemoryBusWidth (device: Device, bits: *mut u32) {
        let mut width = 0;
        // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH.
        cuda(driver::attribute(&mut width, 37, number(device)?))?;
        give(bits, width as u32)
    }
    fn nvmlDeviceGetMultiGpuBoard (device: Device, to: *mut u32) {
        number(device)?;
        give(to, 0)
    }
    fn nvmlUnitGetCount nvmlGetExcludedDeviceCount (count: *mut u32) { give(count, 0) }
    fn nvmlSystemGetProcessName (process: u32, name: *mut c_char, size: u32) {
        let mut path = std::fs::read_link(format!("/proc/{process}/exe")).map_err(|_| NOT_FOUND)?.into_os_string().into_vec();
        path.push(0);
        text(name, size, &path)
    }
    // No other process uses memory of this process's own device.
    fn nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetComputeRunningProcesses_v2
        nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses
        nvmlDeviceGetGraphicsRunningProcesses_v2 nvmlDeviceGetGraphicsRunningProcesses_v3
        nvmlDeviceGetMPSComputeRunningProcesses nvmlDeviceGetMPSComputeRunningProcesses_v2
        nvmlDeviceGetMPSComputeRunningProcesses_v3
        (device: Device, count: *mut u32, _processes: *mut c_void) {
        number(device)?;
        give(count, 0)
    }
}
