//! Who has access to a pool's memory.
//!
//! Owns the functions that give, revoke and query it. At first a pool of device memory is open to its own device, one of
//! host memory to the host, one of managed memory to nobody, although all may use it. Source: an H200
//! (c-tests/cuda/semantics/pool_access.cu; two of them for other devices). Must not know: what then uses the memory
//! ([`super::home`]).

use cushim_abi::types::*;

use super::pool::{Pool, by_handle};
use crate::argument::In;
use crate::device::device;
use crate::entry::entry;
use crate::state::{give, take};
use crate::status;
use cushim_accel::MemoryKind;
use cushim_accel::locks::lock;

/// A location whose access can be set.
#[derive(Clone, Copy)]
enum Who {
    Device(usize),
    Host,
}

/// `CUmemLocation`: a device, the host, or one of its nodes of memory, which need not exist.
///
/// # Errors
/// CUDA_ERROR_INVALID_DEVICE; CUDA_ERROR_INVALID_VALUE for other kinds of location.
fn who(kind: i32, id: i32) -> Result<Who, i32> {
    match kind {
        1 => device(Device(id)).map(|_| Who::Device(id as usize)),
        2 | 3 => Ok(Who::Host),
        _ => Err(status::INVALID_VALUE),
    }
}

/// What one `CUmemAccessDesc` (location, flags) sets: who, and whether with access.
fn change(pool: &Pool, [kind, id, flags]: [i32; 3]) -> Result<(Who, bool), i32> {
    // Only reading: for no location, not even one that does not exist.
    if flags == 1 || (pool.kind == MemoryKind::Device && kind != 1) {
        return Err(status::NOT_SUPPORTED);
    }
    let who = who(kind, id)?;
    match (flags, who) {
        (3, _) => Ok((who, true)),
        (0, Who::Device(device)) if pool.is_of(device) => Err(status::INVALID_DEVICE),
        (0, Who::Host) if pool.kind == MemoryKind::Host => Err(status::NOT_SUPPORTED),
        (0, _) => Ok((who, false)),
        _ => Err(status::INVALID_VALUE),
    }
}

entry! {
    fn cuMemPoolSetAccess (pool: Ptr, map: Ptr, count: usize) {
        let pool = by_handle(pool)?;
        if count == 0 {
            return Err(status::INVALID_VALUE);
        }
        let mut changes = Vec::new();
        for index in 0..count {
            // SAFETY: as many CUmemAccessDesc as the call says.
            changes.push(change(&pool, unsafe { take(Ptr(map.0 + index * size_of::<[i32; 3]>()))? })?);
        }
        let mut state = lock(&pool.state);
        for (who, open) in changes {
            match who {
                Who::Host => state.host = open,
                Who::Device(device) if open => _ = state.devices.insert(device),
                Who::Device(device) => _ = state.devices.remove(&device),
            }
        }
        Ok(())
    }

    fn cuMemPoolGetAccess (flags: Out<i32>, memPool: Ptr, location: In<[i32; 2]>) {
        let pool = by_handle(memPool)?;
        let [kind, id] = location.read()?;
        let open = match who(kind, id).map_err(|_| status::INVALID_VALUE)? {
            Who::Device(device) => pool.is_of(device) || lock(&pool.state).devices.contains(&device),
            Who::Host => pool.kind == MemoryKind::Host || lock(&pool.state).host,
        };
        give(flags, if open { 3 } else { 0 })
    }
}
