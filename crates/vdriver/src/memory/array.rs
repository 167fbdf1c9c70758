//! Arrays: memory for textures and surfaces, here as consecutive rows.
//!
//! Owns the objects and the valid combinations of parameters. Source: CUDA Driver API, `cuArray3DCreate`; what an
//! H200's driver accepts. Must not know: what copies and samples them.

use std::sync::Arc;

use cushim_abi::types::*;

use crate::argument::{In, Place};
use crate::context::{self, Context as Owner};
use crate::entry::entry;
use crate::handle::{Handles, handle};
use crate::state::{accelerator, at, check, give};
use crate::status;
use crate::stream::capture;
use cushim_accel::MemoryKind;

/// `CUDA_ARRAY3D_*`.
pub mod flag {
    #![allow(missing_docs)]
    pub const LAYERED: u32 = 0x01;
    pub const SURFACE: u32 = 0x02;
    pub const CUBEMAP: u32 = 0x04;
    pub const GATHER: u32 = 0x08;
    pub const DEPTH: u32 = 0x10;
    pub const COLOR: u32 = 0x20;
    pub const SPARSE: u32 = 0x40;
    pub const DEFERRED: u32 = 0x80;
    pub const VIDEO: u32 = 0x100;
    /// A bit reserved by the header (measured).
    pub const KEPT: u32 = 1 << 31;
}

/// Flags that plain memory satisfies.
const FLAGS: u32 = flag::LAYERED | flag::SURFACE | flag::CUBEMAP | flag::GATHER;
/// Flags that arrays of numbers may have.
const KNOWN: u32 = FLAGS | flag::SPARSE | flag::DEFERRED | flag::VIDEO | flag::KEPT;

/// The largest planes, volumes (also with more planes than rows), edges of cubes and of layers, and
/// how many of these (from an H200).
const PLANE: [usize; 3] = [131_072, 65_536, 0];
const VOLUME: [usize; 3] = [16_384; 3];
const DEEP_VOLUME: [usize; 3] = [8_192, 8_192, 32_768];
const CUBE: usize = 32_768;
const LAYERS: usize = 2048;
const FACES: usize = 2046;

/// An array.
pub struct Array {
    /// Its first byte.
    pub address: u64,
    /// The requested array.
    pub form: Form,
    /// Bytes of a row.
    pub row: usize,
    /// It is a level of a mipmapped array, which owns the memory.
    pub is_level: bool,
    context: u64,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Width and rows in elements, planes or layers; 0 for a missing axis.
    pub extent: [usize; 3],
    /// `CUarray_format`.
    pub format: u32,
    /// Channels of an element.
    pub channels: u32,
    /// `CUDA_ARRAY3D_*`.
    pub flags: u32,
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

/// Bytes of an element (`CUarray_format`, channels).
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for compressed and planar formats, depths and the like.
pub fn element(format: u32, channels: u32) -> Result<usize, i32> {
    let plain = |bytes: usize| match channels {
        1 | 2 | 4 => Ok(bytes * channels as usize),
        _ => Err(status::INVALID_VALUE),
    };
    match format {
        0x01 | 0x08 => plain(1),
        0x02 | 0x09 | 0x10 => plain(2),
        0x03 | 0x0a | 0x20 => plain(4),
        // Normalised: one, two, four channels of 8 and of 16 bits, without a sign and with.
        0xc0..=0xcb => {
            let kind = format - 0xc0;
            let own = 1 << (kind % 3);
            let bytes = 1 + usize::from(kind / 3 % 2 == 1);
            if channels == own { Ok(bytes * own as usize) } else { Err(status::INVALID_VALUE) }
        }
        // Ten bits of each colour; compressed blocks.
        0x50 | 0x91..=0x9e if channels == of_blocks(format) => Err(status::NOT_SUPPORTED),
        _ => Err(status::INVALID_VALUE),
    }
}

/// Channels that arrays of such a format are made with.
const fn of_blocks(format: u32) -> u32 {
    match format {
        0x97 | 0x98 => 1,
        0x99 | 0x9a => 2,
        0x9b | 0x9c => 3,
        _ => 4,
    }
}

impl Array {
    /// Rows of a plane, and planes: at least one each.
    pub fn rows(&self) -> [usize; 2] {
        let [_, height, depth] = self.form.extent;
        [height.max(1), depth.max(1)]
    }

    fn bytes(&self) -> usize {
        self.rows().iter().product::<usize>() * self.row
    }

    /// Where `bytes` from `offset` on are.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE where they are not inside.
    pub fn part(&self, offset: usize, bytes: usize) -> Result<u64, i32> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(self.address + offset as u64),
            _ => Err(status::INVALID_VALUE),
        }
    }

    /// Its handle.
    pub fn handle(self: &Arc<Self>) -> usize {
        handle(self)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        accelerator().free(self.address);
    }
}

impl Form {
    /// Checks that such an array is possible; returns the bytes of an element.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED.
    pub fn check(&self) -> Result<usize, i32> {
        let [width, height, depth] = self.extent;
        let has = |flag| self.flags & flag != 0;
        let wrong = Err(status::INVALID_VALUE);
        let element = element(self.format, self.channels)?;
        let shape = match (has(flag::CUBEMAP), has(flag::LAYERED)) {
            (true, layered) => {
                width == height && if layered { depth % 6 == 0 } else { depth == 6 } && depth > 0
            }
            (false, true) => depth > 0,
            (false, false) => depth == 0 || height > 0,
        };
        let gathers = has(flag::GATHER);
        if width == 0 || !shape || gathers && (height == 0 || depth > 0) || !self.fits() {
            return wrong;
        }
        if self.flags & !KNOWN != 0 || has(flag::SPARSE) && (has(flag::SURFACE) || height == 0) {
            return wrong;
        }
        if self.flags & !FLAGS != 0 {
            return Err(status::NOT_SUPPORTED);
        }
        Ok(element)
    }

    /// Whether it is within a device's limits (`CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE…`,
    /// `…_SURFACE…`).
    fn fits(&self) -> bool {
        let [width, height, depth] = self.extent;
        let has = |flag| self.flags & flag != 0;
        let within = |most: [usize; 3]| width <= most[0] && height <= most[1] && depth <= most[2];
        match (has(flag::CUBEMAP), has(flag::LAYERED)) {
            (true, false) => within([CUBE, CUBE, 6]),
            (true, true) => within([CUBE, CUBE, FACES]),
            (false, true) => within([CUBE, CUBE, LAYERS]),
            (false, false) if depth > 0 => {
                within(VOLUME) || !has(flag::SURFACE) && within(DEEP_VOLUME)
            }
            (false, false) if height > 0 && has(flag::GATHER) => within([CUBE, CUBE, 0]),
            (false, false) if height > 0 => within(PLANE),
            _ if has(flag::SURFACE) => width <= CUBE,
            _ => width <= PLANE[0],
        }
    }

    /// The form of a level: each existing axis halved `level` times, at least 1.
    pub fn level(&self, level: u32) -> Form {
        let less = |n: usize| if n == 0 { 0 } else { (n >> level).max(1) };
        let [width, height, depth] = self.extent;
        let layered = self.flags & (flag::LAYERED | flag::CUBEMAP) != 0;
        let depth = if layered { depth } else { less(depth) };
        Form { extent: [less(width), less(height), depth], ..*self }
    }
}

/// An array with its own memory and a handle.
///
/// # Errors
/// Those of [`Form::check`], CUDA_ERROR_OUT_OF_MEMORY.
pub fn make(context: &Owner, form: Form, is_level: bool) -> Result<Arc<Array>, i32> {
    let wrong = status::INVALID_VALUE;
    let [width, height, depth] = form.extent;
    let row = width.checked_mul(form.check()?).ok_or(wrong)?;
    let plane = row.checked_mul(height.max(1)).ok_or(wrong)?;
    let bytes = plane.checked_mul(depth.max(1)).filter(|bytes| *bytes <= isize::MAX as usize);
    let bytes = bytes.ok_or(wrong)?;
    let address = super::take::allocate(context.device, MemoryKind::Device, bytes)?;
    // Writes through surfaces are not reported to the checks.
    super::count_as_written(address, bytes);
    let array = Arc::new(Array { address, form, row, is_level, context: context.id });
    ARRAYS.add(array.clone());
    Ok(array)
}

/// Invalidates the handle of an array; returns whether it had one.
pub fn forget(array: &Arc<Array>) -> bool {
    ARRAYS.remove(handle(array)).is_some()
}

fn create(to: Place<Ptr>, form: Form) -> Result<(), i32> {
    let context = context::current()?;
    capture::refuse_unsafe()?;
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let array = make(&context, form, false)?;
    give(to, Ptr(array.handle()))
}

/// Frees the arrays of a context that ends. Its work has ended.
pub fn forget_context(context: &Owner) {
    for array in ARRAYS.all().iter().filter(|array| array.context == context.id) {
        forget(array);
    }
}

/// `CUDA_ARRAY3D_DESCRIPTOR` as the program has it.
pub type Words = [u64; 5];

/// The form in a descriptor.
pub fn form([width, height, depth, element, flags]: Words) -> Form {
    Form {
        extent: [width as usize, height as usize, depth as usize],
        format: element as u32,
        channels: (element >> 32) as u32,
        flags: flags as u32,
    }
}

entry! {
    fn cuArrayCreate_v2 (pHandle: Out<Ptr>, pAllocateArray: In<[u64; 3]>) {
        let [width, height, element] = pAllocateArray.read()?;
        create(pHandle, form([width, height, 0, element, 0]))
    }

    fn cuArray3DCreate_v2 (pHandle: Out<Ptr>, pAllocateArray: In<Words>) {
        create(pHandle, form(pAllocateArray.read()?))
    }

    fn cuArrayGetDescriptor_v2 (pArrayDescriptor: Ptr, hArray: Ptr) {
        let Form { extent: [width, height, _], format, channels, .. } = by_handle(hArray)?.form;
        // SAFETY: room for a CUDA_ARRAY_DESCRIPTOR, or null, of which the first one says that.
        give(unsafe { at(pArrayDescriptor) }, [width, height])?;
        // SAFETY: in that structure.
        give(unsafe { at(Ptr(pArrayDescriptor.0 + 16)) }, [format, channels])
    }

    fn cuArray3DGetDescriptor_v2 (pArrayDescriptor: Ptr, hArray: Ptr) {
        let Form { extent, format, channels, flags } = by_handle(hArray)?.form;
        // SAFETY: room for a CUDA_ARRAY3D_DESCRIPTOR, or null, of which the first one says that.
        give(unsafe { at(pArrayDescriptor) }, extent)?;
        // SAFETY: in that structure.
        give(unsafe { at(Ptr(pArrayDescriptor.0 + 24)) }, [format, channels, flags, 0])
    }

    // Only deferred-mapping, sparse and planar arrays have requirements.
    fn cuArrayGetMemoryRequirements (memoryRequirements: Ptr, array: Ptr, device: Device) {
        let _ = (memoryRequirements, device);
        by_handle(array)?;
        Err(status::INVALID_VALUE)
    }

    fn cuArrayGetSparseProperties (sparseProperties: Ptr, array: Ptr) {
        let _ = sparseProperties;
        by_handle(array)?;
        Err(status::INVALID_VALUE)
    }

    fn cuArrayGetPlane (pPlaneArray: Out<Ptr>, hArray: Ptr, planeIdx: u32) {
        let _ = (pPlaneArray, planeIdx);
        by_handle(hArray)?;
        Err(status::INVALID_VALUE)
    }

    fn cuArrayDestroy (hArray: Ptr) {
        context::current()?;
        capture::refuse_unsafe()?;
        let array = by_handle(hArray)?;
        // A level stays with the others; destroying it is no error (measured).
        if array.is_level {
            return Ok(());
        }
        if !forget(&array) {
            return Err(status::INVALID_HANDLE);
        }
        super::quiesce();
        Ok(())
    }
}
