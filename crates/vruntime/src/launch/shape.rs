//! The first checks of every launch: whether its shape is valid, and which kernel is meant.
//!
//! Must not know: the forms of the calls.

use cushim_abi::types::*;

use crate::error::code;
use crate::{context, registry};

/// The most threads of a block, of its sides, and blocks of a grid's sides: the same for every device since
/// compute capability 3.0 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const THREADS: u64 = 1024;
const BLOCK: [u32; 3] = [1024, 1024, 64];
const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Until 12 the runtime checks a launch's shape before the driver does, and returns
/// cudaErrorInvalidConfiguration; a stream that is being captured stays valid. From 13 on the
/// driver checks it and returns cudaErrorInvalidValue (measured).
#[inline(always)]
pub fn check_shape<const MAJOR: usize>(grid: Dim3, block: Dim3) -> Result<(), Status> {
    if MAJOR >= 13 || fits(grid, GRID) && fits(block, BLOCK) && threads(block) <= THREADS {
        return Ok(());
    }
    Err(code::INVALID_CONFIGURATION)
}

#[inline(always)]
fn fits(shape: Dim3, most: [u32; 3]) -> bool {
    let [x, y, z] = most;
    // A side of 0 wraps around.
    shape.x.wrapping_sub(1) < x && shape.y.wrapping_sub(1) < y && shape.z.wrapping_sub(1) < z
}

fn threads(block: Dim3) -> u64 {
    u64::from(block.x) * u64::from(block.y) * u64::from(block.z)
}

/// The driver's kernel for the program's stub or handle. The context is checked first: without a
/// driver, that is the error for any arguments (measured).
#[inline(always)]
pub fn resolve<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    context::ready()?;
    registry::kernel::<MAJOR>(func)
}
