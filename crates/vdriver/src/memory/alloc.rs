//! Synchronous allocation and freeing of device and managed memory.
//!
//! Source: CUDA Driver API, "Memory Management". Must not know: pools, copies.

use cushim_abi::types::*;

use super::Source;
use super::take::{self, allocate};
use crate::context::{current, current_to_free, top};
use crate::device::device;
use crate::entry::{entry, on_stream};
use crate::state::{accelerator, check, give, offer, pointer, take_all};
use crate::status;
use crate::stream::{capture, resolve};
use cushim_accel::MemoryKind;

/// A row pitch that suits every device (`cuMemAllocPitch`).
const PITCH: usize = 512;

fn device_memory(bytes: usize) -> Result<u64, i32> {
    let context = current()?;
    capture::refuse_unsafe()?;
    if bytes == 0 {
        return Err(status::INVALID_VALUE);
    }
    let address = allocate(context.device, MemoryKind::Device, bytes)?;
    super::add(&context, Source::Device, address, bytes, 0);
    Ok(address)
}

entry! {
    fn cuMemAlloc_v2 (dptr: Out<Ptr>, bytesize: usize) {
        current()?;
        if dptr.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(dptr, Ptr(device_memory(bytesize)? as usize))
    }

    fn cuMemAllocPitch_v2 (dptr: Out<Ptr>, pPitch: Out<usize>, WidthInBytes: usize, Height: usize, ElementSizeBytes: u32) {
        current()?;
        if dptr.is_null() || pPitch.is_null() || !matches!(ElementSizeBytes, 4 | 8 | 16) {
            return Err(status::INVALID_VALUE);
        }
        let pitch = WidthInBytes.checked_next_multiple_of(PITCH);
        let bytes = pitch.and_then(|pitch| pitch.checked_mul(Height));
        let address = device_memory(bytes.ok_or(status::OUT_OF_MEMORY)?)?;
        give(pPitch, pitch.unwrap_or(0))?;
        give(dptr, Ptr(address as usize))
    }

    fn cuMemAllocManaged (dptr: Out<Ptr>, bytesize: usize, flags: Flags) {
        let context = current()?;
            // CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST.
        if dptr.is_null() || bytesize == 0 || !matches!(flags.0, 1 | 2) {
            return Err(status::INVALID_VALUE);
        }
        let address = allocate(context.device, MemoryKind::Managed, bytesize)?;
        super::add(&context, Source::Managed, address, bytesize, flags.0);
        give(dptr, Ptr(address as usize))
    }

    fn cuMemFree_v2 (dptr: Ptr) {
        current_to_free(dptr)?;
        if dptr.0 == 0 {
            return Ok(());
        }
            capture::refuse_unsafe()?;
        if let Some(allocation) = crate::graph::memory::give_back(dptr.0 as u64) {
            super::quiesce();
            drop(allocation);
            return Ok(());
        }
        let of = [Source::Device, Source::Managed, Source::Pool, Source::ManagedPool];
        super::release::free(dptr.0 as u64, &of)
    }

    fn cuMemGetInfo_v2 (free: Out<usize>, total: Out<usize>) {
        let context = current()?;
        offer(free, take::free(context.device) as usize);
        offer(total, take::total(context.device) as usize);
        Ok(())
    }

    fn cuMemGetAddressRange_v2 (pbase: Out<Ptr>, psize: Out<usize>, dptr: Ptr) {
        check()?;
        let range = super::find(dptr.0 as u64).ok_or(status::NOT_FOUND)?;
        offer(pbase, Ptr(range.base as usize));
        offer(psize, range.bytes);
        Ok(())
    }

    fn cuMemAdvise (devPtr: Ptr, count: usize, advice: i32, device: Device) {
        current()?;
        advise_device(devPtr, count, advice, device.0)
    }

    fn cuMemAdvise_v2 (devPtr: Ptr, count: usize, advice: i32, location: Location) {
        current()?;
        advise(devPtr, count, advice, Place::of_location(location))
    }

    fn cuMemRangeGetAttribute (data: Ptr, dataSize: usize, attribute: i32, devPtr: Ptr, count: usize) {
        current()?;
        managed(devPtr, count)?;
        // SAFETY: as many bytes as the call says.
        unsafe { range_attribute(data, dataSize, attribute) }
    }

    fn cuMemRangeGetAttributes (data: Ptr, dataSizes: Ptr, attributes: Ptr, numAttributes: usize, devPtr: Ptr, count: usize) {
        current()?;
        managed(devPtr, count)?;
        if numAttributes == 0 {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many of each as the call says.
        let (places, sizes): (Vec<usize>, Vec<usize>) =
            unsafe { (take_all(data, numAttributes)?, take_all(dataSizes, numAttributes)?) };
        // SAFETY: as many as the call says.
        let which: Vec<i32> = unsafe { take_all(attributes, numAttributes)? };
        for ((place, size), which) in places.into_iter().zip(sizes).zip(which) {
            // SAFETY: as many bytes as the call says of each.
            unsafe { range_attribute(Ptr(place), size, which)? };
        }
        Ok(())
    }
}

on_stream! { hStream;
    fn cuMemPrefetchAsync cuMemPrefetchAsync_ptsz (devPtr: Ptr, count: usize, dstDevice: Device, hStream: Stream) {
        resolve(hStream)?;
        prefetch(devPtr, count, Place::of_device(dstDevice.0))
    }

    fn cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz (devPtr: Ptr, count: usize, location: Location, flags: Flags, hStream: Stream) {
        resolve(hStream)?;
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        prefetch(devPtr, count, Place::of_location(location))
    }

    fn cuStreamAttachMemAsync cuStreamAttachMemAsync_ptsz (hStream: Stream, dptr: Ptr, length: usize, flags: Flags) {
        resolve(hStream)?;
        // CU_MEM_ATTACH_GLOBAL, _HOST, _SINGLE: memory is visible to all here in any case.
        if !matches!(flags.0, 1 | 2 | 4) {
            return Err(status::INVALID_VALUE);
        }
        managed(dptr, length)?;
        // All of an allocation (measured).
        match super::find(dptr.0 as u64) {
            Some(range) if length != 0 && length != range.bytes => Err(status::INVALID_VALUE),
            _ => Ok(()),
        }
    }
}

/// Checks that a range is managed memory, or host memory where devices can use that.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn managed(address: Ptr, bytes: usize) -> Result<(), i32> {
    if bytes == 0 && address.0 == 0 {
        return Err(status::INVALID_VALUE);
    }
    let device = top().map_or(0, |context| context.device);
    let visible = accelerator().devices().get(device).is_some_and(|d| d.host_visible);
    match super::inside(address.0 as u64, bytes) {
        Ok(range) if range.source.is_managed() => Ok(()),
        Err(_) if visible && super::is_pageable(address.0 as u64) && address.0 >= 4096 => Ok(()),
        _ => Err(status::INVALID_VALUE),
    }
}

/// A memory location as programs name it (`CUmemLocation`); the valid values were measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A device by number, which need not exist.
    Device(i32),
    Host,
    /// A node of the host's memory by number.
    Node(i32),
    CurrentNode,
    Nowhere,
}

impl Place {
    /// For the old functions: CU_DEVICE_CPU is -1.
    fn of_device(number: i32) -> Place {
        if number == -1 { Place::Host } else { Place::Device(number) }
    }

    /// Type in the low half, number in the high half.
    fn of_location(location: Location) -> Place {
        let id = (location.0 >> 32) as i32;
        match location.0 as i32 {
            1 => Place::Device(id),
            2 => Place::Host,
            3 => Place::Node(id),
            4 => Place::CurrentNode,
            _ => Place::Nowhere,
        }
    }

    fn is_there(self) -> bool {
        match self {
            Place::Device(number) => device(Device(number)).is_ok(),
            // This driver has one NUMA node.
            Place::Node(number) => number == 0,
            Place::Host | Place::CurrentNode => true,
            Place::Nowhere => false,
        }
    }
}

/// Checks a prefetch to a location.
///
/// # Errors
/// CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE.
pub fn prefetch_to(address: Ptr, bytes: usize, to: Location) -> Result<(), i32> {
    prefetch(address, bytes, Place::of_location(to))
}

fn prefetch(address: Ptr, bytes: usize, to: Place) -> Result<(), i32> {
    match to {
        Place::Device(_) if !to.is_there() => return Err(status::INVALID_DEVICE),
        _ if !to.is_there() || bytes == 0 => return Err(status::INVALID_VALUE),
        _ => {}
    }
    // Nothing moves here.
    managed(address, bytes)
}

/// As [`advise`], for the old functions, which report an invalid device as such (measured).
fn advise_device(address: Ptr, bytes: usize, advice: i32, number: i32) -> Result<(), i32> {
    let place = Place::of_device(number);
    if matches!(advice, 3 | 5 | 6) && !place.is_there() {
        return Err(status::INVALID_DEVICE);
    }
    advise(address, bytes, advice, place)
}

fn advise(address: Ptr, bytes: usize, advice: i32, place: Place) -> Result<(), i32> {
    // CU_MEM_ADVISE_SET_READ_MOSTLY ... UNSET_ACCESSED_BY: nothing moves here, so nothing is to be done.
    let takes = match advice {
        // The location is ignored for these.
        1 | 2 | 4 => place != Place::Nowhere,
        3 => place.is_there(),
        5 | 6 => matches!(place, Place::Device(_) | Place::Host) && place.is_there(),
        _ => false,
    };
    if !takes || bytes == 0 {
        return Err(status::INVALID_VALUE);
    }
    managed(address, bytes)
}

unsafe fn range_attribute(to: Ptr, size: usize, attribute: i32) -> Result<(), i32> {
    // Read mostly: no. Preferred location, last prefetch: none (CU_DEVICE_INVALID, -2). Accessed
    // by: none.
    let (value, several) = match attribute {
        1 => (0, false),
        2 | 4 => (-2, false),
        3 => (-2, true),
        _ => return Err(status::INVALID_VALUE),
    };
    if size == 0 || !size.is_multiple_of(4) || (!several && size != 4) {
        return Err(status::INVALID_VALUE);
    }
    let place = pointer::<i32>(to);
    if place.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's place has `size` bytes.
    (0..size / 4).for_each(|index| unsafe { place.add(index).write_unaligned(value) });
    Ok(())
}
