//! Devices: their number, names and properties.
//!
//! Owns the results of CUDA's device queries, derived from what the accelerator reports.
//! Source: CUDA Driver API, "Device Management". Must not know: contexts.

use cushim_abi::types::*;

use super::entry::entry;
use super::state::{accelerator, check, give, not_over, offer, pointer};
use super::status;
use crate::argument::At;

/// The version of CUDA that this driver reports: the newest whose functions it has, and that of the newest runtime over it. A
/// program whose compiler is newer than the driver makes machine code itself (Warp).
pub const VERSION: i32 = 13050;

/// A device by number.
///
/// # Errors
/// CUDA_ERROR_INVALID_DEVICE, and those of [`check`].
pub fn device(number: Device) -> Result<&'static cushim_accel::Device, i32> {
    check()?;
    let number = usize::try_from(number.0).map_err(|_| status::INVALID_DEVICE)?;
    accelerator().devices().get(number).ok_or(status::INVALID_DEVICE)
}

fn bus_id(number: i32) -> String {
    format!("0000:{:02X}:00.0", number + 1)
}

entry! {
    fn cuDriverGetVersion (driverVersion: Out<i32>) {
        not_over()?;
        give(driverVersion, VERSION)
    }

    fn cuDeviceGetCount (count: Out<i32>) {
        check()?;
        give(count, accelerator().devices().len() as i32)
    }

    fn cuDeviceGet (device: Out<Device>, ordinal: i32) {
        super::device::device(Device(ordinal))?;
        give(device, Device(ordinal))
    }

    fn cuDeviceGetName (name: Ptr, len: i32, dev: Device) {
        let text = device(dev)?.name.as_bytes();
        let room = usize::try_from(len).map_err(|_| status::INVALID_VALUE)?;
        // SAFETY: as many bytes as the call says.
        unsafe { give_text(pointer(name), text, room) }
    }

    fn cuDeviceTotalMem_v2 (bytes: Out<usize>, dev: Device) {
        let memory = device(dev)?.memory;
        give(bytes, memory as usize)
    }

    fn cuDeviceGetAttribute (pi: Out<i32>, attrib: i32, dev: Device) {
        let value = attribute(device(dev)?, dev.0, attrib).ok_or(status::INVALID_VALUE)?;
        give(pi, value)
    }

    fn cuDeviceComputeCapability (major: Out<i32>, minor: Out<i32>, dev: Device) {
        let (high, low) = device(dev)?.capability;
        give(major, high as i32)?;
        give(minor, low as i32)
    }

    fn cuDeviceGetUuid cuDeviceGetUuid_v2 (uuid: At<[u8; 16]>, dev: Device) {
        give(uuid, device(dev)?.uuid)
    }

    fn cuDeviceGetLuid (luid: Ptr, deviceNodeMask: Out<u32>, dev: Device) {
        // Windows has this number; Linux does not.
        let _ = (luid, deviceNodeMask);
        device(dev)?;
        Err(status::NOT_SUPPORTED)
    }

    fn cuDeviceGetPCIBusId (pciBusId: Ptr, len: i32, dev: Device) {
        device(dev)?;
        let room = usize::try_from(len).map_err(|_| status::INVALID_VALUE)?;
        let text = bus_id(dev.0);
        // The whole text or nothing (measured).
        if room <= text.len() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many bytes as the call says.
        unsafe { give_text(pointer(pciBusId), text.as_bytes(), room) }
    }

    fn cuDeviceGetByPCIBusId (dev: Out<Device>, pciBusId: Str) {
        check()?;
        let asked = pciBusId.read()?.to_bytes().to_ascii_uppercase();
        let same = |number: &i32| {
            let id = bus_id(*number);
            let short = id.get(5..).unwrap_or_default();
            [id.as_str(), short, short.trim_end_matches(".0")]
                .iter()
                .any(|form| form.as_bytes() == asked)
        };
        let found = (0..accelerator().devices().len() as i32).find(same);
        give(dev, Device(found.ok_or(status::INVALID_DEVICE)?))
    }

    fn cuDeviceGetProperties (prop: At<[i32; 14]>, dev: Device) {
        let found = device(dev)?;
        let of = |number| attribute(found, dev.0, number).unwrap_or(0);
        // CUdevprop_v1: threads of a block; block and grid shapes; shared, constant, warp, pitch,
        // registers, clock, texture alignment.
        give(prop, [
            of(1), of(2), of(3), of(4), of(5), of(6), of(7),
            of(8), of(9), of(10), of(11), of(12), of(13), of(14),
        ])
    }

    fn cuDeviceGetExecAffinitySupport (pi: Out<i32>, type_: i32, dev: Device) {
        let _ = type_;
        device(dev)?;
        give(pi, 0)
    }

    fn cuDeviceCanAccessPeer (canAccessPeer: Out<i32>, dev: Device, peerDev: Device) {
        device(dev)?;
        device(peerDev)?;
        give(canAccessPeer, i32::from(dev.0 != peerDev.0))
    }

    fn cuDeviceGetP2PAttribute (value: Out<i32>, attrib: i32, srcDevice: Device, dstDevice: Device) {
        device(srcDevice)?;
        device(dstDevice)?;
        if srcDevice.0 == dstDevice.0 {
            return Err(status::INVALID_DEVICE);
        }
        // Performance rank, access, native atomics, access to arrays; later attributes are
        // unsupported.
        give(value, match attrib {
            1 => 0,
            2..=4 => 1,
            5..=8 => 0,
            _ => return Err(status::INVALID_VALUE),
        })
    }

    fn cuFlushGPUDirectRDMAWrites (target: i32, scope: i32) {
        check()?;
        // Visible to the owner of the context, or to all devices; nothing writes here from outside.
        match (target, scope) {
            (0, 100 | 200) => Err(status::NOT_SUPPORTED),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuDeviceGetTexture1DLinearMaxWidth (maxWidthInElements: Out<usize>, format: i32, numChannels: u32, dev: Device) {
        let _ = (format, numChannels);
        device(dev)?;
        offer(maxWidthInElements, 0);
        Err(status::NOT_SUPPORTED)
    }
}

/// Stores a string with its NUL, cut to `room` bytes.
///
/// # Safety
/// `to` is null or has room for that many.
unsafe fn give_text(to: *mut u8, text: &[u8], room: usize) -> Result<(), i32> {
    if to.is_null() || room == 0 {
        return Err(status::INVALID_VALUE);
    }
    let text = text.get(..room - 1).unwrap_or(text);
    // SAFETY: the caller's place has `room` bytes; the text and its NUL are at most that many.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// An attribute (`CUdevice_attribute`) from the accelerator, or derived from its values. Attributes
/// of unsupported features are 0, such as textures and interprocess sharing.
pub fn attribute(device: &cushim_accel::Device, number: i32, attribute: i32) -> Option<i32> {
    if let Some((_, value)) = device.attributes.iter().find(|(id, _)| *id == attribute) {
        return Some(*value);
    }
    let threads = device.max_threads as i32;
    Some(match attribute {
        // Blocks: threads, x, y, z. Grids: x, y, z.
        1..=3 => threads,
        4 => threads.min(64),
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => device.shared.0 as i32,
        9 => 65_536,
        10 => device.warp as i32,
        11 => i32::MAX,
        // Registers of a block, of a multiprocessor.
        12 | 82 => 65_536,
        13 => device.clock as i32,
        14 => 512,
        15 => 1,
        16 => device.processors as i32,
        // Integrated: host and device share memory.
        18 => i32::from(device.host_visible),
        19 => 1,
        // Concurrent kernels, unified addressing, stream priorities.
        31 | 41 | 78 => 1,
        33 => number + 1,
        36 => device.clock as i32,
        37 => 64,
        38 => 1 << 20,
        39 => threads.max(2048),
        40 => 2,
        51 => 32,
        75 => device.capability.0 as i32,
        76 => device.capability.1 as i32,
        79 | 80 => 1,
        81 => device.shared.1.max(device.shared.0) as i32,
        // Managed memory, also while kernels run.
        83 | 89 => 1,
        85 => number,
        87 => 2,
        // Managed memory from the host without migration, registered memory at the host's address.
        // Not 88 and 100, memory that CUDA did not allocate: kernels may not access that.
        101 => i32::from(device.host_visible),
        91 => 1,
        90 | 95 | 99 => 1,
        97 => device.shared.1.max(device.shared.0) as i32,
        106 => 32,
        113 => 1,
        115 => 1,
        number if !(1..=147).contains(&number) => return None,
        _ => 0,
    })
}
