//! Launches: each form that CUDA has, on its way to the driver's.
//!
//! Owns the translation: of a host stub to the driver's kernel, of the runtime's launch structures to the
//! driver's, of the driver's answer to the runtime's (the runtime tells a wrong shape from other wrong
//! values). Must not know: how kernels come to be loaded ([`super::registry`]).

mod configuration;
mod kernel;
mod several;
#[cfg(test)]
mod tests;

pub use configuration::*;
pub use kernel::*;
pub use several::*;

use cushim_abi::types::*;

use super::error::code;
use super::{context, registry};
use crate::api;

/// `CUdevice_attribute`: threads of a block, then its sides, then those of a grid.
const LIMITS: std::ops::RangeInclusive<i32> = 1..=7;

/// The runtime's name for a driver's refusal to launch. The driver calls every wrong argument
/// CUDA_ERROR_INVALID_VALUE; the runtime says cudaErrorInvalidConfiguration where it is the shape (measured).
#[cold]
fn refusal(error: Status, grid: Dim3, block: Dim3) -> Status {
    if error == code::INVALID_VALUE && is_wrong_shape(grid, block) {
        return code::INVALID_CONFIGURATION;
    }
    error
}

fn is_wrong_shape(grid: Dim3, block: Dim3) -> bool {
    let sides = [block.x, block.y, block.z, grid.x, grid.y, grid.z];
    if sides.contains(&0) {
        return true;
    }
    let Ok(device) = context::current_device() else { return false };
    let threads = [block.x, block.y, block.z].iter().map(|side| u64::from(*side)).product();
    let asked = std::iter::once(threads).chain(sides.iter().map(|side| u64::from(*side)));
    LIMITS.zip(asked).any(|(attribute, asked)| {
        let mut limit = 0;
        // SAFETY: a place for an int.
        let result =
            unsafe { api::cuDeviceGetAttribute(Out(&mut limit), attribute, Device(device)) };
        result == 0 && u64::try_from(limit).is_ok_and(|limit| asked > limit)
    })
}

/// The driver's kernel for what the program names it by. The context comes first: without a driver the
/// answer is that there is none, whatever the arguments (measured).
#[inline(always)]
fn resolve(func: Func) -> Result<Func, Status> {
    context::ready()?;
    registry::kernel(func)
}
