//! Device memory: linear, pitched, 3D and stream-ordered allocations; free memory; pointer attributes.
//!
//! Owns what the runtime adds to the driver's allocations: sizes of 0, pitched pointers, the attributes
//! of a pointer. Must not know: host and managed allocations.

use cushim_abi::types::*;

use crate::context;
use crate::error::code;
use crate::forward::{address, address_mut, done, forwards, functions, pass, put};
use crate::layout::{PointerAttributes, PointerAttributesTail};
use cushim_vbase::api;

functions! {
    cudaMalloc (devPtr: Out<Ptr>, size: usize) {
        if devPtr.0.is_null() {
            // This call still initialises CUDA; the error is the same after CUDA ended (measured).
            let _ = context::init();
            return done(Err(code::INVALID_VALUE));
        }
        // CUDA Runtime API: an allocation of no bytes succeeds; the driver refuses it.
        if size == 0 {
            return nothing(devPtr);
        }
        pass!(cuMemAlloc_v2(devPtr, size))
    }

    cudaMallocPitch (devPtr: Out<Ptr>, pitch: Out<usize>, width: usize, height: usize) {
        if devPtr.0.is_null() || pitch.0.is_null() {
            return done(Err(code::INVALID_VALUE));
        }
        done(pitched(width, height).map(|(at, row)| {
            // SAFETY: not null; the program's places for the results.
            unsafe {
                devPtr.0.write_unaligned(Ptr(at));
                pitch.0.write_unaligned(row);
            }
        }))
    }

    cudaMalloc3D (pitchedDevPtr: Out<Ptr>, extent: Extent) {
        if pitchedDevPtr.0.is_null() {
            return done(Err(code::INVALID_VALUE));
        }
        let Some(rows) = extent.height.checked_mul(extent.depth) else {
            return done(Err(code::MEMORY_ALLOCATION));
        };
        done(pitched(extent.width, rows).map(|(ptr, pitch)| {
            let made = PitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height };
            // SAFETY: the program's place for a cudaPitchedPtr, which is what the parameter points to.
            unsafe { pitchedDevPtr.0.cast::<PitchedPtr>().write_unaligned(made) };
        }))
    }

    cudaFree (devPtr: Ptr) {
        pass!(cuMemFree_v2(devPtr))
    }

    cudaPointerGetAttributes (attributes: Ptr, ptr: Ptr) {
        if attributes.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        done(pointer(ptr).map(|found| {
            // SAFETY: the program's place for a cudaPointerAttributes, longer in 13.
            unsafe {
                put(attributes, found);
                if MAJOR >= 13 {
                    let tail = PointerAttributesTail { locality_domain: -1, reserved: [0; 7] };
                    put(Ptr(attributes.0 + size_of::<PointerAttributes>()), tail);
                }
            }
        }))
    }
}

forwards! {
    cudaMallocAsync / cudaMallocAsync_ptsz (devPtr: Out<Ptr>, size: usize, hStream: Stream) = cuMemAllocAsync(devPtr, size, hStream);
    cudaFreeAsync / cudaFreeAsync_ptsz (devPtr: Ptr, hStream: Stream) = cuMemFreeAsync(devPtr, hStream);
    cudaMemGetInfo (free: Out<usize>, total: Out<usize>) = cuMemGetInfo_v2(free, total);
}

/// The result of an allocation of no bytes.
pub fn nothing(to: Out<Ptr>) -> Status {
    if to.0.is_null() {
        return done(Err(code::INVALID_VALUE));
    }
    context::with(|| {
        // SAFETY: not null; the program's place for the result.
        unsafe { to.0.write_unaligned(Ptr(0)) };
        0
    })
}

/// Rows of `width` bytes, each aligned for any element: returns address and pitch. The driver takes
/// the element's size and does the same for each that it allows (4, 8, 16).
fn pitched(width: usize, rows: usize) -> Result<(usize, usize), Status> {
    if width == 0 || rows == 0 {
        context::ready()?;
        return Ok((0, 0));
    }
    let (mut at, mut pitch) = (Ptr(0), 0);
    let (at_out, pitch_out) = (&raw mut at, &raw mut pitch);
    context::attempt(|| {
        // SAFETY: two places of ours.
        unsafe { api::cuMemAllocPitch_v2(Out(at_out), Out(pitch_out), width, rows, 4) }
    })?;
    Ok((at.0, pitch))
}

/// `CU_POINTER_ATTRIBUTE_*`.
mod attribute {
    pub const MEMORY_TYPE: i32 = 2;
    pub const DEVICE_POINTER: i32 = 3;
    pub const HOST_POINTER: i32 = 4;
    pub const IS_MANAGED: i32 = 8;
    pub const DEVICE_ORDINAL: i32 = 9;
}

/// `cudaMemoryTypeManaged`; the other kinds have the driver's numbers.
const MANAGED: i32 = 3;
/// `cudaInvalidDeviceId`.
const NO_DEVICE: i32 = -2;

/// The attributes of a pointer. One that CUDA does not know is ordinary host memory
/// (driver_types.h, cudaPointerAttributes: not checked).
fn pointer(ptr: Ptr) -> Result<PointerAttributes, Status> {
    let (mut kind, mut managed, mut device) = (0_u32, 0_u32, NO_DEVICE);
    let (mut on_device, mut on_host) = (0_usize, 0_usize);
    let asked = [
        attribute::MEMORY_TYPE,
        attribute::DEVICE_POINTER,
        attribute::HOST_POINTER,
        attribute::IS_MANAGED,
        attribute::DEVICE_ORDINAL,
    ];
    let answers = [
        address_mut(&mut kind),
        address_mut(&mut on_device),
        address_mut(&mut on_host),
        address_mut(&mut managed),
        address_mut(&mut device),
    ];
    context::attempt(|| {
        // SAFETY: as many attributes as places, each of the size of its attribute.
        unsafe {
            api::cuPointerGetAttributes(asked.len() as u32, address(&asked), address(&answers), ptr)
        }
    })?;
    let kind = i32::try_from(kind).unwrap_or(0);
    if kind == 0 {
        return Ok(PointerAttributes {
            kind,
            device: NO_DEVICE,
            device_pointer: on_device,
            host_pointer: ptr.0,
        });
    }
    let kind = if managed & 0xff != 0 { MANAGED } else { kind };
    Ok(PointerAttributes { kind, device, device_pointer: on_device, host_pointer: on_host })
}
