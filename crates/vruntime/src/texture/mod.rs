//! Texture and surface objects.
//!
//! Owns the conversion of their descriptors to the driver's and back; objects are the driver's own handles. If the
//! driver below has no textures, the functions return "not supported". Must not know: arrays, references of CUDA 11
//! ([`reference`]).

pub mod reference;
#[cfg(test)]
mod tests;

use cushim_abi::types::*;

use super::copy::planes::read;
use super::error::code;
use super::forward::{address, address_mut, done, forwards, functions, give, pass, put};
use super::layout::*;
use super::{array, context, format};
use cushim_vbase::api;

/// `cudaResourceType`, `CUresourcetype`.
pub mod resource {
    #![allow(missing_docs)]
    pub const ARRAY: i32 = 0;
    pub const MIPMAPPED: i32 = 1;
    pub const LINEAR: i32 = 2;
    pub const PITCHED: i32 = 3;
}

/// `CU_TRSF_*`.
pub mod flag {
    #![allow(missing_docs)]
    pub const READ_AS_INTEGER: u32 = 0x01;
    pub const NORMALIZED_COORDINATES: u32 = 0x02;
    pub const SRGB: u32 = 0x10;
    pub const DISABLE_TRILINEAR: u32 = 0x20;
    pub const SEAMLESS: u32 = 0x40;
}

/// `cudaReadModeElementType`, `cudaReadModeNormalizedFloat`.
const ELEMENT: i32 = 0;
const NORMALIZED_FLOAT: i32 = 1;

/// Offset of the flags of a resource descriptor from 13 on.
const RESOURCE_FLAGS: usize = 136;

fn resource_for_driver<const MAJOR: usize>(from: Ptr) -> Result<DriverResourceDesc, Status> {
    // SAFETY: a cudaResourceDesc.
    let given: ResourceDesc = unsafe { read(from) }?;
    let mut ours = DriverResourceDesc { kind: given.kind, at: given.at, ..Default::default() };
    match given.kind {
        resource::ARRAY | resource::MIPMAPPED => {}
        resource::LINEAR | resource::PITCHED => {
            (ours.format, ours.channels) = format::of_channels(given.desc)?;
            ours.width = given.width;
            if given.kind == resource::PITCHED {
                (ours.height, ours.pitch) = (given.height, given.pitch);
            }
        }
        _ => return Err(code::INVALID_VALUE),
    }
    if MAJOR >= 13 {
        let at = std::ptr::with_exposed_provenance::<u32>(from.0 + RESOURCE_FLAGS);
        // SAFETY: within the structure of 13.
        ours.flags = unsafe { at.read_unaligned() };
    }
    Ok(ours)
}

/// The inverse of [`resource_for_driver`].
fn resource_of_driver<const MAJOR: usize>(
    to: Ptr,
    found: &DriverResourceDesc,
) -> Result<(), Status> {
    let mut given = ResourceDesc { kind: found.kind, at: found.at, ..Default::default() };
    if matches!(found.kind, resource::LINEAR | resource::PITCHED) {
        given.desc = format::channels(found.format, found.channels)
            .ok_or(code::INVALID_CHANNEL_DESCRIPTOR)?;
        given.width = found.width;
        if found.kind == resource::PITCHED {
            (given.height, given.pitch) = (found.height, found.pitch);
        }
    }
    // SAFETY: the program's place for a cudaResourceDesc, whose flags are in 13 only.
    unsafe {
        put(to, given);
        if MAJOR >= 13 {
            put(Ptr(to.0 + RESOURCE_FLAGS), found.flags);
        }
    }
    Ok(())
}

/// The format of a texture's elements.
fn format_of(resource: &DriverResourceDesc) -> Result<u32, Status> {
    match resource.kind {
        resource::ARRAY => array::describe(resource.at).map(|found| found.format),
        resource::MIPMAPPED => {
            let mut level = Ptr(0);
            let to = Out(&raw mut level);
            // SAFETY: a place for a handle.
            context::attempt(|| unsafe { api::cuMipmappedArrayGetLevel(to, Ptr(resource.at), 0) })?;
            array::describe(level.0).map(|found| found.format)
        }
        _ => Ok(resource.format),
    }
}

/// A texture's descriptor in the driver's form, for elements of a format. Integers are returned
/// unchanged if element read mode is requested; other formats have no such choice.
pub fn texture_for_driver(given: &TextureDesc, format: u32) -> Result<DriverTextureDesc, Status> {
    if !matches!(given.read_mode, ELEMENT | NORMALIZED_FLOAT) {
        return Err(code::INVALID_VALUE);
    }
    let mut flags = 0;
    let mut set = |wanted: bool, flag| flags |= if wanted { flag } else { 0 };
    set(given.read_mode == ELEMENT && format::is_integer(format), flag::READ_AS_INTEGER);
    set(given.normalized != 0, flag::NORMALIZED_COORDINATES);
    set(given.srgb != 0, flag::SRGB);
    set(given.disable_trilinear != 0, flag::DISABLE_TRILINEAR);
    set(given.seamless != 0, flag::SEAMLESS);
    Ok(DriverTextureDesc {
        address_mode: given.address_mode,
        filter_mode: given.filter_mode,
        flags,
        max_anisotropy: given.max_anisotropy,
        mipmap_filter: given.mipmap_filter,
        mipmap_bias: given.mipmap_bias,
        mipmap_min: given.mipmap_min,
        mipmap_max: given.mipmap_max,
        border: given.border,
        reserved: [0; 12],
    })
}

/// The inverse of [`texture_for_driver`].
fn texture_of_driver(found: &DriverTextureDesc, format: u32) -> TextureDesc {
    let has = |flag| i32::from(found.flags & flag != 0);
    let read_mode = match format::is_integer(format) && found.flags & flag::READ_AS_INTEGER == 0 {
        true => NORMALIZED_FLOAT,
        false => ELEMENT,
    };
    TextureDesc {
        address_mode: found.address_mode,
        filter_mode: found.filter_mode,
        read_mode,
        srgb: has(flag::SRGB),
        border: found.border,
        normalized: has(flag::NORMALIZED_COORDINATES),
        max_anisotropy: found.max_anisotropy,
        mipmap_filter: found.mipmap_filter,
        mipmap_bias: found.mipmap_bias,
        mipmap_min: found.mipmap_min,
        mipmap_max: found.mipmap_max,
        disable_trilinear: has(flag::DISABLE_TRILINEAR),
        seamless: has(flag::SEAMLESS),
    }
}

/// Reads a texture's descriptor; the form of 11 has no last field.
fn texture_desc(from: Ptr, short: bool) -> Result<TextureDesc, Status> {
    if !short {
        // SAFETY: a cudaTextureDesc.
        return unsafe { read(from) };
    }
    // SAFETY: the cudaTextureDesc of 11, which lacks only the last field.
    let words: [u32; 17] = unsafe { read(from) }?;
    let mut given = TextureDesc::default();
    // SAFETY: 17 words at the start of 18; every bit pattern is a descriptor.
    unsafe { (&raw mut given).cast::<[u32; 17]>().write(words) };
    Ok(given)
}

fn create<const MAJOR: usize>(
    to: Out<u64>,
    resource: Ptr,
    texture: Ptr,
    view: Ptr,
    short: bool,
) -> Result<(), Status> {
    if to.0.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let resource = resource_for_driver::<MAJOR>(resource)?;
    let given = texture_desc(texture, short)?;
    let texture = texture_for_driver(&given, format_of(&resource)?)?;
    let mut viewed = DriverResourceViewDesc::default();
    let mut at = Ptr(0);
    if view.0 != 0 {
        // SAFETY: a cudaResourceViewDesc, of which every major has this part.
        viewed.view = unsafe { read(view) }?;
        at = address(&viewed);
    }
    context::attempt(|| {
        // SAFETY: the program's place, and descriptors of ours.
        unsafe { api::cuTexObjectCreate(to, address(&resource), address(&texture), at) }
    })
}

/// A property of an object, by one of the driver's three queries.
fn asked<T: Default>(question: impl Fn(Ptr) -> i32) -> Result<T, Status> {
    let mut found = T::default();
    let at = address_mut(&mut found);
    context::attempt(|| question(at))?;
    Ok(found)
}

fn texture_told(to: Ptr, object: u64, short: bool) -> Result<(), Status> {
    if to.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: places for the driver's structures, here and below.
    let found: DriverTextureDesc =
        asked(|at| unsafe { api::cuTexObjectGetTextureDesc(at, object) })?;
    // SAFETY: a place for the driver's structure.
    let resource = asked(|at| unsafe { api::cuTexObjectGetResourceDesc(at, object) })?;
    let told = texture_of_driver(&found, format_of(&resource)?);
    let words = (&raw const told).cast::<[u32; 17]>();
    // SAFETY: the program's place for a cudaTextureDesc, which ends before the last field in the old form.
    unsafe {
        match short {
            true => put(to, words.read()),
            false => put(to, told),
        }
    }
    Ok(())
}

fn resource_told<const MAJOR: usize>(to: Ptr, question: impl Fn(Ptr) -> i32) -> Result<(), Status> {
    if to.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    resource_of_driver::<MAJOR>(to, &asked(question)?)
}

functions! {
    cudaCreateTextureObject (pTexObject: Out<u64>, pResDesc: Ptr, pTexDesc: Ptr, pResViewDesc: Ptr) {
        done(create::<MAJOR>(pTexObject, pResDesc, pTexDesc, pResViewDesc, MAJOR < 12))
    }

    cudaCreateTextureObject_v2 (pTexObject: Out<u64>, pResDesc: Ptr, pTexDesc: Ptr, pResViewDesc: Ptr) {
        done(create::<MAJOR>(pTexObject, pResDesc, pTexDesc, pResViewDesc, false))
    }

    cudaCreateSurfaceObject (pSurfObject: Out<u64>, pResDesc: Ptr) {
        done(resource_for_driver::<MAJOR>(pResDesc).and_then(|resource| {
            if pSurfObject.0.is_null() {
                return Err(code::INVALID_VALUE);
            }
            // SAFETY: the program's place, and a descriptor of ours.
            context::attempt(|| unsafe { api::cuSurfObjectCreate(pSurfObject, address(&resource)) })
        }))
    }

    cudaGetTextureObjectTextureDesc (pTexDesc: Ptr, texObject: u64) {
        done(texture_told(pTexDesc, texObject, MAJOR < 12))
    }

    cudaGetTextureObjectTextureDesc_v2 (pTexDesc: Ptr, texObject: u64) {
        done(texture_told(pTexDesc, texObject, false))
    }

    cudaGetTextureObjectResourceDesc (pResDesc: Ptr, texObject: u64) {
        // SAFETY: a place for the driver's structure.
        done(resource_told::<MAJOR>(pResDesc, |at| unsafe { api::cuTexObjectGetResourceDesc(at, texObject) }))
    }

    cudaGetSurfaceObjectResourceDesc (pResDesc: Ptr, surfObject: u64) {
        // SAFETY: a place for the driver's structure.
        done(resource_told::<MAJOR>(pResDesc, |at| unsafe { api::cuSurfObjectGetResourceDesc(at, surfObject) }))
    }

    cudaGetTextureObjectResourceViewDesc (pResViewDesc: Ptr, texObject: u64) {
        if pResViewDesc.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        let told = asked(|at| {
            // SAFETY: a place for the driver's structure.
            unsafe { api::cuTexObjectGetResourceViewDesc(at, texObject) }
        });
        done(told.map(|found: DriverResourceViewDesc| {
            // SAFETY: the program's place for a cudaResourceViewDesc, whose end is the program's in 13, too.
            unsafe { put(pResViewDesc, found.view) }
        }))
    }

    cudaDeviceGetTexture1DLinearMaxWidth (maxWidthInElements: Out<usize>, fmtDesc: Ptr, device: Device) {
        // SAFETY: a cudaChannelFormatDesc.
        done(unsafe { read::<ChannelDesc>(fmtDesc) }.and_then(|desc| {
            let (format, channels) = format::of_channels(desc)?;
            let mut width = 0;
            let to = Out(&raw mut width);
            context::attempt(|| {
                // SAFETY: a place for the result.
                unsafe { api::cuDeviceGetTexture1DLinearMaxWidth(to, format as i32, channels, device) }
            })?;
            // SAFETY: the program's place for a number, or null.
            unsafe { give(maxWidthInElements, width) }
        }))
    }
}

forwards! {
    cudaDestroyTextureObject (texObject: u64) = cuTexObjectDestroy(texObject);
    cudaDestroySurfaceObject (surfObject: u64) = cuSurfObjectDestroy(surfObject);
}
