//! Texels in memory and in results.

use crate::exec::{Cause, Memory};

/// Four channels, and whether all texels are resident.
pub const RESULTS: usize = 5;

/// Reads bytes of a texel, which must be in memory.
pub fn read(memory: &dyn Memory, address: u64, to: &mut [u8]) -> Result<(), Cause> {
    let bytes = to.len() as u32;
    memory.load(address, to).map_err(|_| Cause::Address { address, bytes, space: "global" })
}
