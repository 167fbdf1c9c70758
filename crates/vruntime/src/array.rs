//! Arrays: creating and querying them.
//!
//! Owns their descriptors. Must not know: textures, copies.

use cushim_abi::types::*;

use super::error::code;
use super::forward::{address, done, forwards, functions, pass, put};
use super::layout::ArrayDescriptor;
use super::{context, format};
use cushim_vbase::api;

/// The driver's description of an array.
///
/// # Errors
/// The driver's.
pub fn describe(array: usize) -> Result<ArrayDescriptor, Status> {
    let mut found = ArrayDescriptor::default();
    let at = &raw mut found;
    context::attempt(|| {
        // SAFETY: room for the driver's descriptor.
        unsafe { api::cuArray3DGetDescriptor_v2(Ptr(at.expose_provenance()), Ptr(array)) }
    })?;
    Ok(found)
}

/// Bytes of an element of an array.
///
/// # Errors
/// As [`describe`]; cudaErrorInvalidChannelDescriptor for formats without elements (block-compressed).
pub fn element(array: usize) -> Result<usize, Status> {
    let found = describe(array)?;
    match format::element(found.format, found.channels) {
        0 => Err(code::INVALID_CHANNEL_DESCRIPTOR),
        bytes => Ok(bytes),
    }
}

/// Bytes of a row of an array.
///
/// # Errors
/// As [`element`].
pub fn row_bytes(array: usize) -> Result<usize, Status> {
    let found = describe(array)?;
    let element = format::element(found.format, found.channels);
    found.width.checked_mul(element).ok_or(code::INVALID_VALUE)
}

/// The driver's descriptor of an array to be made.
pub fn descriptor(desc: Ptr, extent: Extent, flags: Flags) -> Result<ArrayDescriptor, Status> {
    if desc.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: a cudaChannelFormatDesc.
    let desc = unsafe { std::ptr::with_exposed_provenance::<ChannelDesc>(desc.0).read_unaligned() };
    let (format, channels) = format::of_channels(desc)?;
    let Extent { width, height, depth } = extent;
    Ok(ArrayDescriptor { width, height, depth, format, channels, flags: flags.0 })
}

functions! {
    cudaMallocArray (array: Out<Ptr>, desc: Ptr, width: usize, height: usize, flags: Flags) {
        let extent = Extent { width, height, depth: 0 };
        done(descriptor(desc, extent, flags).and_then(|wanted| {
            // SAFETY: the program's place, and a descriptor of ours.
            context::attempt(|| unsafe { api::cuArray3DCreate_v2(array, address(&wanted)) })
        }))
    }

    cudaMalloc3DArray (array: Out<Ptr>, desc: Ptr, extent: Extent, flags: Flags) {
        done(descriptor(desc, extent, flags).and_then(|wanted| {
            // SAFETY: the program's place for a handle, and a descriptor of ours.
            context::attempt(|| unsafe { api::cuArray3DCreate_v2(array, address(&wanted)) })
        }))
    }

    cudaMallocMipmappedArray (mipmappedArray: Out<Ptr>, desc: Ptr, extent: Extent, numLevels: u32, flags: Flags) {
        done(descriptor(desc, extent, flags).and_then(|wanted| {
            context::attempt(|| {
                // SAFETY: the program's place for a handle, and a descriptor of ours.
                unsafe { api::cuMipmappedArrayCreate(mipmappedArray, address(&wanted), numLevels) }
            })
        }))
    }

    cudaFreeArray (array: Ptr) {
        if array.0 == 0 {
            return context::with(|| 0);
        }
        pass!(cuArrayDestroy(array))
    }

    cudaFreeMipmappedArray (mipmappedArray: Ptr) {
        if mipmappedArray.0 == 0 {
            return context::with(|| 0);
        }
        pass!(cuMipmappedArrayDestroy(mipmappedArray))
    }

    cudaArrayGetInfo (desc: Ptr, extent: Ptr, flags: Out<u32>, array: Ptr) {
        done(describe(array.0).and_then(|found| {
            let described = format::channels(found.format, found.channels);
            if desc.0 != 0 && described.is_none() {
                return Err(code::INVALID_CHANNEL_DESCRIPTOR);
            }
            // SAFETY: the program's places; each may be null (CUDA Runtime API, cudaArrayGetInfo).
            unsafe {
                put(desc, described.unwrap_or_default());
                put(extent, Extent { width: found.width, height: found.height, depth: found.depth });
                put(Ptr(flags.0.expose_provenance()), found.flags);
            }
            Ok(())
        }))
    }

    cudaGetChannelDesc (desc: Ptr, array: Ptr) {
        if desc.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        done(describe(array.0).and_then(|found| {
            let described = format::channels(found.format, found.channels);
            // SAFETY: the program's place for a cudaChannelFormatDesc.
            described.map(|described| unsafe { put(desc, described) }).ok_or(code::INVALID_CHANNEL_DESCRIPTOR)
        }))
    }

    cudaExternalMemoryGetMappedMipmappedArray (mipmap: Out<Ptr>, extMem: Ptr, mipmapDesc: Ptr) {
        use super::layout::{DriverExternalMipmappedArrayDesc, ExternalMipmappedArrayDesc};
        // SAFETY: a cudaExternalMemoryMipmappedArrayDesc.
        done(unsafe { super::copy::planes::read::<ExternalMipmappedArrayDesc>(mipmapDesc) }.and_then(|desc| {
            let array = descriptor(address(&desc.desc), desc.extent, Flags(desc.flags))?;
            let (offset, levels) = (desc.offset, desc.levels);
            let wanted = DriverExternalMipmappedArrayDesc { offset, array, levels, reserved: [0; 16] };
            context::attempt(|| {
                // SAFETY: the program's place, and a descriptor of ours.
                unsafe { api::cuExternalMemoryGetMappedMipmappedArray(mipmap, extMem, address(&wanted)) }
            })
        }))
    }
}

/// The descriptor of given channels.
#[allow(non_snake_case, missing_docs)]
pub unsafe extern "C" fn cudaCreateChannelDesc<const MAJOR: usize>(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    f: i32,
) -> ChannelDesc {
    ChannelDesc { x, y, z, w, f }
}

forwards! {
    cudaGetMipmappedArrayLevel (levelArray: Out<Ptr>, mipmappedArray: Ptr, level: u32) = cuMipmappedArrayGetLevel(levelArray, mipmappedArray, level);
    cudaArrayGetPlane (pPlaneArray: Out<Ptr>, hArray: Ptr, planeIdx: u32) = cuArrayGetPlane(pPlaneArray, hArray, planeIdx);
    cudaArrayGetMemoryRequirements (memoryRequirements: Ptr, array: Ptr, device: Device) = cuArrayGetMemoryRequirements(memoryRequirements, array, device);
    cudaArrayGetSparseProperties (sparseProperties: Ptr, array: Ptr) = cuArrayGetSparseProperties(sparseProperties, array);
    cudaMipmappedArrayGetMemoryRequirements (memoryRequirements: Ptr, mipmap: Ptr, device: Device) = cuMipmappedArrayGetMemoryRequirements(memoryRequirements, mipmap, device);
    cudaMipmappedArrayGetSparseProperties (sparseProperties: Ptr, mipmap: Ptr) = cuMipmappedArrayGetSparseProperties(sparseProperties, mipmap);
}
