//! Texture and surface references of CUDA 11: variables of a module that are bound to memory.
//!
//! Owns what a binding passes to the driver's reference, which is looked up in the module of the current context each
//! time. Attributes that the program changes take effect at the next binding. Must not know: objects.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use cushim_abi::types::*;

use super::flag;
use crate::copy::planes::read;
use crate::error::code;
use crate::forward::{address, done, functions, give};
use crate::layout::TextureReference;
use crate::registry::{self, Reference};
use crate::{array, context, format};
use cushim_accel::locks::lock;
use cushim_vbase::api;

/// `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: Flags = Flags(1);
/// The size that the C++ form of cudaBindTexture passes for "all of it" (`UINT_MAX`).
const ALL: usize = u32::MAX as usize;

/// The offset in bytes of each bound reference, by the reference's address.
static OFFSETS: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

fn step(call: impl Fn() -> i32) -> Result<(), Status> {
    context::attempt(call)
}

/// The driver's reference of a texture that was registered.
fn texture(texref: Ptr) -> Result<(Ptr, Reference), Status> {
    let known = registry::reference(texref, code::INVALID_TEXTURE)?;
    let mut found = Ptr(0);
    let to = Out(&raw mut found);
    // SAFETY: a place for a handle, a module, a string of the registered image.
    step(|| unsafe { api::cuModuleGetTexRef(to, known.module, known.name) }).map_err(|error| {
        if error == code::SYMBOL_NOT_FOUND { code::INVALID_TEXTURE } else { error }
    })?;
    Ok((found, known))
}

/// Copies the settings of the program's reference to the driver's, for elements of a format.
fn attributes(texref: Ptr, ours: Ptr, known: &Reference, format: u32) -> Result<(), Status> {
    // SAFETY: a textureReference, which the program registered.
    let given: TextureReference = unsafe { read(texref) }?;
    let mut flags = 0;
    let mut set = |wanted: bool, flag| flags |= if wanted { flag } else { 0 };
    set(known.mode == 0 && format::is_integer(format), flag::READ_AS_INTEGER);
    set(given.normalized != 0, flag::NORMALIZED_COORDINATES);
    set(given.srgb != 0, flag::SRGB);
    set(given.disable_trilinear != 0, flag::DISABLE_TRILINEAR);
    // SAFETY: a reference of the driver; no pointers of the program.
    step(|| unsafe { api::cuTexRefSetFlags(ours, Flags(flags)) })?;
    // SAFETY: a reference of the driver; no pointers of the program.
    step(|| unsafe { api::cuTexRefSetFilterMode(ours, given.filter_mode) })?;
    for (dim, mode) in (0..).zip(given.address_mode) {
        // SAFETY: a reference of the driver; no pointers of the program.
        step(|| unsafe { api::cuTexRefSetAddressMode(ours, dim, mode) })?;
    }
    // SAFETY: a reference of the driver; no pointers of the program.
    step(|| unsafe { api::cuTexRefSetMaxAnisotropy(ours, given.max_anisotropy) })
}

/// Sets the format of linear memory; returns the descriptor's format and channels.
fn linear(ours: Ptr, desc: Ptr) -> Result<(u32, u32), Status> {
    // SAFETY: a cudaChannelFormatDesc.
    let (format, channels) = format::of_channels(unsafe { read::<ChannelDesc>(desc) }?)?;
    // SAFETY: no pointers of the program.
    step(|| unsafe { api::cuTexRefSetFormat(ours, format as i32, channels as i32) })?;
    Ok((format, channels))
}

/// The bytes from an address to the end of its allocation.
fn to_the_end(at: Ptr) -> Result<usize, Status> {
    let (mut base, mut bytes) = (Ptr(0), 0);
    let to = (Out(&raw mut base), Out(&raw mut bytes));
    // SAFETY: places for both.
    step(|| unsafe { api::cuMemGetAddressRange_v2(to.0, to.1, at) })?;
    Ok((base.0 + bytes).saturating_sub(at.0))
}

/// Keeps and returns an offset. It must be 0 if the program does not ask for it (CUDA Runtime API,
/// cudaBindTexture).
///
/// # Safety
/// `to` is null or has room for an offset.
unsafe fn offset(to: Out<usize>, texref: Ptr, bytes: usize) -> Result<(), Status> {
    lock(&OFFSETS).insert(texref.0, bytes);
    match (to.0.is_null(), bytes) {
        (true, 0) => Ok(()),
        (true, _) => Err(code::INVALID_VALUE),
        // SAFETY: `to` is null or has room for an offset, by the caller's promise.
        (false, _) => unsafe { give(to, bytes) },
    }
}

/// # Safety
/// `to` is null or has room for an offset; `desc` is null or a cudaChannelFormatDesc.
unsafe fn bind_linear(
    to: Out<usize>,
    texref: Ptr,
    at: Ptr,
    desc: Ptr,
    size: usize,
) -> Result<(), Status> {
    let (ours, known) = texture(texref)?;
    let (format, _) = linear(ours, desc)?;
    attributes(texref, ours, &known, format)?;
    let bytes = if size >= ALL { to_the_end(at)?.min(size) } else { size };
    let mut begin = 0;
    let place = Out(&raw mut begin);
    // SAFETY: a place for the offset.
    step(|| unsafe { api::cuTexRefSetAddress_v2(place, ours, at, bytes) })?;
    // SAFETY: `to` is null or has room for an offset, by the caller's promise.
    unsafe { offset(to, texref, begin) }
}

/// `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`.
const ALIGNMENT: i32 = 14;

/// # Safety
/// `to` is null or has room for an offset; `desc` is null or a cudaChannelFormatDesc.
unsafe fn bind_plane(
    to: Out<usize>,
    texref: Ptr,
    at: Ptr,
    desc: Ptr,
    (width, height, pitch): (usize, usize, usize),
) -> Result<(), Status> {
    let (ours, known) = texture(texref)?;
    let (format, channels) = linear(ours, desc)?;
    attributes(texref, ours, &known, format)?;
    // The driver only takes aligned addresses here: the remainder is the offset.
    let device = Device(context::current_device()?);
    let mut alignment = 1;
    let place = Out(&raw mut alignment);
    // SAFETY: a place for an int.
    step(|| unsafe { api::cuDeviceGetAttribute(place, ALIGNMENT, device) })?;
    let over = at.0 % usize::try_from(alignment).unwrap_or(1).max(1);
    let element = format::element(format, channels).max(1);
    let width = (width + over / element) as u64;
    let plane = [width, height as u64, u64::from(format) | u64::from(channels) << 32];
    step(|| {
        // SAFETY: a CUDA_ARRAY_DESCRIPTOR: width, height, format, channels.
        unsafe { api::cuTexRefSetAddress2D_v3(ours, address(&plane), Ptr(at.0 - over), pitch) }
    })?;
    // SAFETY: `to` is null or has room for an offset, by the caller's promise.
    unsafe { offset(to, texref, over) }
}

fn bind_array(texref: Ptr, array: Ptr, mipmapped: bool) -> Result<(), Status> {
    let (ours, known) = texture(texref)?;
    let first = match mipmapped {
        false => array,
        true => {
            let mut level = Ptr(0);
            let to = Out(&raw mut level);
            // SAFETY: a place for a handle.
            step(|| unsafe { api::cuMipmappedArrayGetLevel(to, array, 0) })?;
            level
        }
    };
    attributes(texref, ours, &known, array::describe(first.0)?.format)?;
    if mipmapped {
        // SAFETY: a textureReference, which the program registered.
        let given: TextureReference = unsafe { read(texref) }?;
        // SAFETY: no pointers of the program, here and below.
        step(|| unsafe { api::cuTexRefSetMipmapFilterMode(ours, given.mipmap_filter) })?;
        // SAFETY: a reference of the driver; no pointers of the program.
        step(|| unsafe { api::cuTexRefSetMipmapLevelBias(ours, given.mipmap_bias) })?;
        let (low, high) = (given.mipmap_min, given.mipmap_max);
        // SAFETY: a reference of the driver; no pointers of the program.
        step(|| unsafe { api::cuTexRefSetMipmapLevelClamp(ours, low, high) })?;
        // SAFETY: a reference of the driver; no pointers of the program.
        step(|| unsafe { api::cuTexRefSetMipmappedArray(ours, array, OVERRIDE_FORMAT) })?;
    } else {
        // SAFETY: a reference of the driver; no pointers of the program.
        step(|| unsafe { api::cuTexRefSetArray(ours, array, OVERRIDE_FORMAT) })?;
    }
    lock(&OFFSETS).insert(texref.0, 0);
    Ok(())
}

functions! {
    cudaBindTexture (offset: Out<usize>, texref: Ptr, devPtr: Ptr, desc: Ptr, size: usize) {
        // SAFETY: what the CUDA Runtime API asks of the program's pointers.
        done(unsafe { bind_linear(offset, texref, devPtr, desc, size) })
    }

    cudaBindTexture2D (offset: Out<usize>, texref: Ptr, devPtr: Ptr, desc: Ptr, width: usize, height: usize, pitch: usize) {
        // SAFETY: what the CUDA Runtime API asks of the program's pointers.
        done(unsafe { bind_plane(offset, texref, devPtr, desc, (width, height, pitch)) })
    }

    // The array has its own format; the program's format argument is ignored.
    cudaBindTextureToArray (texref: Ptr, array: Ptr, desc: Ptr) {
        let _ = desc;
        done(bind_array(texref, array, false))
    }

    cudaBindTextureToMipmappedArray (texref: Ptr, mipmappedArray: Ptr, desc: Ptr) {
        let _ = desc;
        done(bind_array(texref, mipmappedArray, true))
    }

    cudaUnbindTexture (texref: Ptr) {
        done(texture(texref).and_then(|(ours, _)| {
            lock(&OFFSETS).remove(&texref.0);
            // SAFETY: null arguments: the reference has no memory from now on.
            step(|| unsafe { api::cuTexRefSetAddress_v2(Out(std::ptr::null_mut()), ours, Ptr(0), 0) })
        }))
    }

    cudaGetTextureAlignmentOffset (offset: Out<usize>, texref: Ptr) {
        done(registry::reference(texref, code::INVALID_TEXTURE).and_then(|_| {
            let known = lock(&OFFSETS).get(&texref.0).copied();
            let known = known.ok_or(code::INVALID_TEXTURE_BINDING)?;
            // SAFETY: the program's place for an offset, or null.
            unsafe { give(offset, known) }
        }))
    }

    cudaGetTextureReference (texref: Out<Ptr>, symbol: Ptr) {
        let known = registry::reference(symbol, code::INVALID_TEXTURE);
        // SAFETY: the program's place for an address, or null.
        done(known.and_then(|_| unsafe { give(texref, symbol) }))
    }

    cudaGetSurfaceReference (surfref: Out<Ptr>, symbol: Ptr) {
        let known = registry::reference(symbol, code::INVALID_SURFACE);
        // SAFETY: the program's place for an address, or null.
        done(known.and_then(|_| unsafe { give(surfref, symbol) }))
    }

    cudaBindSurfaceToArray (surfref: Ptr, array: Ptr, desc: Ptr) {
        let _ = desc;
        done(registry::reference(surfref, code::INVALID_SURFACE).and_then(|known| {
            let mut ours = Ptr(0);
            let to = Out(&raw mut ours);
            // SAFETY: a place for a handle, a module, a string of the registered image.
            step(|| unsafe { api::cuModuleGetSurfRef(to, known.module, known.name) })?;
            // SAFETY: no pointers of the program.
            step(|| unsafe { api::cuSurfRefSetArray(ours, array, Flags(0)) })
        }))
    }
}
