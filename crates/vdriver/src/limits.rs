//! Limits of a context (`CUlimit`): their defaults, and the effective value after one is set.
//!
//! Owns the numbers, which were read on an H200. Must not know: what enforces a limit.

use super::context::Context;
use super::state::accelerator;
use super::status;
use cushim_accel::locks::lock;

const STACK: i32 = 0;
const PRINTF: i32 = 1;
const HEAP: i32 = 2;
const PENDING: i32 = 4;
const FETCH: i32 = 5;
/// Bytes of L2 for persisting accesses: CPU caches have none.
const PERSISTING: i32 = 6;
/// Bytes of shared memory of a block; whether graphics share the context.
const SHARED: i32 = 7;
const GRAPHICS: i32 = 8;

/// Limits that devices since compute capability 9.0 lack: depth of synchronisation, shared memory
/// beside graphics.
const UNSUPPORTED: [i32; 2] = [3, 9];

/// `value` as a multiple of `grain` between two bounds.
fn between(value: usize, grain: usize, least: usize, most: usize) -> usize {
    value.checked_next_multiple_of(grain).unwrap_or(most).clamp(least, most)
}

/// Reads a limit.
///
/// # Errors
/// CUDA_ERROR_UNSUPPORTED_LIMIT, CUDA_ERROR_INVALID_VALUE.
pub fn get(context: &Context, limit: i32) -> Result<usize, i32> {
    let place = usize::try_from(limit).ok();
    match limit {
        _ if UNSUPPORTED.contains(&limit) => Err(status::UNSUPPORTED_LIMIT),
        PERSISTING | GRAPHICS => Ok(0),
        SHARED => {
            let device = accelerator().devices().get(context.device);
            Ok(device.map_or(0, |device| device.shared.1.max(device.shared.0) as usize))
        }
        _ => {
            let limits = lock(&context.settings).limits;
            place.and_then(|place| limits.get(place)).copied().ok_or(status::INVALID_VALUE)
        }
    }
}

/// Sets a limit, to the value rounded as the device does.
///
/// # Errors
/// As [`get`]; CUDA_ERROR_INVALID_VALUE for too much, or once kernels have used their heap;
/// CUDA_ERROR_NOT_PERMITTED for a read-only one.
pub fn set(context: &Context, limit: i32, value: usize) -> Result<(), i32> {
    let value = match limit {
        STACK if value <= 256 << 10 => value.next_multiple_of(16),
        PRINTF => between(value, 256, 512 << 10, 2 << 30),
        HEAP if accelerator().is_heap_used(context.device) => return Err(status::INVALID_VALUE),
        HEAP => {
            let memory = accelerator().devices().get(context.device).map_or(0, |d| d.memory);
            between(value, 64 << 10, 4 << 20, (memory as usize).max(4 << 20))
        }
        PENDING => value.clamp(32, 0x9_2492),
        FETCH if value <= 128 => value,
        PERSISTING if value == 0 => return Ok(()),
        SHARED | GRAPHICS => return Err(status::NOT_PERMITTED),
        _ if UNSUPPORTED.contains(&limit) => return Err(status::UNSUPPORTED_LIMIT),
        _ => return Err(status::INVALID_VALUE),
    };
    let mut settings = lock(&context.settings);
    if let Some(place) = usize::try_from(limit).ok().and_then(|at| settings.limits.get_mut(at)) {
        *place = value;
    }
    match limit {
        HEAP => accelerator().set_heap_limit(context.device, value as u64),
        STACK => accelerator().set_stack_limit(context.device, value as u64),
        _ => {}
    }
    Ok(())
}
