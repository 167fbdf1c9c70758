//! Pointer attributes.
//!
//! Source: CUDA Driver API, "Unified Addressing" (`CUpointer_attribute`). Must not know: allocation.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::{Range, Source};
use crate::argument::In;
use crate::context::{current, top};
use crate::entry::entry;
use crate::state::{at, check, give, take_all};
use crate::status;

entry! {
    fn cuPointerGetAttribute (data: Ptr, attribute: i32, ptr: Ptr) {
        current()?;
        let range = super::find(ptr.0 as u64);
        if range.is_none() {
            return Err(status::INVALID_VALUE);
        }
        let none = range.as_ref().is_some_and(|range| match attribute {
            HOST_POINTER => range.host == 0,
            DEVICE_POINTER => !on_device(range),
            _ => false,
        });
        if none {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: room for the attribute's value.
        unsafe { answer(data, attribute, ptr, range.as_ref()) }
    }

    fn cuPointerGetAttributes (numAttributes: u32, attributes: Ptr, data: Ptr, ptr: Ptr) {
        // This also works in a context whose work has failed (measured).
        check()?;
        top().ok_or(status::INVALID_CONTEXT)?;
        let count = numAttributes as usize;
        // SAFETY: as many of each as the call says.
        let (which, places): (Vec<i32>, Vec<usize>) = unsafe { (take_all(attributes, count)?, take_all(data, count)?) };
        if which.is_empty() {
            return Err(status::INVALID_VALUE);
        }
        // For a pointer that is not CUDA's, everything is 0 here, without an error.
        let range = super::find(ptr.0 as u64);
        for (which, place) in which.into_iter().zip(places) {
            // SAFETY: room for the value of each attribute.
            unsafe { answer(Ptr(place), which, ptr, range.as_ref())? };
        }
        Ok(())
    }

    fn cuPointerSetAttribute (value: In<u32>, attribute: i32, ptr: Ptr) {
        current()?;
        let range = super::find(ptr.0 as u64).ok_or(status::INVALID_VALUE)?;
        // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is the only one that can be set.
        if attribute != 6 {
            return Err(status::INVALID_VALUE);
        }
        range.sync.store(value.read()?, Ordering::Relaxed);
        Ok(())
    }
}

/// `CU_POINTER_ATTRIBUTE_HOST_POINTER`.
const HOST_POINTER: i32 = 4;

/// `CU_POINTER_ATTRIBUTE_DEVICE_POINTER`.
const DEVICE_POINTER: i32 = 3;

/// Whether it is memory of a pool of the host.
fn of_hosts_pool(range: &Range) -> bool {
    range.source == Source::Pool && range.host != 0
}

/// Whether it has an address on the current device: memory of a pool of the host needs the device's access (an H200).
fn on_device(range: &Range) -> bool {
    !of_hosts_pool(range) || super::home::is_open(range)
}

unsafe fn answer(
    to: Ptr,
    attribute: i32,
    pointer: Ptr,
    range: Option<&Arc<Range>>,
) -> Result<(), i32> {
    let host = |range: &Range| {
        matches!(range.source, Source::Host | Source::Registered) || of_hosts_pool(range)
    };
    let offset = range.map_or(0, |range| pointer.0 as u64 - range.base);
    // Words of 8 or 4 bytes, booleans: a wider store would overrun the program's variable.
    let (word, bytes) = match (attribute, range) {
        // Context; memory type (1 host, 2 device); device pointer; host pointer.
        (1, found) => (found.map_or(0, |range| range.context_handle as u64), 8),
        (2, found) => (found.map_or(0, |range| if host(range) { 1 } else { 2 }), 4),
        (3, found) => {
            let found = found.filter(|range| on_device(range));
            (found.map_or(0, |range| range.device_address + offset), 8)
        }
        (4, found) => match found.filter(|range| range.host != 0) {
            Some(range) => (range.host + offset, 8),
            None => (0, 8),
        },
        (6, found) => (found.map_or(0, |range| u64::from(range.sync.load(Ordering::Relaxed))), 4),
        // Buffer id; managed; device ordinal (CU_DEVICE_INVALID is -2).
        (7, found) => (found.map_or(0, |range| range.id), 8),
        (8, found) => (found.map_or(0, |range| u64::from(range.source.is_managed())), 4),
        (9, found) => (found.map_or(-2i64 as u64, |range| range.device as u64), 4),
        // Capable of interprocess sharing with the old functions: no.
        (10, _) => (0, 4),
        // Range: first address, bytes. Mapped.
        (11, found) => (found.map_or(0, |range| range.base), 8),
        (12, found) => (found.map_or(0, |range| range.bytes as u64), 8),
        (13, found) => (u64::from(found.is_some()), 4),
        // Handle types; GPUDirect RDMA.
        (14, _) => (0, 8),
        (15, _) => (0, 4),
        // Access: 3, read and write.
        (16, found) => (if found.is_some() { 3 } else { 0 }, 4),
        // Memory pool; the mapping's size, first address and id, which are the range's.
        (17, found) => (found.map_or(0, |range| range.pool as u64), 8),
        (18, found) => (found.map_or(0, |range| range.bytes as u64), 8),
        (19, found) => (found.map_or(0, |range| range.base), 8),
        (20, found) => (found.map_or(0, |range| range.id), 8),
        // Hardware decompression; locality domain: none.
        (21, _) => (0, 4),
        (22, _) => (u64::from(u32::MAX), 4),
        _ => return Err(status::INVALID_VALUE),
    };
    // SAFETY: the caller's place has the attribute's size.
    unsafe {
        match bytes {
            8 => give(at(to), word),
            _ => give(at(to), word as u32),
        }
    }
}
