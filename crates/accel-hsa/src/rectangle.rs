//! Copies of rows and planes by the device.
//!
//! Owns which copies its copy engines accept: both ends in memory that the GPU can access, addresses and pitches
//! multiples of four bytes, as AMD's runtime requires, and no overlap. Must not know: signals, streams.

use cushim_accel::Copy;

use crate::ffi::{Agent, Dim3, Pitched, rect};
use crate::memory::{Memory, Side};

/// Rows and planes of bytes.
pub struct Rectangle {
    /// Destination and source, with their pitches.
    pub ends: [Pitched; 2],
    /// Bytes of a row, rows, planes.
    pub range: Dim3,
    /// The GPU whose engine copies.
    pub agent: Agent,
    /// `hsa_amd_copy_direction_t`.
    pub direction: u32,
}

/// The unit of addresses and pitches.
const ALIGN: u64 = 4;

impl Rectangle {
    /// A copy as a rectangle; `None` where the host must copy it, or report what is wrong with it.
    pub fn of(memory: &Memory, copy: &Copy) -> Option<Rectangle> {
        let size = [copy.width, copy.height, copy.depth].map(|n| n as u64);
        if size.contains(&0) {
            return None;
        }
        let [width, height, depth] = size;
        let end = |address: u64, which: usize| {
            let [row, plane] = [copy.row, copy.plane].map(|of| of.get(which).map(|n| *n as u64));
            // A copy of one plane may have no plane pitch.
            let (row, plane) = (row?, if depth > 1 { plane? } else { row?.checked_mul(height)? });
            let bytes =
                (depth - 1).checked_mul(plane)?.checked_add((height - 1).checked_mul(row)?)?;
            let bytes = bytes.checked_add(width)?;
            let (side, base) = memory.side(address, bytes).ok()?;
            let aligned = [base, row, plane].iter().all(|n| n.is_multiple_of(ALIGN));
            // Engines cannot copy overlapping planes.
            let apart = row >= width && plane >= row.checked_mul(height)?;
            let known = side != Side::Program && aligned && apart;
            known.then_some((Pitched { base, pitch: row, slice: plane }, side, base + bytes))
        };
        let (to, to_side, to_end) = end(copy.to, 0)?;
        let (from, from_side, from_end) = end(copy.from, 1)?;
        if to.base < from_end && from.base < to_end {
            return None;
        }
        let (gpu, direction) = match (to_side, from_side) {
            (Side::Gpu(_), Side::Gpu(n)) => (n, rect::DEVICE_TO_DEVICE),
            (Side::Gpu(n), _) => (n, rect::HOST_TO_DEVICE),
            (_, Side::Gpu(n)) => (n, rect::DEVICE_TO_HOST),
            _ => return None,
        };
        let [x, y, z] = size.map(|n| u32::try_from(n).ok());
        let range = Dim3 { x: x?, y: y?, z: z? };
        Some(Rectangle { ends: [to, from], range, agent: memory.agent(Side::Gpu(gpu)), direction })
    }
}
