//! Arrays: memory for textures, here as rows behind rows.
//!
//! Owns the objects and copies of bytes to and from them; boxes are [`super::shape`]'s. No texture reads
//! them: those are not supported. Source: CUDA Driver API, `cuArray3DCreate`. Must not know: what elements
//! mean beyond their size.

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::copy::copy;
use super::home::{Home, Role, home, row};
use crate::argument::{In, Place};
use crate::context::{self, Context as Owner};
use crate::entry::{entry, in_default_stream, on_stream};
use crate::handle::{Handles, handle};
use crate::state::{accelerator, at, check, give};
use crate::status;
use crate::stream::{capture, resolve};
use cushim_accel::MemoryKind;

/// `CUDA_ARRAY3D_LAYERED`, `_SURFACE_LDST`, `_TEXTURE_GATHER`: layers are planes, the others ask for nothing.
const FLAGS: u32 = 1 | 2 | 8;
const LAYERED: u32 = 1;

/// An array.
pub struct Array {
    /// Its first byte.
    pub address: u64,
    /// Width and rows in elements, planes; 0 for what it has not.
    extent: [usize; 3],
    /// `CUarray_format`, channels, flags.
    element: [u32; 3],
    /// Bytes of a row.
    pub row: usize,
    context: u64,
}

static ARRAYS: Handles<Array> = Handles::new();

/// The array of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn by_handle(array: Ptr) -> Result<Arc<Array>, i32> {
    check()?;
    ARRAYS.get(array.0).ok_or(status::INVALID_HANDLE)
}

/// Bytes of a channel (`CUarray_format`).
fn channel(format: u32) -> Result<usize, i32> {
    match format {
        0x01 | 0x08 => Ok(1),
        0x02 | 0x09 | 0x10 => Ok(2),
        0x03 | 0x0a | 0x20 => Ok(4),
        // Compressed, planar, normalised formats: for textures only.
        0x91..=0xb2 | 0xc0..=0xdf => Err(status::NOT_SUPPORTED),
        _ => Err(status::INVALID_VALUE),
    }
}

impl Array {
    /// Rows of a plane, planes: at least one each.
    pub fn rows(&self) -> [usize; 2] {
        let [_, height, depth] = self.extent;
        [height.max(1), depth.max(1)]
    }

    fn bytes(&self) -> usize {
        self.rows().iter().product::<usize>() * self.row
    }

    /// Where `bytes` from `offset` on are.
    fn part(&self, offset: usize, bytes: usize) -> Result<u64, i32> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(self.address + offset as u64),
            _ => Err(status::INVALID_VALUE),
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        accelerator().free(self.address);
    }
}

fn create(to: Place<Ptr>, extent: [usize; 3], element: [u32; 3]) -> Result<(), i32> {
    let context = context::current()?;
    capture::refuse_unsafe()?;
    let ([width, height, depth], [format, channels, flags]) = (extent, element);
    let wrong = status::INVALID_VALUE;
    if to.is_null() || width == 0 || !matches!(channels, 1 | 2 | 4) {
        return Err(wrong);
    }
    let flat_planes = depth > 0 && height == 0 && flags & LAYERED == 0;
    if flat_planes || flags & LAYERED != 0 && depth == 0 {
        return Err(wrong);
    }
    let size = channel(format)? * channels as usize;
    if flags & !KNOWN != 0 {
        return Err(status::INVALID_VALUE);
    }
    if flags & !FLAGS != 0 {
        return Err(status::NOT_SUPPORTED);
    }
    let row = width.checked_mul(size).ok_or(wrong)?;
    let plane = row.checked_mul(height.max(1)).ok_or(wrong)?;
    let bytes = plane.checked_mul(depth.max(1)).filter(|bytes| *bytes <= isize::MAX as usize);
    let address = super::take::allocate(context.device, MemoryKind::Device, bytes.ok_or(wrong)?)?;
    let array = Array { address, extent, element, row, context: context.id };
    give(to, Ptr(ARRAYS.add(Arc::new(array))))
}

/// Takes back the arrays of a context that ends. Its work has ended.
pub fn forget_context(context: &Owner) {
    for array in ARRAYS.all().iter().filter(|array| array.context == context.id) {
        ARRAYS.remove(handle(array));
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`: width, height; format and channels.
type Flat = ([usize; 2], [u32; 2]);
/// Flags that arrays of numbers may have: layers, surfaces, cubes, gathering, sparse, deferred, and one that
/// the header keeps (measured).
const KNOWN: u32 = LAYERED | 2 | 4 | 8 | 64 | 128 | 256 | 1 << 31;

/// `CUDA_ARRAY3D_DESCRIPTOR`: width, height, depth; format, channels, flags, padding.
type Deep = ([usize; 3], [u32; 4]);

entry! {
    fn cuArrayCreate_v2 (pHandle: Out<Ptr>, pAllocateArray: In<[u64; 3]>) {
        let [width, height, element] = pAllocateArray.read()?;
        let element = [element as u32, (element >> 32) as u32, 0];
        create(pHandle, [width as usize, height as usize, 0], element)
    }

    fn cuArray3DCreate_v2 (pHandle: Out<Ptr>, pAllocateArray: In<[u64; 5]>) {
        let [width, height, depth, element, flags] = pAllocateArray.read()?;
        let element = [element as u32, (element >> 32) as u32, flags as u32];
        create(pHandle, [width as usize, height as usize, depth as usize], element)
    }

    fn cuArrayGetDescriptor_v2 (pArrayDescriptor: Ptr, hArray: Ptr) {
        let array = by_handle(hArray)?;
        let ([width, height, _], [format, channels, _]) = (array.extent, array.element);
        let said: Flat = ([width, height], [format, channels]);
        // SAFETY: room for a CUDA_ARRAY_DESCRIPTOR, or null, of which the first one says that.
        give(unsafe { at(pArrayDescriptor) }, said.0)?;
        // SAFETY: in that structure.
        give(unsafe { at(Ptr(pArrayDescriptor.0 + 16)) }, said.1)
    }

    fn cuArray3DGetDescriptor_v2 (pArrayDescriptor: Ptr, hArray: Ptr) {
        let array = by_handle(hArray)?;
        let [format, channels, flags] = array.element;
        let said: Deep = (array.extent, [format, channels, flags, 0]);
        // SAFETY: room for a CUDA_ARRAY3D_DESCRIPTOR, or null, of which the first one says that.
        give(unsafe { at(pArrayDescriptor) }, said.0)?;
        // SAFETY: in that structure.
        give(unsafe { at(Ptr(pArrayDescriptor.0 + 24)) }, said.1)
    }

    fn cuArrayDestroy (hArray: Ptr) {
        context::current()?;
        capture::refuse_unsafe()?;
        let array = ARRAYS.remove(hArray.0).ok_or(status::INVALID_HANDLE)?;
        super::quiesce();
        drop(array);
        Ok(())
    }
}

/// Where a copy of bytes begins or ends.
enum End {
    Array(Ptr, usize),
    Memory(Ptr, Role),
}

fn resolved(end: &End, bytes: usize) -> Result<(u64, Home), i32> {
    match *end {
        End::Array(array, offset) => Ok((by_handle(array)?.part(offset, bytes)?, Home::Device)),
        End::Memory(address, role) => Ok((address.0 as u64, home(address.0 as u64, bytes, role)?)),
    }
}

fn bytes(stream: abi::Stream, to: End, from: End, bytes: usize, blocking: bool) -> Result<(), i32> {
    context::current()?;
    if bytes == 0 {
        return resolve(stream).map(drop);
    }
    let ((to, to_home), (from, from_home)) = (resolved(&to, bytes)?, resolved(&from, bytes)?);
    copy(stream, row(to, from, bytes), to_home, from_home, blocking)
}

use End::{Array as InArray, Memory};
use Role::{Any, Device as OnDevice};

in_default_stream! { stream;
    fn cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcDevice: Ptr, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), Memory(srcDevice, OnDevice), ByteCount, true)
    }

    fn cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds (dstDevice: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, Memory(dstDevice, OnDevice), InArray(srcArray, srcOffset), ByteCount, true)
    }

    fn cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), Memory(srcHost, Any), ByteCount, true)
    }

    fn cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, Memory(dstHost, Any), InArray(srcArray, srcOffset), ByteCount, true)
    }

    fn cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), InArray(srcArray, srcOffset), ByteCount, true)
    }
}

on_stream! { hStream;
    fn cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize, hStream: Stream) {
        bytes(hStream, InArray(dstArray, dstOffset), Memory(srcHost, Any), ByteCount, false)
    }

    fn cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize, hStream: Stream) {
        bytes(hStream, Memory(dstHost, Any), InArray(srcArray, srcOffset), ByteCount, false)
    }
}
