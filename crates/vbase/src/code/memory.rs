//! Images in the program's memory, and their length by their own headers.
//!
//! Owns following pointers. Nothing is read beyond the length in an image's headers, and before memory is read whose
//! existence only a header claims, the kernel is asked whether it is mapped: a damaged image is an error and not a
//! fault. Must not know: what is inside, which device it is for.

use std::borrow::Cow;

use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper};
use cushim_image::{Extent, Limits};
use cushim_process::memory::is_mapped as mapped;

use super::error::Error;
use super::own::is_own;
use cushim_image::linked;

/// The most device links in a list of prelinked fat binaries, and the most bytes of a text.
const MOST: usize = 1 << 30;
/// The page size of x86-64.
const PAGE: usize = 4096;

/// An image, and those to link it with.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Its address in the program.
    pub address: usize,
    /// The container or image. PTX text without its NUL.
    pub whole: Cow<'a, [u8]>,
    /// The fat binaries that a device linker joined to `whole` (`nvcc -rdc=true`), in order: where
    /// no image in `whole` suits a device, their PTX is linked, as NVIDIA's driver does.
    pub linked: Vec<Cow<'a, [u8]>>,
}

impl Source<'static> {
    /// An image from a file's bytes.
    pub fn owned(bytes: Vec<u8>) -> Self {
        Source { address: 0, whole: Cow::Owned(bytes), linked: Vec::new() }
    }
}

impl<'a> Source<'a> {
    /// The image at `address`: `__fatBinC_Wrapper_t` of version 1 or 2, a fat binary, a cubin, a container of
    /// clang, or text that ends with NUL.
    ///
    /// # Safety
    /// `address` is null or that of an image in CUDA's sense that stays unchanged for `'a`.
    ///
    /// # Errors
    /// [`Error::Null`], [`Error::Unreadable`], [`Error::Unknown`], [`Error::Image`].
    pub unsafe fn at(address: usize) -> Result<Source<'a>, Error> {
        if address == 0 {
            return Err(Error::Null);
        }
        // SAFETY: as the caller says.
        let start = unsafe { bytes::<'a>(address, 4) }?;
        if start != FAT_BINARY_WRAPPER_MAGIC.to_le_bytes() {
            // SAFETY: as the caller says.
            let whole = Cow::Borrowed(unsafe { image(address) }?);
            return Ok(Source { address, whole, linked: Vec::new() });
        }
        // SAFETY: as the caller says; checked to be mapped.
        let wrapper = unsafe {
            bytes(address, size_of::<FatBinaryWrapper>())?;
            std::ptr::with_exposed_provenance::<FatBinaryWrapper>(address).read_unaligned()
        };
        if wrapper.data == 0 {
            return Err(Error::Null);
        }
        // SAFETY: a wrapper points to an image that stays as long.
        let whole = Cow::Borrowed(unsafe { image(wrapper.data) }?);
        let mut linked = Vec::new();
        if wrapper.version == 2 && wrapper.filename_or_list != 0 {
            // `__cudaPrelinkedFatbins` of crt/link.stub: pointers, the last one null.
            for at in (wrapper.filename_or_list..).step_by(size_of::<usize>()) {
                // SAFETY: the list's next entry: it has not ended yet.
                let place = unsafe { bytes(at, size_of::<usize>()) }?;
                let next = place.try_into().map_or(0, usize::from_ne_bytes);
                if next == 0 || linked.len() == MOST {
                    break;
                }
                // SAFETY: a list holds fat binaries.
                linked.push(Cow::Borrowed(unsafe { image(next) }?));
            }
        }
        Ok(Source { address: wrapper.data, whole, linked })
    }

    /// A copy that no longer needs the program's memory.
    pub fn into_owned(self) -> Source<'static> {
        let own = |bytes: Cow<'a, [u8]>| Cow::Owned(bytes.into_owned());
        Source {
            address: self.address,
            whole: own(self.whole),
            linked: self.linked.into_iter().map(own).collect(),
        }
    }
}

/// The image at `address`, with its claimed length.
unsafe fn image<'a>(address: usize) -> Result<&'a [u8], Error> {
    let limits = Limits::DEFAULT;
    // SAFETY: the caller's address is that of an image, which has at least four bytes.
    let first: [u8; 4] = unsafe { prefix(address) };
    // A prefix that every image of its kind has, enough to learn more.
    let mut known = match first {
        [0x50, 0xed, 0x55, 0xba] | [b'C', b'C', b'O', b'B'] | [0x10, 0xff, 0x10, 0xad] => 16,
        [b'_', b'_', b'C', b'L'] => 32,
        [0x7f, b'c', b'u', b'L'] => linked::HEADER,
        [0x7f, b'E', b'L', b'F'] => cushim_image::sniff::MIN_PREFIX,
        _ => {
            // SAFETY: any text.
            let text = unsafe { text(address) }?;
            let known =
                is_own(text) || matches!(cushim_image::extent(text, &limits), Ok(Extent::Text));
            return match known {
                true => Ok(text),
                false => Err(Error::Unknown { at: address, found: first }),
            };
        }
    };
    loop {
        // SAFETY: an image of this kind has at least `known` bytes; `bytes` checks whether they are
        // mapped.
        let start = unsafe { bytes(address, known) }?;
        if start.starts_with(&linked::MAGIC) {
            let length = linked::length(start).ok_or(Error::Link)?;
            // SAFETY: the image's own header says its length; `bytes` looks whether that is mapped.
            return unsafe { bytes(address, length) };
        }
        match cushim_image::extent(start, &limits)? {
            Extent::Exact(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                // SAFETY: the image's own header says its length; `bytes` looks whether that is mapped.
                return unsafe { bytes(address, length) };
            }
            // It grows each time, and is bounded by the limits.
            Extent::Need(more) => known = usize::try_from(more).unwrap_or(usize::MAX),
            Extent::Text => return Err(Error::Unknown { at: address, found: first }),
        }
    }
}

/// The first four bytes, fewer where a text is shorter.
unsafe fn prefix(address: usize) -> [u8; 4] {
    let mut first = [0; 4];
    for (n, to) in first.iter_mut().enumerate() {
        if !mapped(address + n, 1) {
            break;
        }
        // SAFETY: mapped.
        *to = unsafe { std::ptr::with_exposed_provenance::<u8>(address + n).read() };
        if *to == 0 {
            break;
        }
    }
    first
}

/// `length` bytes, if there is memory.
unsafe fn bytes<'a>(address: usize, length: usize) -> Result<&'a [u8], Error> {
    if !mapped(address, length) {
        return Err(Error::Unreadable { at: address, need: length as u64 });
    }
    // SAFETY: mapped, and unchanged by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) })
}

/// Text up to its NUL.
unsafe fn text<'a>(address: usize) -> Result<&'a [u8], Error> {
    let mut length = 0;
    while length < MOST {
        let at = address + length;
        let step = PAGE - at % PAGE;
        // SAFETY: the caller's; a page is mapped or not.
        let page = unsafe { bytes::<'a>(at, step) }?;
        if let Some(end) = page.iter().position(|byte| *byte == 0) {
            // SAFETY: every page of it was mapped.
            return unsafe { bytes(address, length + end) };
        }
        length += step;
    }
    Err(Error::Unreadable { at: address, need: MOST as u64 })
}
