//! Which image of a registered container the driver gets.
//!
//! Owns the choice if NVIDIA's driver is below and all its devices are alike: cushim chooses by CUDA's rules
//! ([`cushim_vbase::code`]) and passes down one image. If devices differ, if units must be linked, or if cushim
//! cannot judge the contents (LTO-IR), the driver gets the container and chooses for each device. cushim's own driver
//! always gets the container. Must not know: when images are loaded.

use std::borrow::Cow;

use cushim_abi::types::*;

use crate::context;
use cushim_accel::ImageKind;
use cushim_vbase::api;
use cushim_vbase::backend::{self, Backend};
use cushim_vbase::code::{Source, Target, choose};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`, `_MINOR`.
const CAPABILITY: [i32; 2] = [75, 76];

/// The image for the devices of NVIDIA's driver; `None` where the container is passed on unchanged.
pub fn ours(wrapper: usize) -> Option<Vec<u8>> {
    if backend::chosen() != Some(Backend::Driver) {
        return None;
    }
    chosen(wrapper, &capabilities()?)
}

/// The image for devices of these capabilities, a text with its NUL.
fn chosen(wrapper: usize, devices: &[(u32, u32)]) -> Option<Vec<u8>> {
    let (first, rest) = devices.split_first()?;
    if rest.iter().any(|other| other != first) {
        return None;
    }
    // SAFETY: the program registered it, and has not unregistered it yet.
    let source = unsafe { Source::at(wrapper) }.ok()?;
    let mut found = choose(&source, &Target::nvidia(first.0, first.1)).ok()?;
    let image = found.parts.pop().filter(|_| found.parts.is_empty())?;
    let mut image = Cow::into_owned(image);
    if found.kind == ImageKind::Ptx {
        image.push(0);
    }
    Some(image)
}

/// The compute capability of every device.
fn capabilities() -> Option<Vec<(u32, u32)>> {
    let count = context::devices().ok()?;
    let of = |device, attribute| {
        let mut value = 0;
        // SAFETY: a place for an int.
        match unsafe { api::cuDeviceGetAttribute(Out(&raw mut value), attribute, Device(device)) } {
            0 => u32::try_from(value).ok(),
            _ => None,
        }
    };
    let [major, minor] = CAPABILITY;
    (0..count).map(|device| Some((of(device, major)?, of(device, minor)?))).collect()
}

#[cfg(test)]
mod tests {
    use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper};
    use cushim_image::Codec;
    use cushim_image::arch::{Arch, SmVariant};
    use cushim_image::fatbin::{Image, Kind, write};

    use super::*;

    fn address<T: ?Sized>(of: &T) -> usize {
        std::ptr::from_ref(of).cast::<u8>().expose_provenance()
    }

    #[test]
    fn devices_that_are_alike_get_one_image() {
        let text = ".version 7.0\n.target sm_80\n.address_size 64\n";
        let image = |kind, sm, data| Image {
            kind,
            arch: Arch::Sm(sm, SmVariant::Plain),
            version: (7, 0),
            codec: if kind == Kind::Ptx { Codec::Zstd } else { Codec::None },
            data,
        };
        let machine = [7_u8; 64];
        let images = [image(Kind::Cubin, 75, &machine), image(Kind::Ptx, 80, text.as_bytes())];
        let Ok(fatbin) = write(&images) else { unreachable!("a fat binary of two images") };
        let wrapper = FatBinaryWrapper {
            magic: FAT_BINARY_WRAPPER_MAGIC,
            version: 1,
            data: address(fatbin.as_slice()),
            filename_or_list: 0,
        };
        let at = address(&wrapper);
        assert_eq!(chosen(at, &[(7, 5)]).as_deref(), Some(&machine[..]));
        let with_nul = format!("{text}\0").into_bytes();
        assert_eq!(chosen(at, &[(9, 0), (9, 0)]), Some(with_nul));
        // Cases left to the driver: different devices, no suitable image, no device, no container.
        assert_eq!(chosen(at, &[(7, 5), (9, 0)]), None);
        assert_eq!(chosen(at, &[(7, 0)]), None);
        assert_eq!(chosen(at, &[]), None);
        assert_eq!(chosen(0, &[(9, 0)]), None);
    }
}
