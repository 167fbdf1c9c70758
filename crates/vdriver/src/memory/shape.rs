//! Copies of rectangles and boxes, described by structures.
//!
//! Owns the reading of `CUDA_MEMCPY2D`, `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`. Source: CUDA Driver
//! API, cuMemcpy2D, cuMemcpy3D. Must not know: how a copy waits (see [`super::copy`]).

use cushim_abi::types::{self as abi, *};

use super::array;
use super::copy::copy;
use super::ends::{End, Shape};
use super::home::{Home, Role, home, target};
use crate::argument::{Given, In};
use crate::context;
use crate::entry::{in_default_stream, on_stream};
use crate::status;
use crate::stream::resolve;
use cushim_accel::Copy;

/// `CUDA_MEMCPY2D` as a 3-D copy of one plane.
pub fn flat(words: [usize; 16]) -> Shape {
    let end = |at: usize| {
        let word = |n: usize| words.get(at + n).copied().unwrap_or(0);
        End {
            origin: [word(0), word(1), 0, 0],
            kind: word(2) as u64,
            host: word(3),
            device: word(4),
            array: word(5),
            context: 0,
            pitch: word(6),
            height: 0,
        }
    };
    let [.., width, height] = words;
    Shape { from: end(0), to: end(7), extent: [width, height, 1] }
}

/// One checked end: its first byte, its row and plane pitch, its kind of memory.
struct Place {
    address: u64,
    row: usize,
    plane: usize,
    home: Home,
}

impl End {
    fn place(&self, [width, height, depth]: [usize; 3], writes: bool) -> Result<Place, i32> {
        let wrong = status::INVALID_VALUE;
        let [x, y, z, level] = self.origin;
        if level != 0 {
            return Err(wrong);
        }
        if self.kind as u32 == 3 {
            return self.in_array([width, height, depth]);
        }
        let (base, role) = match self.kind as u32 {
            1 => (self.host, Role::Any),
            2 | 4 if self.context != 0 => (self.device, Role::Peer),
            2 => (self.device, Role::Device),
            4 => (self.device, Role::Any),
            _ => return Err(wrong),
        };
        let needed = x.checked_add(width).ok_or(wrong)?;
        // A single plane needs no pitch: its rows are contiguous then (measured on an H200).
        let pitch = if self.pitch == 0 && depth == 1 && y == 0 { needed } else { self.pitch };
        if pitch < needed || pitch > i32::MAX as usize && height > 1 {
            return Err(wrong);
        }
        let rows = y.checked_add(height).ok_or(wrong)?;
        // Without a height a plane has the rows of the copy: slang-rhi's tests of 3-D textures expect it of GPUs.
        let is_single = depth == 1 && z == 0;
        let is_whole = self.height == 0 && y == 0;
        let lines = if is_single || is_whole { rows } else { self.height };
        if lines < rows {
            return Err(wrong);
        }
        let plane = pitch.checked_mul(lines).ok_or(wrong)?;
        let at = |x: usize, y: usize, z: usize| {
            let rows = pitch.checked_mul(y)?.checked_add(x)?;
            plane.checked_mul(z)?.checked_add(rows)
        };
        let first = at(x, y, z).ok_or(wrong)?;
        let last = z.checked_add(depth - 1).ok_or(wrong)?;
        let end = at(needed, rows - 1, last).ok_or(wrong)?;
        let address = (base as u64).checked_add(first as u64).ok_or(wrong)?;
        if base == 0 {
            return Err(wrong);
        }
        // The whole shape must lie in the allocation of its address: memory beyond that does not
        // belong to it.
        let of = if writes { target } else { home };
        let home = of(base as u64, end, role)?;
        Ok(Place { address, row: pitch, plane, home })
    }
}

impl End {
    fn in_array(&self, extent: [usize; 3]) -> Result<Place, i32> {
        let array = array::by_handle(Ptr(self.array))?;
        let [rows, planes] = array.rows();
        let [x, y, z, _] = self.origin;
        let fits = |from: usize, count: usize, most: usize| {
            from.checked_add(count).is_some_and(|end| end <= most)
        };
        let [width, height, depth] = extent;
        if !fits(x, width, array.row) || !fits(y, height, rows) || !fits(z, depth, planes) {
            return Err(status::INVALID_VALUE);
        }
        let plane = array.row * rows;
        let address = array.address + (z * plane + y * array.row + x) as u64;
        Ok(Place { address, row: array.row, plane, home: Home::Device })
    }
}

/// A 3-D copy for the accelerator, and the kinds of both ends.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where it does not fit.
pub fn plan(shape: &Shape) -> Result<Option<(Copy, Home, Home)>, i32> {
    let [width, height, depth] = shape.extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(None);
    }
    if shape.extent.iter().any(|n| *n > isize::MAX as usize) {
        return Err(status::INVALID_VALUE);
    }
    let to = shape.to.place(shape.extent, true)?;
    let from = shape.from.place(shape.extent, false)?;
    let (row, plane) = ([to.row, from.row], [to.plane, from.plane]);
    let copy = Copy { to: to.address, from: from.address, width, height, depth, row, plane };
    Ok(Some((copy, to.home, from.home)))
}

fn run(stream: abi::Stream, shape: Shape, blocking: bool) -> Result<(), i32> {
    context::current()?;
    match plan(&shape)? {
        Some((one, to, from)) => copy(stream, one, to, from, blocking),
        None => resolve(stream).map(drop),
    }
}

/// A copy between contexts, by `CUDA_MEMCPY3D_PEER`.
fn between(from: Given<Shape>) -> Result<Shape, i32> {
    let shape = from.read()?;
    context::of(shape.from.context)?;
    context::of(shape.to.context)?;
    Ok(shape)
}

in_default_stream! { stream;
    fn cuMemcpy2D_v2 cuMemcpy2D_v2_ptds (pCopy: In<[usize; 16]>) {
        run(stream, flat(pCopy.read()?), true)
    }

    fn cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds (pCopy: In<[usize; 16]>) {
        run(stream, flat(pCopy.read()?), true)
    }

    fn cuMemcpy3D_v2 cuMemcpy3D_v2_ptds (pCopy: In<Shape>) {
        run(stream, pCopy.read()?, true)
    }

    fn cuMemcpy3DPeer cuMemcpy3DPeer_ptds (pCopy: In<Shape>) {
        run(stream, between(pCopy)?, true)
    }
}

on_stream! { hStream;
    fn cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz (pCopy: In<[usize; 16]>, hStream: Stream) {
        run(hStream, flat(pCopy.read()?), false)
    }

    fn cuMemcpy3DAsync_v2 cuMemcpy3DAsync_v2_ptsz (pCopy: In<Shape>, hStream: Stream) {
        run(hStream, pCopy.read()?, false)
    }

    fn cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz (pCopy: In<Shape>, hStream: Stream) {
        run(hStream, between(pCopy)?, false)
    }
}
