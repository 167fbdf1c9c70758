//! LLVM's OffloadBinary, versions 1 to 3.
//!
//! Owns header, entries, string maps, and writing version 2; must not know the
//! images. Source: `llvm/include/llvm/Object/OffloadBinary.h` and
//! `llvm/lib/Object/OffloadBinary.cpp` of LLVM 19 to 22.

use crate::bytes::{Bytes, align_up};
use crate::codec::ZSTD_MAGIC;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::packing::Codec;
use crate::work::Work;

/// First bytes of every version.
pub const MAGIC: [u8; 4] = [0x10, 0xFF, 0x10, 0xAD];
/// Bytes of one entry.
const ENTRY: u64 = 40;
/// Alignment of a binary among others.
pub const ALIGN: u64 = 8;

/// LLVM's image kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// 0: not given.
    None,
    /// 1: an object or executable of the target.
    Object,
    /// 2: LLVM bitcode.
    Bitcode,
    /// 3: a cubin.
    Cubin,
    /// 4: an NVIDIA fat binary.
    Fatbinary,
    /// 5: PTX.
    Ptx,
    /// 6: SPIR-V.
    SpirV,
    /// Any other, by number.
    Other(u16),
}

impl ImageKind {
    fn from_raw(raw: u16) -> Self {
        match raw {
            0 => Self::None,
            1 => Self::Object,
            2 => Self::Bitcode,
            3 => Self::Cubin,
            4 => Self::Fatbinary,
            5 => Self::Ptx,
            6 => Self::SpirV,
            other => Self::Other(other),
        }
    }

    fn raw(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Object => 1,
            Self::Bitcode => 2,
            Self::Cubin => 3,
            Self::Fatbinary => 4,
            Self::Ptx => 5,
            Self::SpirV => 6,
            Self::Other(raw) => raw,
        }
    }
}

/// Name of an offload producer (bit set by number): OpenMP, CUDA, HIP, SYCL.
pub fn producer_name(raw: u16) -> String {
    match raw {
        0 => "none".into(),
        1 => "openmp".into(),
        2 => "cuda".into(),
        4 => "hip".into(),
        8 => "sycl".into(),
        other => format!("{other:#x}"),
    }
}

/// A binary, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct OffloadBinary<'a> {
    bytes: Bytes<'a>,
    /// 1, 2 or 3.
    pub version: u32,
    /// Bytes in all, by the header.
    pub size: u64,
    entries: u64,
    count: u64,
    inflated: u64,
}

/// An image of a binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its stated kind.
    pub kind: ImageKind,
    /// The producer: see [`producer_name`].
    pub producer: u16,
    /// Bit 0: metadata only, no image.
    pub flags: u32,
    /// `triple`, `arch` and others, in file order.
    pub strings: Vec<(&'a str, &'a str)>,
    /// Offset of the image in the binary.
    pub start: u64,
    /// Its size.
    pub image_size: u64,
}

impl Entry<'_> {
    /// Value of the string `key`.
    pub fn string(&self, key: &str) -> Option<&str> {
        self.strings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

impl<'a> OffloadBinary<'a> {
    /// Reads the binary at the start of `data`, at `base` of the outermost
    /// bytes; what follows it is ignored.
    pub fn read(data: &'a [u8], base: u64) -> Result<Self> {
        let bytes = Bytes::new(data, base, "OffloadBinary header");
        if bytes.slice(0, 4)? != MAGIC {
            return Err(bytes.field(0, "magic", bytes.u32(0)?.into(), "0xad10ff10"));
        }
        let version = bytes.u32(4)?;
        let header = match version {
            1 | 2 => 32,
            3 => 40,
            other => return Err(bytes.field(4, "version", other.into(), "1, 2 or 3")),
        };
        let size = bytes.u64(8)?;
        if size < header {
            return Err(bytes.field(8, "size", size, format!("at least {header:#x}")));
        }
        let bytes = bytes.part(0, size, "OffloadBinary")?;
        let entries = bytes.u64(16)?;
        if entries < header {
            let expected = format!("at least the header's {header:#x}");
            return Err(bytes.field(16, "entries offset", entries, expected));
        }
        let (count, inflated) = match version {
            1 => match bytes.u64(24)? {
                size if size < ENTRY => {
                    return Err(bytes.field(24, "entry size", size, "at least 0x28"));
                }
                _ => (1, 0),
            },
            2 => (bytes.u64(24)?, 0),
            _ => (bytes.u64(24)?, bytes.u64(32)?),
        };
        Ok(Self { bytes, version, size, entries, count, inflated })
    }

    /// Bytes from this binary to the next one in a section.
    pub fn step(&self) -> u64 {
        align_up(self.size, ALIGN)
    }

    /// For a compressed binary (version 3): the codec, where the packed bytes
    /// lie in it, and how many bytes they unpack to. The restored binary is
    /// [`Self::restored_header`] followed by those.
    pub fn compressed(&self) -> Result<Option<(Codec, std::ops::Range<u64>, u64)>> {
        if self.inflated == 0 {
            return Ok(None);
        }
        let packed = self.bytes.slice(self.entries, self.size.saturating_sub(self.entries))?;
        let codec = if packed.starts_with(&ZSTD_MAGIC) { Codec::Zstd } else { Codec::Zlib };
        let size = self.inflated.checked_sub(self.entries).ok_or_else(|| {
            let expected = format!("at least the entries offset {:#x}", self.entries);
            self.bytes.field(32, "inflated size", self.inflated, expected)
        })?;
        Ok(Some((codec, self.entries..self.size, size)))
    }

    /// The bytes before the unpacked ones in the restored binary (for an uncompressed one, before
    /// its entries).
    pub fn restored_header(&self) -> Result<Vec<u8>> {
        let mut header = self.bytes.slice(0, self.entries)?.to_vec();
        // `read` checked that the entries lie behind the header.
        if self.inflated != 0 {
            for (at, word) in [(8, self.inflated), (32, 0)] {
                if let Some(field) = header.get_mut(at..at + 8) {
                    field.copy_from_slice(&word.to_le_bytes());
                }
            }
        }
        Ok(header)
    }

    /// The images of an uncompressed binary.
    pub fn entries(&self, limits: &Limits) -> Result<Vec<Entry<'a>>> {
        if self.count > limits.max_items as u64 {
            return Err(Error::TooBig {
                what: "OffloadBinary entries",
                at: self.bytes.base() + 24,
                found: self.count,
                limit: limits.max_items as u64,
                name: "max_items",
            });
        }
        let mut left = limits.max_items as u64;
        let mut work = Work::new(self.bytes.len(), limits);
        (0..self.count)
            .map(|index| {
                self.entry(self.entries.saturating_add(index * ENTRY), &mut left, &mut work)
            })
            .collect()
    }

    /// Reads one entry; `left` bounds the strings of all entries together,
    /// which may share one string map, and `work` their bytes.
    fn entry(&self, at: u64, left: &mut u64, work: &mut Work) -> Result<Entry<'a>> {
        let entry = self.bytes.part(at, ENTRY, "OffloadBinary entry")?;
        let (strings, count) = (entry.u64(8)?, entry.u64(16)?);
        let (start, image_size) = (entry.u64(24)?, entry.u64(32)?);
        if start.checked_add(image_size).is_none_or(|end| end > self.size) {
            let expected = format!("an image within the binary's {:#x} bytes", self.size);
            return Err(entry.field(32, "image size", image_size, expected));
        }
        let width = if self.version == 1 { 16 } else { 24 };
        let there = self.size.saturating_sub(strings) / width;
        if count > there.min(*left) {
            let expected = format!("at most {}", there.min(*left));
            return Err(entry.field(16, "string count", count, expected));
        }
        *left -= count;
        let mut string = |index| {
            let at = strings + index * width;
            let (key, value) = self.string_pair(at, width)?;
            work.look((key.len() + value.len()) as u64 + width, self.bytes.base() + at)?;
            Ok((key, value))
        };
        Ok(Entry {
            kind: ImageKind::from_raw(entry.u16(0)?),
            producer: entry.u16(2)?,
            flags: entry.u32(4)?,
            strings: (0..count).map(&mut string).collect::<Result<_>>()?,
            start,
            image_size,
        })
    }

    fn string_pair(&self, at: u64, width: u64) -> Result<(&'a str, &'a str)> {
        let key = self.c_string(at)?;
        if width == 16 {
            return Ok((key, self.c_string(at + 8)?));
        }
        let (start, size) = (self.bytes.u64(at + 8)?, self.bytes.u64(at + 16)?);
        let value = self.bytes.slice(start, size)?;
        let value = value.strip_suffix(b"\0").unwrap_or(value);
        Ok((key, self.text(value, start)?))
    }

    /// The C string whose offset is at `at`.
    fn c_string(&self, at: u64) -> Result<&'a str> {
        let start = self.bytes.u64(at)?;
        let rest = self.bytes.slice(start, self.size.saturating_sub(start))?;
        match memchr::memchr(0, rest) {
            Some(end) => self.text(rest.get(..end).unwrap_or_default(), start),
            None => Err(self.bytes.field(at, "string offset", start, "a NUL-terminated string")),
        }
    }

    fn text(&self, bytes: &'a [u8], at: u64) -> Result<&'a str> {
        std::str::from_utf8(bytes).map_err(|_| {
            self.bytes.field(at, "string", bytes.first().copied().map_or(0, u64::from), "UTF-8")
        })
    }
}

/// An image to be written.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// Its kind.
    pub kind: ImageKind,
    /// The producer: 1 OpenMP, 2 CUDA, 4 HIP, 8 SYCL.
    pub producer: u16,
    /// Usually `triple` and `arch`.
    pub strings: Vec<(&'a str, &'a str)>,
    /// The bytes.
    pub data: &'a [u8],
}

/// One OffloadBinary, version 2 (LLVM 22), of `images`.
pub fn write(images: &[Image<'_>]) -> Vec<u8> {
    layout(images, 2)
}

/// One OffloadBinary, version 1, of one image: the form that LLVM before 22 reads. Several such may
/// follow each other.
pub fn write_single(image: &Image<'_>) -> Vec<u8> {
    layout(std::slice::from_ref(image), 1)
}

fn layout(images: &[Image<'_>], version: u32) -> Vec<u8> {
    const HEADER: u64 = 32;
    let width = if version == 1 { 16 } else { 24 };
    let pairs = || images.iter().flat_map(|image| &image.strings);
    let map_start = HEADER + ENTRY * images.len() as u64;
    let text_start = map_start + width * pairs().count() as u64;
    let text_size: u64 = pairs().map(|(key, value)| (key.len() + value.len() + 2) as u64).sum();
    let body_start = align_up(text_start + text_size, ALIGN);
    let (mut entries, mut map) = (Vec::new(), Vec::new());
    let (mut text, mut bodies) = (Vec::new(), Vec::new());
    for image in images {
        entries.extend_from_slice(&image.kind.raw().to_le_bytes());
        entries.extend_from_slice(&image.producer.to_le_bytes());
        entries.extend_from_slice(&0u32.to_le_bytes());
        let (strings, at) = (map_start + map.len() as u64, body_start + bodies.len() as u64);
        for word in [strings, image.strings.len() as u64, at, image.data.len() as u64] {
            entries.extend_from_slice(&word.to_le_bytes());
        }
        for (key, value) in &image.strings {
            let start = text_start + text.len() as u64;
            // The size in version 2 includes the NUL, as in LLVM's writer.
            let words = [start, start + key.len() as u64 + 1, value.len() as u64 + 1];
            for word in words.iter().take(width as usize / 8) {
                map.extend_from_slice(&word.to_le_bytes());
            }
            for part in [key.as_bytes(), b"\0", value.as_bytes(), b"\0"] {
                text.extend_from_slice(part);
            }
        }
        bodies.extend_from_slice(image.data);
        bodies.resize(bodies.len().next_multiple_of(ALIGN as usize), 0);
    }
    text.resize((body_start - text_start) as usize, 0);
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&version.to_le_bytes());
    let size = body_start + bodies.len() as u64;
    let last = if version == 1 { ENTRY } else { images.len() as u64 };
    for word in [size, HEADER, last] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for part in [entries, map, text, bodies] {
        out.extend_from_slice(&part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let image = |data| Image {
            kind: ImageKind::Ptx,
            producer: 1,
            strings: vec![("triple", "nvptx64-nvidia-cuda"), ("arch", "sm_80")],
            data,
        };
        write(&[image(b"one"), image(b"two")])
    }

    #[test]
    fn tables_have_limits() {
        let bytes = sample();
        let binary = OffloadBinary::read(&bytes, 0).unwrap();
        let entries = |max_items| binary.entries(&Limits { max_items, ..Limits::DEFAULT });
        let error = entries(1).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_items", found: 2, .. }), "{error}");
        // Two entries, and two strings of each: all strings count together.
        assert!(entries(3).unwrap_err().to_string().contains("string count is 0x2"));
        assert_eq!(entries(4).unwrap().len(), 2);
    }

    #[test]
    fn headers_that_lie() {
        let sound = sample();
        let size = sound.len() as u64;
        for (at, wrong) in [(8, 31), (8, size + 1), (16, 31), (4, 4), (0, 0)] {
            let mut bytes = sound.clone();
            let width = if at < 8 { 4 } else { 8 };
            bytes[at..at + width].copy_from_slice(&u64::to_le_bytes(wrong)[..width]);
            assert!(OffloadBinary::read(&bytes, 0).is_err(), "{at}: {wrong}");
        }
        // A header's length is enough where there is no entry.
        let mut bytes = sound.clone();
        bytes[8..16].copy_from_slice(&32u64.to_le_bytes());
        assert!(OffloadBinary::read(&bytes, 0).is_ok());
        // An image that ends a byte behind the binary.
        let mut bytes = sound;
        let start = u64::from_le_bytes(bytes[56..64].try_into().unwrap());
        bytes[64..72].copy_from_slice(&(size - start + 1).to_le_bytes());
        assert!(OffloadBinary::read(&bytes, 0).unwrap().entries(&Limits::DEFAULT).is_err());
    }

    /// Packed data are restored exactly, sizes included.
    #[test]
    fn restored_headers() {
        for (codec, packed) in [
            (Codec::Zstd, crate::codec::pack(Codec::Zstd, &[7; 100], 3).unwrap()),
            (Codec::Zlib, crate::codec::pack(Codec::Zlib, &[7; 100], 3).unwrap()),
        ] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&3u32.to_le_bytes());
            for word in [40 + packed.len() as u64, 40, 1, 140] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
            bytes.extend_from_slice(&packed);
            let binary = OffloadBinary::read(&bytes, 0).unwrap();
            let range = 40..bytes.len() as u64;
            assert_eq!(binary.compressed(), Ok(Some((codec, range, 100))));
            let header = binary.restored_header().unwrap();
            assert_eq!((header.len(), &header[8..16]), (40, &140u64.to_le_bytes()[..]));
            assert_eq!(header[32..40], [0; 8], "it is no longer packed");
            bytes[32..40].copy_from_slice(&39u64.to_le_bytes());
            assert!(OffloadBinary::read(&bytes, 0).unwrap().compressed().is_err());
        }
    }
}
