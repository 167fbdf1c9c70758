//! Memory of a device, counted against what it has.
//!
//! Where there is none left, pools give back what they hold for later ([`pool`]).

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
    let total = accelerator().devices().get(device).map_or(0, |device| device.memory);
    let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| status::OUT_OF_MEMORY)?;
    let attempt = || {
        let taken = used(device) + pool::reserved(device);
        if kind != MemoryKind::Host && total.saturating_sub(taken) < bytes as u64 {
            return Err(status::OUT_OF_MEMORY);
        }
        accelerator().allocate(device, kind, layout).map_err(|failure| status::of(&failure))
    };
    attempt().or_else(|_| {
        pool::reclaim_all();
        attempt()
    })
}

/// The alignment that `cuMemAlloc` promises at least; NVIDIA's driver gives just that.
const ALIGN: usize = 512;
