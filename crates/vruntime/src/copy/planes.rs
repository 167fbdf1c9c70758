//! Copies of rows and planes, between pitched memory and arrays, as the driver's 2D and 3D copies.
//!
//! Owns the conversion of `cudaMemcpy3DParms` in both directions (graph nodes contain and return them, too). Must not
//! know: graphs.

use cushim_abi::types::*;

use super::linear::peers;
use super::{Direction, either, some, twins};
use crate::array::element;
use crate::context;
use crate::error::code;
use crate::forward::{address, done, forwards, functions, pass};
use crate::layout::*;
use cushim_vbase::api;

twins! {
    cudaMemcpy2D / cudaMemcpy2D_ptds (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) |per_thread| {
        some(&[width, height], || now_2d(&pitched(dst, dpitch, src, spitch, width, height, kind)?, per_thread))
    }

    cudaMemcpy3D / cudaMemcpy3D_ptds (p: Ptr) |per_thread| {
        // SAFETY: a cudaMemcpy3DParms.
        planes(unsafe { read(p) }, |copy| {
            // SAFETY: a structure of ours, of addresses of the program.
            unsafe { either!(per_thread, cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds(copy)) }
        })
    }

    cudaMemcpy3DPeer / cudaMemcpy3DPeer_ptds (p: Ptr) |per_thread| {
        // SAFETY: a cudaMemcpy3DPeerParms.
        planes_of_peers(unsafe { read(p) }, |copy| {
            // SAFETY: a structure of ours with the program's memory, of the program's shape.
            unsafe { either!(per_thread, cuMemcpy3DPeer / cuMemcpy3DPeer_ptds(copy)) }
        })
    }
}

functions! {
    cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) {
        some(&[width, height], || later_2d(&pitched(dst, dpitch, src, spitch, width, height, kind)?, stream))
    }

    cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz (p: Ptr, stream: Stream) {
        // SAFETY: a cudaMemcpy3DParms; a structure of ours.
        planes(unsafe { read(p) }, |copy| unsafe { api::cuMemcpy3DAsync_v2(copy, stream) })
    }

    cudaMemcpy3DPeerAsync / cudaMemcpy3DPeerAsync_ptsz (p: Ptr, stream: Stream) {
        // SAFETY: a cudaMemcpy3DPeerParms; a structure of ours.
        planes_of_peers(unsafe { read(p) }, |copy| unsafe { api::cuMemcpy3DPeerAsync(copy, stream) })
    }
}

forwards! {
    cudaMemcpy3DBatchAsync_12 / cudaMemcpy3DBatchAsync_ptsz_12 (numOps: usize, opList: Ptr, failIdx: Ptr, flags: Flags64, stream: Stream) = cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, stream);
    cudaMemcpy3DBatchAsync_13 / cudaMemcpy3DBatchAsync_ptsz_13 (numOps: usize, opList: Ptr, flags: Flags64, stream: Stream) = cuMemcpy3DBatchAsync_v2(numOps, opList, flags, stream);
    cudaMemcpy3DWithAttributesAsync / cudaMemcpy3DWithAttributesAsync_ptsz (op: Ptr, flags: Flags64, stream: Stream) = cuMemcpy3DWithAttributesAsync(op, flags, stream);
}

/// A 3D copy by a call of the driver, which is given the address of its own structure.
fn planes(parms: Result<Memcpy3DParms, Status>, call: impl Fn(Ptr) -> i32) -> Status {
    let parms = match parms {
        Ok(parms) => parms,
        Err(error) => return done(Err(error)),
    };
    let Extent { width, height, depth } = parms.extent;
    some(&[width, height, depth], || {
        let copy = to_driver(&parms)?;
        context::attempt(|| call(address(&copy)))
    })
}

/// As [`planes`], between devices, which are checked even if there is nothing to copy (measured).
fn planes_of_peers(parms: Result<Memcpy3DPeerParms, Status>, call: impl Fn(Ptr) -> i32) -> Status {
    done(parms.and_then(|parms| {
        let contexts = peers(Device(parms.dst_device), Device(parms.src_device))?;
        let Extent { width, height, depth } = parms.extent;
        if [width, height, depth].contains(&0) {
            return Ok(());
        }
        let copy = peer(&parms, contexts)?;
        context::attempt(|| call(address(&copy)))
    }))
}

/// A structure of the program.
///
/// # Safety
/// `from` is null or holds a `T`, for which every bit pattern is a value.
///
/// # Errors
/// cudaErrorInvalidValue for null.
pub unsafe fn read<T: Copy>(from: Ptr) -> Result<T, Status> {
    if from.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, hence a `T` by the caller's promise, for which every bit pattern is a value.
    Ok(unsafe { std::ptr::with_exposed_provenance::<T>(from.0).read_unaligned() })
}

/// One side of a 2D copy at an address.
pub fn at_2d(at: Ptr, pitch: usize, kind: i32) -> Side2D {
    let (host, device) = if kind == memory::HOST { (at.0, 0) } else { (0, at.0) };
    Side2D { memory: kind, host, device, pitch, ..Side2D::default() }
}

/// A 2D copy between addresses. The pitch only matters with a second row: the driver accepts 0 for
/// a single row, and refuses other too small pitches with CUDA_ERROR_INVALID_VALUE (measured on an
/// H200).
fn pitched(
    dst: Ptr,
    dpitch: usize,
    src: Ptr,
    spitch: usize,
    width: usize,
    height: usize,
    kind: CopyKind,
) -> Result<DriverMemcpy2D, Status> {
    let (from, to) = Direction::of(kind)?.memory();
    if height > 1 && (width > dpitch || width > spitch) {
        return Err(code::INVALID_PITCH);
    }
    let (src, dst) = (at_2d(src, spitch, from), at_2d(dst, dpitch, to));
    Ok(DriverMemcpy2D { src, dst, width, height })
}

/// Makes a 2D copy in a default stream, by the form for any pitch, since 1D copies in rows may have
/// any.
pub fn now_2d(copy: &DriverMemcpy2D, per_thread: bool) -> Result<(), Status> {
    if copy.width == 0 || copy.height == 0 {
        return context::ready();
    }
    context::attempt(|| {
        // SAFETY: a structure of ours, of addresses of the program.
        unsafe {
            either!(per_thread, cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds(address(copy)))
        }
    })
}

/// Makes a 2D copy in stream order.
pub fn later_2d(copy: &DriverMemcpy2D, stream: Stream) -> Result<(), Status> {
    if copy.width == 0 || copy.height == 0 {
        return context::ready();
    }
    // SAFETY: a structure of ours with the program's memory, of the program's shape.
    context::attempt(|| unsafe { api::cuMemcpy2DAsync_v2(address(copy), stream) })
}

/// One side of a 3D copy. `unit` is the size of an element of an array on this side: positions there are
/// in elements, elsewhere in bytes (cudaMemcpy3DParms).
fn side(array: usize, pos: Pos, ptr: PitchedPtr, kind: i32) -> Result<Side3D, Status> {
    let side = Side3D { x: pos.x, y: pos.y, z: pos.z, ..Side3D::default() };
    match (array, ptr.ptr) {
        (0, 0) | (1.., 1..) => Err(code::INVALID_VALUE),
        (array, 0) => {
            let x = pos.x.checked_mul(element(array)?).ok_or(code::INVALID_VALUE)?;
            Ok(Side3D { x, memory: memory::ARRAY, array, ..side })
        }
        (0, at) => {
            let (host, device) = if kind == memory::HOST { (at, 0) } else { (0, at) };
            Ok(Side3D { memory: kind, host, device, pitch: ptr.pitch, height: ptr.ysize, ..side })
        }
    }
}

/// Bytes of a row of an extent, which is in elements where an array takes part.
fn row(extent: Extent, arrays: [usize; 2]) -> Result<usize, Status> {
    let unit = match arrays.into_iter().find(|&array| array != 0) {
        Some(array) => element(array)?,
        None => 1,
    };
    extent.width.checked_mul(unit).ok_or(code::INVALID_VALUE)
}

/// A 3D copy in the driver's form.
///
/// # Errors
/// cudaErrorInvalidMemcpyDirection; cudaErrorInvalidValue where a side has neither or both of array
/// and address.
pub fn to_driver(parms: &Memcpy3DParms) -> Result<DriverMemcpy3D, Status> {
    context::ready()?;
    let (from, to) = Direction::of(CopyKind(parms.kind))?.memory();
    let src = side(parms.src_array, parms.src_pos, parms.src_ptr, from)?;
    let dst = side(parms.dst_array, parms.dst_pos, parms.dst_ptr, to)?;
    let width = row(parms.extent, [parms.src_array, parms.dst_array])?;
    Ok(DriverMemcpy3D { src, dst, width, height: parms.extent.height, depth: parms.extent.depth })
}

/// The inverse of [`to_driver`]; the driver does not keep the width of a pitched pointer, so its
/// pitch is returned.
///
/// # Errors
/// The driver's about the arrays.
pub fn from_driver(copy: &DriverMemcpy3D) -> Result<Memcpy3DParms, Status> {
    let side = |side: &Side3D| -> Result<(usize, Pos, PitchedPtr), Status> {
        let pos = Pos { x: side.x, y: side.y, z: side.z };
        if side.memory == memory::ARRAY {
            let x = side.x.checked_div(element(side.array)?).unwrap_or(0);
            return Ok((side.array, Pos { x, ..pos }, PitchedPtr::default()));
        }
        let ptr = if side.memory == memory::HOST { side.host } else { side.device };
        let (pitch, ysize) = (side.pitch, side.height);
        Ok((0, pos, PitchedPtr { ptr, pitch, xsize: pitch, ysize }))
    };
    let (src_array, src_pos, src_ptr) = side(&copy.src)?;
    let (dst_array, dst_pos, dst_ptr) = side(&copy.dst)?;
    let unit = match [src_array, dst_array].into_iter().find(|&array| array != 0) {
        Some(array) => element(array)?,
        None => 1,
    };
    let width = copy.width.checked_div(unit).unwrap_or(0);
    let extent = Extent { width, height: copy.height, depth: copy.depth };
    let kind = Direction::between(copy.src.memory, copy.dst.memory) as i32;
    Ok(Memcpy3DParms { src_array, src_pos, src_ptr, dst_array, dst_pos, dst_ptr, extent, kind })
}

/// A 3D copy between devices in the driver's form.
fn peer(
    parms: &Memcpy3DPeerParms,
    (to, from): (Context, Context),
) -> Result<DriverMemcpy3D, Status> {
    let src = side(parms.src_array, parms.src_pos, parms.src_ptr, memory::DEVICE)?;
    let dst = side(parms.dst_array, parms.dst_pos, parms.dst_ptr, memory::DEVICE)?;
    let width = row(parms.extent, [parms.src_array, parms.dst_array])?;
    Ok(DriverMemcpy3D {
        src: Side3D { context: from.0, ..src },
        dst: Side3D { context: to.0, ..dst },
        width,
        height: parms.extent.height,
        depth: parms.extent.depth,
    })
}
