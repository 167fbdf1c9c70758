//! Descriptors: the images of a program or library, and the address of each of its regions.
//!
//! A region's id is registered with its name, like the host stub of a CUDA kernel; all images of a descriptor belong
//! to one module, because each of them may contain each region.
//!
//! Must not know: how a launch is recorded.

use cushim_abi::offload::layout::{DESCRIPTOR, Descriptor, DeviceImage, entries};
use cushim_abi::types::*;
use cushim_image::Format;
use cushim_trace::meta::Image;

use super::place::text;
use crate::dump;
use crate::forward::recorded;
use crate::layouts::Code;
use crate::origin::Origin;
use crate::registry;
use crate::site::Site;

/// The largest table of entries or image that is read, bytes.
const MOST: u64 = 1 << 32;
/// The most images of one descriptor that are read.
const MOST_IMAGES: u32 = 4096;

/// `__tgt_register_lib`.
pub unsafe fn register_lib(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr),
    descriptor: Ptr,
) {
    if descriptor.0 != 0 {
        // SAFETY: errno is this thread's; what follows allocates, and may write files.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: the program's descriptor, which libomptarget is about to read.
        let _ = std::panic::catch_unwind(|| unsafe { add(site, descriptor.0) });
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = errno };
    }
    recorded!(site, [descriptor.0], real(descriptor));
}

/// `__tgt_unregister_lib`.
pub unsafe fn unregister_lib(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr),
    descriptor: Ptr,
) {
    let module = registry::module(descriptor.0);
    recorded!(site, [descriptor.0], real(descriptor));
    registry::remove_module(descriptor.0, module);
}

/// `size` bytes at `at`; none where the numbers are not plausible.
///
/// # Safety
/// `size` bytes are there.
unsafe fn bytes<'a>(at: u64, size: u64) -> &'a [u8] {
    if at == 0 || size == 0 || size > MOST {
        return &[];
    }
    // SAFETY: as the caller promises; a slice may have this size.
    unsafe { std::slice::from_raw_parts(at as *const u8, size as usize) }
}

/// # Safety
/// `at` is a `__tgt_bin_desc`.
unsafe fn add(site: &'static Site, at: usize) {
    // SAFETY: as the caller promises.
    let read = Descriptor::read(unsafe { &*(at as *const [u8; DESCRIPTOR]) });
    let Some(descriptor) = read else { return };
    let api = site.name.to_str().unwrap_or("");
    let mut images = Vec::new();
    let count = if descriptor.images_at == 0 { 0 } else { descriptor.images };
    for n in 0..count.min(MOST_IMAGES) {
        let at = descriptor.images_at as usize + n as usize * DESCRIPTOR;
        // SAFETY: the descriptor says that there are so many.
        let read = DeviceImage::read(unsafe { &*(at as *const [u8; DESCRIPTOR]) });
        // SAFETY: an image lies between its ends.
        let image =
            read.map_or(&[][..], |i| unsafe { bytes(i.start, i.end.saturating_sub(i.start)) });
        if !image.is_empty() {
            images.push(described(image, api));
        }
    }
    // SAFETY: the table lies between its ends.
    let table = unsafe { bytes(descriptor.entries, descriptor.entries_size()) };
    let regions: Vec<_> =
        entries(table).unwrap_or_default().into_iter().filter(|e| e.is_region()).collect();
    // rustc registers an empty descriptor around each call.
    if images.is_empty() && regions.is_empty() {
        return;
    }
    let code = Code::nothing().of_file(&Code::owner_of(descriptor.entries as usize));
    let module = registry::add_module_of(at, code, images, api, Origin::Other);
    for region in regions {
        // SAFETY: an entry's name is a C string.
        let name = unsafe { text(region.name) };
        registry::add_function(region.address as usize, name.to_bytes(), module);
    }
}

/// Writes the image if images are to be dumped; returns its record.
fn described(image: &[u8], api: &str) -> Image {
    let address = image.as_ptr().addr();
    let owner = Code::owner_of(address);
    dump::image(image, &owner, api);
    let kind = match cushim_image::sniff(image) {
        Format::Fatbin => "fatbin",
        Format::Cubin => "cubin",
        Format::Ptx => "ptx",
        Format::AmdgpuElf => "hsaco",
        Format::Elf => "object",
        Format::OffloadBinary => "offload-binary",
        _ if image.starts_with(b"BC\xc0\xde") => "bitcode",
        _ => "image",
    };
    Image {
        handle: address as u64,
        api: api.to_owned(),
        owner,
        kind: kind.to_owned(),
        size: image.len() as u64,
    }
}
