//! The memory of a texture or surface: arrays, linear memory, parts of them.
//!
//! Owns the conversion of `CUDA_RESOURCE_DESC` and `CUDA_RESOURCE_VIEW_DESC`. Must not know: how anything is sampled.

use crate::argument::Plain;
pub use cushim_abi::structs::{
    DriverResourceDesc as ResourceDesc, DriverResourceViewDesc as ViewDesc, ResourceViewDesc,
};
use cushim_abi::types::Ptr;

use crate::memory::array::{self, Array, flag};
use crate::memory::home::{Role, home};
use crate::memory::mipmap;
use crate::status;
use cushim_accel::Texture;

/// `CUresourcetype`.
pub const ARRAY: i32 = 0;
/// A mipmapped array.
pub const MIPMAPPED: i32 = 1;
/// A row of memory.
pub const LINEAR: i32 = 2;
/// Rows of memory.
pub const PITCHED: i32 = 3;

// SAFETY: numbers as C has them.
unsafe impl Plain for ResourceDesc {}

/// The alignment of a texture's memory (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`) and pitch
/// (`_TEXTURE_PITCH_ALIGNMENT`).
const ALIGNMENT: usize = 512;
const PITCH_ALIGNMENT: usize = 32;
/// The most elements of linear memory; the widest plane, its rows and pitch (`CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE…`).
const LONGEST: usize = 1 << 28;
const WIDEST: usize = 131_072;
const HIGHEST: usize = 65_000;
const PITCH: usize = 2_097_120;

/// A texture of arrays, the largest first.
fn of_arrays(levels: &[&Array]) -> Option<Texture> {
    let first = levels.first()?;
    let form = &first.form;
    Some(Texture {
        levels: levels.iter().map(|array| array.address).collect(),
        extent: form.extent,
        layered: form.flags & (flag::LAYERED | flag::CUBEMAP) != 0,
        cube: form.flags & flag::CUBEMAP != 0,
        linear: false,
        pitch: 0,
        format: form.format,
        channels: form.channels,
        sampler: None,
    })
}

/// The texture of a resource.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, and those of formats.
pub fn texture(of: &ResourceDesc) -> Result<Texture, i32> {
    let wrong = status::INVALID_VALUE;
    if of.flags != 0 {
        return Err(wrong);
    }
    // An invalid array is an invalid value here (measured).
    let value = |code| if code == status::INVALID_HANDLE { wrong } else { code };
    match of.kind {
        ARRAY => of_arrays(&[&*array::by_handle(Ptr(of.at)).map_err(value)?]).ok_or(wrong),
        MIPMAPPED => {
            let mipmap = mipmap::by_handle(Ptr(of.at)).map_err(value)?;
            let levels: Vec<&Array> = mipmap.levels.iter().map(|level| &**level).collect();
            of_arrays(&levels).ok_or(wrong)
        }
        LINEAR | PITCHED => of_memory(of),
        _ => Err(wrong),
    }
}

/// Linear and pitched memory. Its size is not checked before a kernel reads it (measured).
fn of_memory(of: &ResourceDesc) -> Result<Texture, i32> {
    let wrong = status::INVALID_VALUE;
    let plain = matches!(of.format, 0x01..=0x03 | 0x08..=0x0a | 0x10 | 0x20);
    let element = if plain { array::element(of.format, of.channels)? } else { return Err(wrong) };
    let linear = of.kind == LINEAR;
    let extent = if linear { [of.width / element, 0, 0] } else { [of.width, of.height, 0] };
    let fits = match linear {
        true => extent[0] <= LONGEST,
        false => {
            of.width <= WIDEST
                && of.height <= HIGHEST
                && of.pitch <= PITCH
                && of.pitch.is_multiple_of(PITCH_ALIGNMENT)
        }
    };
    if of.at == 0 || !of.at.is_multiple_of(ALIGNMENT) || !fits {
        return Err(wrong);
    }
    home(of.at as u64, 1, Role::Reached)?;
    Ok(Texture {
        levels: vec![of.at as u64],
        extent,
        layered: false,
        cube: false,
        linear,
        pitch: if linear { 0 } else { of.pitch },
        format: of.format,
        channels: of.channels,
        sampler: None,
    })
}

// SAFETY: numbers as C has them.
unsafe impl Plain for ViewDesc {}

/// `CUarray_format` of the plain formats of views, which have 1, 2 and 4 channels each (`CUresourceViewFormat` 1 to 24).
const VIEWS: [u32; 8] = [0x01, 0x08, 0x02, 0x09, 0x03, 0x0a, 0x10, 0x20];

/// Has a texture show this part of a resource. For linear memory a view is ignored; levels and
/// layers beyond the last are cut off (measured).
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for block-compressed formats.
pub fn apply(view: &ViewDesc, resource: &ResourceDesc, texture: &mut Texture) -> Result<(), i32> {
    let (view, wrong) = (&view.view, status::INVALID_VALUE);
    if !matches!(resource.kind, ARRAY | MIPMAPPED) {
        return Ok(());
    }
    let old = array::element(texture.format, texture.channels)?;
    let (format, channels) = match view.format {
        n @ 1..=24 => {
            let n = n as usize - 1;
            (VIEWS.get(n / 3).copied().ok_or(wrong)?, 1 << (n % 3))
        }
        25..=38 if old >= 8 => return Err(status::NOT_SUPPORTED),
        _ => return Err(wrong),
    };
    if array::element(format, channels)? != old
        || [view.extent.width, view.extent.height, view.extent.depth] != texture.extent
    {
        return Err(wrong);
    }
    (texture.format, texture.channels) = (format, channels);
    let [first, last] = view.levels.map(|n| n as usize);
    let single = resource.kind == ARRAY && (first, last) != (0, 0);
    if first > last || first >= texture.levels.len() || single {
        return Err(wrong);
    }
    let last = last.min(texture.levels.len() - 1);
    texture.levels = texture.levels.get(first..=last).ok_or(wrong)?.to_vec();
    let [width, height, depth] = texture.extent;
    let less = |n: usize| if n == 0 { 0 } else { (n >> first).max(1) };
    let deep = if texture.layered { depth } else { less(depth) };
    texture.extent = [less(width), less(height), deep];
    choose_layers(view, texture)
}

fn choose_layers(view: &ResourceViewDesc, texture: &mut Texture) -> Result<(), i32> {
    let [first, last] = view.layers.map(|n| n as usize);
    if !texture.layered {
        return if (first, last) == (0, 0) { Ok(()) } else { Err(status::INVALID_VALUE) };
    }
    let [width, height, depth] = texture.extent;
    if first > last || first >= depth {
        return Err(status::INVALID_VALUE);
    }
    let element = array::element(texture.format, texture.channels)?;
    for (level, address) in texture.levels.iter_mut().enumerate() {
        let texels = (height >> level).max(1) * (width >> level).max(1);
        *address += (first * texels * element) as u64;
    }
    texture.extent[2] = last.min(depth - 1) - first + 1;
    Ok(())
}
