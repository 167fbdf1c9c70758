//! What the driver says of a device, as NVML's structures want it, and how results are written.
//!
//! Owns: handles, and the structures. Must not know: which functions there are.

use std::ffi::{c_char, c_void};

use crate::driver;
use crate::status::*;

/// A device: its number plus one, so that none is null.
pub type Device = usize;

/// The result of `nvmlSystemGetDriverVersion`: the branch of NVIDIA's driver that introduced CUDA
/// 13.
pub const DRIVER: &[u8] = b"580.0\0";
/// The result of `nvmlSystemGetNVMLVersion`.
pub const NVML: &[u8] = b"13.580.0\0";

/// `nvmlMemory_t`.
#[repr(C)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
pub struct Memory2 {
    pub version: u32,
    pub total: u64,
    pub reserved: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlUtilization_t`, in percent.
#[repr(C)]
pub struct Utilization {
    pub gpu: u32,
    pub memory: u32,
}

/// `nvmlPciInfo_t` since version 3.
#[repr(C)]
pub struct Pci {
    pub bus_id_legacy: [u8; 16],
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pci_device_id: u32,
    pub pci_subsystem_id: u32,
    pub bus_id: [u8; 32],
}

/// How many devices there are.
pub fn devices() -> Result<u32, i32> {
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
pub fn number(device: Device) -> Result<i32, i32> {
    let number =
        device.checked_sub(1).and_then(|n| u32::try_from(n).ok()).ok_or(INVALID_ARGUMENT)?;
    if number < devices()? { Ok(number as i32) } else { Err(INVALID_ARGUMENT) }
}

/// CUDA's status as NVML's.
pub fn cuda(status: i32) -> Result<(), i32> {
    if status == 0 { Ok(()) } else { Err(UNKNOWN) }
}

/// Writes a result.
///
/// # Safety
/// `to` is null or valid.
pub unsafe fn give<T>(to: *mut T, value: T) -> Result<(), i32> {
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
pub unsafe fn text(to: *mut c_char, size: u32, text: &[u8]) -> Result<(), i32> {
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
pub fn memory(device: i32) -> Result<(u64, u64), i32> {
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
pub fn uuid(device: i32) -> Result<[u8; 41], i32> {
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

pub fn pci(device: i32) -> Result<Pci, i32> {
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

/// `nvmlPciInfo_t` before its third version: the bus identifier in 16 bytes, domain, bus, device, and the device's model.
pub fn old_pci(new: Pci) -> [u32; 8] {
    let mut words = [0u32; 8];
    for (to, from) in words.iter_mut().zip(new.bus_id_legacy.chunks_exact(4)) {
        *to = from.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let [a, b, c, d, ..] = words;
    [a, b, c, d, new.domain, new.bus, new.device, new.pci_device_id]
}

/// Domain, bus and device of `0000:01:00.0`, `00000000:01:00.0` or `01:00.0`.
pub fn place(text: &[u8]) -> Option<(u32, u32, u32)> {
    let text = std::str::from_utf8(text).ok()?;
    let (text, _function) = text.split_once('.').unwrap_or((text, "0"));
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let mut parts = text.rsplit(':').map(hex);
    let (device, bus) = (parts.next()??, parts.next()??);
    let domain = parts.next().unwrap_or(Some(0))?;
    parts.next().is_none().then_some((domain, bus, device))
}

/// `nvmlDeviceArchitecture_t` of a compute capability: 7.0 is Volta's (5), 7.5 Turing's, 8.9 Ada's.
pub fn architecture(major: i32, minor: i32) -> u32 {
    const UNKNOWN: u32 = 0xffff_ffff;
    match (major, minor) {
        (7, 0..=2) => 5,
        (7, _) => 6,
        (8, 0..=7) => 7,
        (8, _) => 8,
        (9, _) => 9,
        (10.., _) => 10,
        _ => UNKNOWN,
    }
}
