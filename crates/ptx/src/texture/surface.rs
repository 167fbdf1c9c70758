//! Surface loads, stores and reductions.
//!
//! Owns boundary modes and the address of an access. Must not know: who asks.

use super::descriptor::Descriptor;
use super::texel::{RESULTS, read};
use crate::exec::{Cause, Memory};
use crate::sem::texture::{Boundary, Geometry, Surface, SurfaceOp, SurfaceReduction};
use crate::types::Scalar;

/// Runs an instruction; `operands` are coordinates and values.
pub(super) fn run(
    memory: &dyn Memory,
    found: &Descriptor,
    what: &Surface,
    operands: &[u64],
    out: &mut [u64; RESULTS],
) -> Result<(), Cause> {
    let n = what.geometry.coordinates();
    let Some((coordinates, values)) = operands.split_at_checked(n) else { return Ok(()) };
    let formatted = matches!(what.op, SurfaceOp::StoreFormatted | SurfaceOp::ReduceFormatted(_));
    let width = what.element.bytes() as usize;
    let bytes = match what.op {
        SurfaceOp::StoreFormatted => found.format.bytes(),
        _ => width * usize::from(what.parts),
    };
    let Some(address) = place(found, what, coordinates, formatted, bytes)? else {
        return Ok(());
    };
    let mut texel = [0; 16];
    let texel = texel.get_mut(..bytes).unwrap_or_default();
    match what.op {
        SurfaceOp::Load => {
            read(memory, address, texel)?;
            for (to, value) in out.iter_mut().zip(texel.chunks_exact(width)) {
                *to = crate::exec::bytes::word(value);
            }
        }
        SurfaceOp::Store => {
            for (value, place) in values.iter().zip(texel.chunks_exact_mut(width)) {
                place.copy_from_slice(value.to_le_bytes().get(..width).unwrap_or_default());
            }
            write(memory, address, texel)?;
        }
        SurfaceOp::StoreFormatted => {
            let values: Vec<u32> = values.iter().map(|v| *v as u32).collect();
            found.format.store(&values, texel);
            write(memory, address, texel)?;
        }
        SurfaceOp::Reduce(how) | SurfaceOp::ReduceFormatted(how) => {
            let value = values.first().copied().unwrap_or(0);
            let new = &mut |old| reduce(how, what.element, old, value);
            let bytes = width as u32;
            let outside = |_| Cause::Address { address, bytes, space: "global" };
            memory.update(address, bytes, new).map_err(outside)?;
        }
    }
    Ok(())
}

fn write(memory: &dyn Memory, address: u64, bytes: &[u8]) -> Result<(), Cause> {
    let outside = |_| Cause::Address { address, bytes: bytes.len() as u32, space: "global" };
    memory.store(address, bytes).map_err(outside)
}

fn reduce(how: SurfaceReduction, ty: Scalar, old: u64, value: u64) -> u64 {
    let wide = |v: u64| match (ty.is_signed(), ty.bits()) {
        (true, 32) => i128::from(v as i32),
        (true, _) => i128::from(v as i64),
        (false, 32) => i128::from(v as u32),
        (false, _) => i128::from(v),
    };
    match how {
        SurfaceReduction::Add => old.wrapping_add(value),
        SurfaceReduction::Min => {
            if wide(old) <= wide(value) {
                old
            } else {
                value
            }
        }
        SurfaceReduction::Max => {
            if wide(old) >= wide(value) {
                old
            } else {
                value
            }
        }
        SurfaceReduction::And => old & value,
        SurfaceReduction::Or => old | value,
    }
}

/// Where an access goes; `None` where it gives 0 or does nothing.
fn place(
    found: &Descriptor,
    what: &Surface,
    coordinates: &[u64],
    formatted: bool,
    bytes: usize,
) -> Result<Option<u64>, Cause> {
    let texel = found.format.bytes() as i64;
    let [w, h, d] = found.size(0).map(|n| i64::from(n.max(1)));
    let row = w * texel;
    let word = |n: usize| i64::from(coordinates.get(n).copied().unwrap_or(0) as i32);
    let first = usize::from(what.geometry.is_layered());
    let scale = if formatted { texel } else { 1 };
    let x = word(first) * scale;
    let y = if what.geometry.axes() > 1 { word(first + 1) } else { 0 };
    let z = match what.geometry {
        Geometry::D3 => word(2),
        _ if first > 0 => word(0),
        _ => 0,
    };
    let size = bytes as i64;
    if x.rem_euclid(size) != 0 {
        return Err(Cause::Misaligned { address: x as u64, bytes: size as u32 });
    }
    let inside = x >= 0 && x + size <= row && (0..h).contains(&y) && (0..d).contains(&z);
    let (x, y, z) = match what.boundary {
        _ if inside => (x, y, z),
        Boundary::Zero => return Ok(None),
        Boundary::Clamp => {
            let most = (row - size).max(0);
            // A layer's number is unsigned: a negative one is beyond the last (measured).
            let last = if first > 0 && z < 0 { d - 1 } else { z.clamp(0, d - 1) };
            (x.clamp(0, most), y.clamp(0, h - 1), last)
        }
        Boundary::Trap => {
            return Err(Cause::Surface {
                coordinates: [x, y, z],
                bytes: size as u32,
                size: [row, h, d],
            });
        }
    };
    let pitch = if found.pitch > 0 { found.pitch as i64 } else { row };
    let base = found.levels.first().copied().unwrap_or(0);
    Ok(Some(base.wrapping_add(((z * h + y) * pitch + x) as u64)))
}
