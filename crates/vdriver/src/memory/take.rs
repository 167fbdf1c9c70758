//! Allocates a device's memory, and counts it against the device's total.
//!
//! If none is left, pools first release what they hold in reserve ([`pool`]).

use super::{pool, used};
use crate::state::accelerator;
use crate::status;
use cushim_accel::MemoryKind;
use std::alloc::Layout;

/// Memory of the accelerator.
///
/// # Errors
/// As [`status::of`] says.
pub fn allocate(device: usize, kind: MemoryKind, bytes: usize) -> Result<u64, i32> {
    let more = if kind == MemoryKind::Host { None } else { Some(bytes as u64) };
    take(device, kind, bytes, more)
}

/// The same for a pool, which has counted the bytes as reserved.
///
/// # Errors
/// As [`status::of`] says.
pub fn allocate_reserved(device: usize, kind: MemoryKind, bytes: usize) -> Result<u64, i32> {
    if kind == MemoryKind::Device {
        take(device, kind, bytes, Some(0))
    } else {
        allocate(device, kind, bytes)
    }
}

/// `more`: bytes that are to be counted on the device.
fn take(device: usize, kind: MemoryKind, bytes: usize, more: Option<u64>) -> Result<u64, i32> {
    let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| status::OUT_OF_MEMORY)?;
    let attempt = || {
        if more.is_some_and(|more| !fits(device, more)) {
            return Err(status::OUT_OF_MEMORY);
        }
        accelerator().allocate(device, kind, layout).map_err(|failure| status::of(&failure))
    };
    attempt().or_else(|_| {
        pool::reclaim_all();
        attempt().inspect_err(|_| {
            if more.is_some() {
                accelerator().refused(bytes as u64, free(device));
            }
        })
    })
}

/// Bytes of a device's memory.
pub fn total(device: usize) -> u64 {
    accelerator().devices().get(device).map_or(0, |device| device.memory)
}

/// Bytes of it that are free.
pub fn free(device: usize) -> u64 {
    accelerator().left(total(device).saturating_sub(taken(device)))
}

/// Whether a device has so many bytes free.
pub fn has(device: usize, bytes: u64) -> bool {
    fits(device, bytes) && accelerator().left(bytes) >= bytes
}

fn taken(device: usize) -> u64 {
    used(device) + pool::reserved(device)
}

fn fits(device: usize, more: u64) -> bool {
    taken(device).checked_add(more).is_some_and(|sum| sum <= total(device))
}

/// The alignment that `cuMemAlloc` promises at least; NVIDIA's driver gives just that.
const ALIGN: usize = 512;
