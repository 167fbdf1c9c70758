//! Texture and surface objects.
//!
//! Owns the objects: their descriptors, which the driver returns on request, and the accelerator's handle, which is
//! also the object's handle. Source: CUDA Driver API, "Texture Object Management"; the errors are those of an H200's
//! driver. Must not know: references ([`reference`]), how texels are sampled.

pub mod reference;
mod resource;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

pub use cushim_abi::structs::DriverTextureDesc as TextureDesc;
use cushim_abi::types::*;

use super::argument::{At, In, Place, Plain};
use super::context::{self, Context};
use super::entry::entry;
use super::state::{accelerator, check, give};
use super::status;
use super::stream::capture;
use cushim_accel::locks::lock;
use cushim_accel::{Failure, Sampler, Texture};

pub use resource::{ResourceDesc, ViewDesc};

// SAFETY: numbers as C has them.
unsafe impl Plain for TextureDesc {}

/// `CU_TRSF_*`.
pub mod flag {
    #![allow(missing_docs)]
    pub const READ_AS_INTEGER: u32 = 0x01;
    /// The flags accepted for every texture (including two unnamed bits), and for cubes (measured).
    pub const OF_ALL: u32 = 0x3f;
    pub const OF_CUBES: u32 = 0x7f;
}

/// An object: its resource, and for a texture its sampling and its view of the resource.
#[derive(Clone, Copy)]
struct Object {
    resource: ResourceDesc,
    texture: Option<(TextureDesc, Option<ViewDesc>)>,
    context: u64,
}

type Objects = Mutex<HashMap<u64, Object>>;

/// The objects by handle.
fn objects() -> &'static Objects {
    static OBJECTS: OnceLock<Objects> = OnceLock::new();
    OBJECTS.get_or_init(Mutex::default)
}

/// The program's error for a failure to make a texture.
fn refused(failure: &Failure) -> i32 {
    if let Failure::NotSupported(what) = failure {
        cushim_accel::say(&format!(
            "{what} are not supported by backend {}",
            cushim_vbase::backend::name()
        ));
    }
    status::of(failure)
}

/// Makes the accelerator's texture; its handle.
///
/// # Errors
/// CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY.
pub fn realize(texture: &Texture) -> Result<u64, i32> {
    accelerator().texture(texture).map_err(|failure| refused(&failure))
}

/// How it is sampled, for a texture of this many axes. What NVIDIA's driver ignores is not refused:
/// filters and flags that a format does not use, levels that do not exist.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn sampler(of: &TextureDesc, texture: &Texture) -> Result<Sampler, i32> {
    let mut address = of.address_mode;
    let [_, rows, planes] = texture.extent;
    for (mode, there) in address.iter_mut().zip([true, rows > 0, planes > 0 && !texture.layered]) {
        if !there && !(0..=3).contains(mode) {
            *mode = 1;
        }
    }
    let modes = address.iter().all(|mode| (0..=3).contains(mode));
    let filters = [of.filter_mode, of.mipmap_filter].iter().all(|mode| (0..=1).contains(mode));
    let known = if texture.cube { flag::OF_CUBES } else { flag::OF_ALL };
    let plain = of.reserved.iter().all(|word| *word == 0);
    if !modes || !filters || !plain || of.flags & !known != 0 {
        return Err(status::INVALID_VALUE);
    }
    // Elements of 32 bits are returned unchanged.
    let wide = matches!(texture.format, 0x03 | 0x0a);
    Ok(Sampler {
        address,
        filter: of.filter_mode,
        mipmap_filter: of.mipmap_filter,
        flags: of.flags | if wide { flag::READ_AS_INTEGER } else { 0 },
        anisotropy: of.max_anisotropy,
        bias: of.mipmap_bias,
        clamp: [of.mipmap_min, of.mipmap_max],
        border: of.border,
    })
}

/// Makes an object, and returns its handle.
fn keep(to: Place<u64>, context: &Context, texture: &Texture, object: Object) -> Result<(), i32> {
    let handle = realize(texture)?;
    lock(objects()).insert(handle, Object { context: context.id, ..object });
    give(to, handle)
}

/// The object of a handle.
fn found(handle: u64, surface: bool) -> Result<Object, i32> {
    check()?;
    let object = lock(objects()).get(&handle).copied();
    object.filter(|object| object.texture.is_none() == surface).ok_or(status::INVALID_VALUE)
}

/// Destroys an object; an unknown handle is no error (measured).
fn destroy(handle: u64, surface: bool) -> Result<(), i32> {
    context::current()?;
    if found(handle, surface).is_ok() && lock(objects()).remove(&handle).is_some() {
        super::memory::quiesce();
        accelerator().forget_texture(handle);
    }
    Ok(())
}

/// Frees the objects of a context that ends. Its work has ended.
pub fn forget_context(context: &Context) {
    let mut all = lock(objects());
    all.retain(|handle, object| {
        let stays = object.context != context.id;
        if !stays {
            accelerator().forget_texture(*handle);
        }
        stays
    });
}

entry! {
    fn cuTexObjectCreate (pTexObject: Out<u64>, pResDesc: In<ResourceDesc>, pTexDesc: In<TextureDesc>, pResViewDesc: In<ViewDesc>) {
        let context = context::current()?;
        capture::refuse_unsafe()?;
        if pTexObject.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let resource = pResDesc.read()?;
        let how = pTexDesc.read()?;
        let view = if pResViewDesc.is_null() { None } else { Some(pResViewDesc.read()?) };
        let mut texture = resource::texture(&resource)?;
        if let Some(view) = &view {
            resource::apply(view, &resource, &mut texture)?;
        }
        texture.sampler = Some(sampler(&how, &texture)?);
        let object = Object { resource, texture: Some((how, view)), context: 0 };
        keep(pTexObject, &context, &texture, object)
    }

    fn cuTexObjectDestroy (texObject: u64) {
        destroy(texObject, false)
    }

    fn cuTexObjectGetResourceDesc (pResDesc: At<ResourceDesc>, texObject: u64) {
        context::current()?;
        give(pResDesc, found(texObject, false)?.resource)
    }

    fn cuTexObjectGetTextureDesc (pTexDesc: At<TextureDesc>, texObject: u64) {
        context::current()?;
        let (how, _) = found(texObject, false)?.texture.ok_or(status::INVALID_VALUE)?;
        give(pTexDesc, how)
    }

    fn cuTexObjectGetResourceViewDesc (pResViewDesc: At<ViewDesc>, texObject: u64) {
        context::current()?;
        let (_, view) = found(texObject, false)?.texture.ok_or(status::INVALID_VALUE)?;
        // Without a view nothing is written, and the call succeeds (measured).
        view.map_or(Ok(()), |view| give(pResViewDesc, view))
    }

    fn cuSurfObjectCreate (pSurfObject: Out<u64>, pResDesc: In<ResourceDesc>) {
        let context = context::current()?;
        capture::refuse_unsafe()?;
        if pSurfObject.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let resource = pResDesc.read()?;
        if resource.kind != resource::ARRAY {
            return Err(status::INVALID_VALUE);
        }
        let texture = resource::texture(&resource)?;
        keep(pSurfObject, &context, &texture, Object { resource, texture: None, context: 0 })
    }

    fn cuSurfObjectDestroy (surfObject: u64) {
        destroy(surfObject, true)
    }

    fn cuSurfObjectGetResourceDesc (pResDesc: At<ResourceDesc>, surfObject: u64) {
        context::current()?;
        give(pResDesc, found(surfObject, true)?.resource)
    }
}
