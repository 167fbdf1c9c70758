//! Three-dimensional copies and fills of kernels.
//!
//! Owns the layout of `cudaMemcpy3DParms` (driver_types.h). Must not know: streams.

use cushim_accel::{Copy, Work};
use cushim_ptx::exec::Caller;

use super::super::error;
use super::{KINDS, fill, reachable};

/// Bytes of `cudaMemcpy3DParms`, whose every field but the last is a word.
const PARAMETERS: usize = 160;
/// Words of each side: array, position in three axes (bytes, rows, planes), pointer, pitch, bytes and rows of a plane.
const SIDE: usize = 8;
/// The most planes of one fill: cushim's bound, so that an absurd number takes no memory.
const MOST_PLANES: u64 = 1 << 16;

/// One side of a copy: where it begins, bytes from row to row and from plane to plane.
struct Side {
    at: u64,
    row: u64,
    plane: u64,
}

impl Side {
    /// # Errors
    /// `cudaErrorNotSupported` for an array, `cudaErrorInvalidPitchValue` for rows that overlap.
    fn new(words: &[u64], [width, height, depth]: [u64; 3]) -> Result<Side, i32> {
        let &[array, x, y, z, pointer, pitch, _, rows] = words else {
            return Err(error::INVALID_VALUE);
        };
        if array != 0 {
            return Err(error::NOT_SUPPORTED);
        }
        if pitch < x.saturating_add(width) && (height > 1 || depth > 1) {
            return Err(error::INVALID_PITCH);
        }
        if depth > 1 && rows < y.saturating_add(height) {
            return Err(error::INVALID_VALUE);
        }
        let plane = pitch.saturating_mul(rows);
        let offset = plane.checked_mul(z).zip(pitch.checked_mul(y));
        let offset = offset.and_then(|(planes, rows)| planes.checked_add(rows)?.checked_add(x));
        let at = offset.and_then(|offset| pointer.checked_add(offset));
        let at = at.filter(|at| pointer != 0 && reachable(*at)).ok_or(error::INVALID_VALUE)?;
        Ok(Side { at, row: pitch.max(width), plane })
    }
}

/// A copy by `cudaMemcpy3DParms` at an address, if there is anything to copy.
///
/// # Errors
/// The number of the error.
pub fn copied(caller: &dyn Caller, from: u64) -> Result<Option<Work>, i32> {
    let mut bytes = [0; PARAMETERS];
    if !caller.read(from, &mut bytes) {
        return Err(error::INVALID_VALUE);
    }
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        .collect();
    let (sides, rest) = words.split_at(2 * SIDE);
    let &[width, height, depth, kind] = rest else { return Err(error::INVALID_VALUE) };
    if !KINDS.contains(&(kind & u64::from(u32::MAX))) {
        return Err(error::INVALID_DIRECTION);
    }
    if width == 0 || height == 0 || depth == 0 {
        return Ok(None);
    }
    let (source, target) = sides.split_at(SIDE);
    let extent = [width, height, depth];
    let (from, to) = (Side::new(source, extent)?, Side::new(target, extent)?);
    Ok(Some(Work::Copy(Copy {
        to: to.at,
        from: from.at,
        width: width as usize,
        height: height as usize,
        depth: depth as usize,
        row: [to.row as usize, from.row as usize],
        plane: [to.plane as usize, from.plane as usize],
    })))
}

/// The bytes of planes to set: a pointer, its pitch and its rows; the value; the extent.
///
/// # Errors
/// The number of the error.
pub fn filled(
    [to, pitch, rows]: [u64; 3],
    value: u64,
    [width, height, depth]: [u64; 3],
) -> Result<Vec<Work>, i32> {
    if width == 0 || height == 0 || depth == 0 {
        return Ok(Vec::new());
    }
    if depth > 1 && pitch < width {
        return Err(error::INVALID_PITCH);
    }
    if depth > MOST_PLANES || (depth > 1 && rows < height) {
        return Err(error::INVALID_VALUE);
    }
    let plane = pitch.saturating_mul(rows);
    let one = |n: u64| {
        let at = plane.checked_mul(n).and_then(|offset| to.checked_add(offset));
        fill(at.ok_or(error::INVALID_VALUE)?, pitch, value, width, height)
    };
    (0..depth).filter_map(|n| one(n).transpose()).collect()
}
