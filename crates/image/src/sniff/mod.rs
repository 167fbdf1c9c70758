//! Recognises formats by their first bytes, and finds their length.
//!
//! Owns magic numbers and total lengths, for callers that have a pointer without a length. Must not know what the
//! formats mean.

use crate::bytes::{Bytes, align_up};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::{fatbin, linked, ptx};
use std::fmt;

/// A format recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// NVIDIA fat binary container (0xBA55ED50).
    Fatbin,
    /// Several images packed as one stream within a fat binary; has no magic
    /// number of its own.
    FatbinGroup,
    /// NVIDIA host-side wrapper (0x466243B1), which points to a container.
    FatbinWrapper,
    /// ELF with machine 190.
    Cubin,
    /// Text that begins with `.version`.
    Ptx,
    /// Several PTX texts, the output of cushim's own linker (7F "cuLink" 01).
    LinkedPtx,
    /// NVIDIA's link-time-optimisation code (7F 4E 43 ED).
    LtoIr,
    /// ELF with machine 224.
    AmdgpuElf,
    /// Any other ELF.
    Elf,
    /// LLVM's OffloadBinary (10 FF 10 AD).
    OffloadBinary,
    /// `__CLANG_OFFLOAD_BUNDLE__`.
    Bundle,
    /// Compressed bundle, `CCOB`.
    CompressedBundle,
    /// HIP host-side wrapper (`HIPF`), which points to a bundle.
    HipWrapper,
    /// `ar` archive.
    Archive,
    /// LLVM bitcode.
    Bitcode,
    /// SPIR-V.
    SpirV,
    /// None of these.
    Unknown,
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Fatbin => "fatbin",
            Self::FatbinGroup => "group",
            Self::FatbinWrapper => "fatbin-wrapper",
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LinkedPtx => "linked-ptx",
            Self::LtoIr => "lto-ir",
            Self::AmdgpuElf => "hsaco",
            Self::Elf => "elf",
            Self::OffloadBinary => "offload-binary",
            Self::Bundle => "bundle",
            Self::CompressedBundle => "compressed-bundle",
            Self::HipWrapper => "hip-wrapper",
            Self::Archive => "archive",
            Self::Bitcode => "bitcode",
            Self::SpirV => "spirv",
            Self::Unknown => "unknown",
        })
    }
}

/// The formats that four or more fixed bytes identify.
const MAGICS: [(&[u8], Format); 14] = [
    (&fatbin::MAGIC.to_le_bytes(), Format::Fatbin),
    (&0x4662_43B1u32.to_le_bytes(), Format::FatbinWrapper),
    (&[0xED, 0x43, 0x4E, 0x7F], Format::LtoIr),
    (&[0x7F, 0x4E, 0x43, 0xED], Format::LtoIr),
    (&[0x10, 0xFF, 0x10, 0xAD], Format::OffloadBinary),
    (b"__CLANG_OFFLOAD_BUNDLE__", Format::Bundle),
    (b"CCOB", Format::CompressedBundle),
    (&0x4849_5046u32.to_le_bytes(), Format::HipWrapper),
    (b"!<arch>\n", Format::Archive),
    (b"!<thin>\n", Format::Archive),
    (b"BC\xC0\xDE", Format::Bitcode),
    (&[0x03, 0x02, 0x23, 0x07], Format::SpirV),
    (&linked::MAGIC, Format::LinkedPtx),
    (b"\x7fELF", Format::Elf),
];

/// `e_machine` of an AMDGPU code object.
pub const EM_AMDGPU: u16 = 224;

/// The format of `data`. Reads 64 KiB at most (comments before PTX).
pub fn sniff(data: &[u8]) -> Format {
    match sniff_binary(data) {
        Format::Unknown if ptx::is_ptx(data) => Format::Ptx,
        format => format,
    }
}

/// As [`sniff`], but without text: reads only the first 24 bytes, so it can be called at every
/// place of a file.
pub fn sniff_binary(data: &[u8]) -> Format {
    let known = MAGICS.iter().find(|(magic, _)| data.starts_with(magic));
    match known {
        Some((_, Format::Elf)) => match data.get(18..).and_then(<[u8]>::first_chunk) {
            Some(machine) => match u16::from_le_bytes(*machine) {
                crate::cubin::EM_CUDA => Format::Cubin,
                EM_AMDGPU => Format::AmdgpuElf,
                _ => Format::Elf,
            },
            None => Format::Elf,
        },
        Some((_, format)) => *format,
        None => Format::Unknown,
    }
}

/// The length of the data that begin with a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many bytes in all.
    Exact(u64),
    /// The length can be told from a prefix of this many bytes, longer than the given one.
    Need(u64),
    /// A C string: to the first NUL byte.
    Text,
}

/// Bytes of prefix with which [`extent`] can start on any format.
pub const MIN_PREFIX: usize = 64;

/// Length of the fat binary, ELF, OffloadBinary, bundle or PTX that begins with `prefix`, without
/// touching a byte behind the prefix. Call it with [`MIN_PREFIX`] bytes, then with as many as it
/// needs; no result exceeds `limits.max_image`. Formats without a length are an error.
pub fn extent(prefix: &[u8], limits: &Limits) -> Result<Extent> {
    let bytes = Bytes::new(prefix, 0, "image prefix");
    let answer = match sniff(prefix) {
        Format::Fatbin => Extent::Exact(fatbin::total_size(prefix)?),
        Format::Cubin | Format::AmdgpuElf | Format::Elf => elf(&bytes)?,
        Format::OffloadBinary => Extent::Exact(bytes.u64(8)?),
        Format::CompressedBundle => match bytes.u16(4)? {
            2 => Extent::Exact(bytes.u32(8)?.into()),
            3 => Extent::Exact(bytes.u64(8)?),
            other => {
                return Err(bytes.field(
                    4,
                    "version",
                    other.into(),
                    "2 or 3, which state a length",
                ));
            }
        },
        Format::Bundle => bundle(&bytes)?,
        Format::LinkedPtx => Extent::Exact(bytes.u64(8)?),
        Format::Ptx => Extent::Text,
        // A longer prefix may show that it is PTX behind a comment.
        _ if prefix.starts_with(b"//") || prefix.starts_with(b"/*") => Extent::Text,
        _ => {
            let found = bytes.u32(0)?.into();
            return Err(bytes.field(0, "magic", found, "a format that states its length"));
        }
    };
    match answer {
        Extent::Exact(size) | Extent::Need(size) if size > limits.max_image => {
            let (what, limit) = ("image by its header", limits.max_image);
            Err(Error::TooBig { what, at: 0, found: size, limit, name: "max_image" })
        }
        Extent::Need(size) if size <= prefix.len() as u64 => {
            Err(bytes.field(0, "header", size, "a longer one"))
        }
        answer => Ok(answer),
    }
}

/// Saturating `count * size + at`: a wrong header then exceeds the limit.
fn table_end(at: u64, count: u64, size: u64) -> u64 {
    at.saturating_add(count.saturating_mul(size))
}

/// An ELF ends with its last section, segment or table.
fn elf(bytes: &Bytes<'_>) -> Result<Extent> {
    let class = bytes.u8(4)?;
    if class != 2 || bytes.u8(5)? != 1 {
        return Err(bytes.field(4, "class", class.into(), "a 64-bit little-endian ELF"));
    }
    let (segments, sections) = (bytes.u64(32)?, bytes.u64(40)?);
    let (segment_size, mut segment_count) = (bytes.u16(54)?, u64::from(bytes.u16(56)?));
    let (section_size, mut section_count) = (bytes.u16(58)?, u64::from(bytes.u16(60)?));
    if segments == 0 {
        segment_count = 0;
    }
    if sections == 0 {
        section_count = 0;
    } else if section_count == 0 {
        // For more than 65,279, the count is in the first section header.
        let first = table_end(sections, 1, 64);
        if first > bytes.len() as u64 {
            return Ok(Extent::Need(first));
        }
        section_count = bytes.u64(sections + 32)?;
    }
    for (at, field, count, size, least) in [
        (54, "e_phentsize", segment_count, segment_size, 56),
        (58, "e_shentsize", section_count, section_size, 64),
    ] {
        if count > 0 && size < least {
            return Err(bytes.field(at, field, size.into(), format!("at least {least}")));
        }
    }
    let tables = table_end(segments, segment_count, segment_size.into())
        .max(table_end(sections, section_count, section_size.into()))
        .max(64);
    if tables > bytes.len() as u64 {
        return Ok(Extent::Need(tables));
    }
    const NOBITS: u32 = 8;
    let mut end = tables;
    for index in 0..section_count {
        let at = table_end(sections, index, section_size.into());
        if !matches!(bytes.u32(at + 4)?, 0 | NOBITS) {
            end = end.max(bytes.u64(at + 24)?.saturating_add(bytes.u64(at + 32)?));
        }
    }
    for index in 0..segment_count {
        let at = table_end(segments, index, segment_size.into());
        end = end.max(bytes.u64(at + 8)?.saturating_add(bytes.u64(at + 32)?));
    }
    Ok(Extent::Exact(end))
}

/// A bundle ends with its last entry; the table's own length is not stated.
fn bundle(bytes: &Bytes<'_>) -> Result<Extent> {
    let count = bytes.u64(24)?;
    let (mut at, mut end) = (32u64, 32u64);
    for _ in 0..count {
        let fixed = at.saturating_add(24);
        if fixed > bytes.len() as u64 {
            return Ok(Extent::Need(fixed));
        }
        end = end.max(bytes.u64(at)?.saturating_add(bytes.u64(at + 8)?));
        at = fixed.saturating_add(bytes.u64(at + 16)?);
        end = end.max(at);
    }
    Ok(Extent::Exact(end))
}

/// `image` without the bytes that a container appended: an ELF's padding, PTX's NUL bytes. Other
/// formats, and images with a wrong length, stay unchanged.
pub fn trim(image: &[u8]) -> &[u8] {
    match sniff(image) {
        Format::Ptx => {
            let end = memchr::memchr(0, image).unwrap_or(image.len());
            image.get(..end).unwrap_or(image)
        }
        Format::Cubin | Format::AmdgpuElf | Format::Elf => {
            match extent(image, &Limits { max_image: u64::MAX, ..Limits::DEFAULT }) {
                Ok(Extent::Exact(end)) if align_up(end, 8) >= image.len() as u64 => {
                    image.get(..end as usize).unwrap_or(image)
                }
                _ => image,
            }
        }
        _ => image,
    }
}

#[cfg(test)]
mod tests;
