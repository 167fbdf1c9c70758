//! One entry of a fat binary: its header, payload, and the images of a group.

use crate::arch::{Arch, SmVariant};
use crate::bytes::{Bytes, align_up};
use crate::codec::{ZSTD_MAGIC, unpack};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::packing::Codec;
use std::borrow::Cow;

/// Bits of an entry's flags word (measured, fatbinary 13.5, unless said).
pub mod flags {
    /// 64-bit device addresses.
    pub const ADDRESS_64: u64 = 0x1;
    /// Compiled with device debug information (`-G`).
    pub const DEBUG: u64 = 0x2;
    /// Made on Linux.
    pub const HOST_LINUX: u64 = 0x10;
    /// Made on macOS (not verified).
    pub const HOST_MAC: u64 = 0x20;
    /// Made on Windows (not verified).
    pub const HOST_WINDOWS: u64 = 0x40;
    /// The payload is one raw LZ4 block.
    pub const LZ4: u64 = 0x2000;
    /// The payload is a zstd frame.
    pub const ZSTD: u64 = 0x8000;
    /// Architecture-specific target (`sm_90a`).
    pub const SPECIFIC: u64 = 0x10_0000;
    /// Family-specific target (`sm_100f`).
    pub const FAMILY: u64 = 0x20_0000;
    /// On cubins for sm_100 and later, which carry capmerc sections.
    pub const MERCURY: u64 = 0x100_0000;

    /// Names of the bits set, in ascending order; unknown ones as numbers.
    pub fn names(flags: u64) -> Vec<String> {
        let known = [
            (ADDRESS_64, "64bit"),
            (DEBUG, "debug"),
            (HOST_LINUX, "linux"),
            (HOST_MAC, "mac"),
            (HOST_WINDOWS, "windows"),
            (LZ4, "lz4"),
            (ZSTD, "zstd"),
            (SPECIFIC, "specific"),
            (FAMILY, "family"),
            (MERCURY, "mercury"),
        ];
        let name = |bit: u64| match known.iter().find(|&&(known, _)| known == bit) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("{bit:#x}"),
        };
        (0..64).map(|shift| 1 << shift).filter(|bit| flags & bit != 0).map(name).collect()
    }
}

/// The kind of an entry's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PTX text (1).
    Ptx,
    /// A cubin (2).
    Cubin,
    /// The cubin format before CUDA 4 (4); listed, never opened.
    OldCubin,
    /// NVVM intermediate code for link-time optimisation (8).
    LtoIr,
    /// Several images packed as one stream (0x100).
    Group,
    /// Anything else, kept by number.
    Other(u16),
}

impl Kind {
    /// By number.
    pub fn from_raw(raw: u16) -> Self {
        match raw {
            1 => Self::Ptx,
            2 => Self::Cubin,
            4 => Self::OldCubin,
            8 => Self::LtoIr,
            0x100 => Self::Group,
            other => Self::Other(other),
        }
    }

    /// The number.
    pub fn raw(self) -> u16 {
        match self {
            Self::Ptx => 1,
            Self::Cubin => 2,
            Self::OldCubin => 4,
            Self::LtoIr => 8,
            Self::Group => 0x100,
            Self::Other(raw) => raw,
        }
    }
}

/// Bytes of the entry header that every entry has.
pub(super) const HEADER: u64 = 64;
/// Bytes of a group's directory before its first sub-header.
const DIRECTORY: u64 = 8;

/// An entry, borrowed. Fields as in the header unless said otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Offset of the header in the outermost bytes.
    pub offset: u64,
    /// Offset of the payload in the outermost bytes.
    pub payload_offset: u64,
    /// The payload's kind.
    pub kind: Kind,
    /// Second half of the first word: 0x0101 in all known files.
    pub version: u16,
    /// Format version of the payload: PTX ISA; for cubins 1, and the ELF ABI
    /// as `minor`.
    pub major: u16,
    /// See `major`.
    pub minor: u16,
    /// Decimal SM number.
    pub sm: u32,
    /// See [`flags`].
    pub flags: u64,
    /// Source file, recorded with `-lineinfo` and `-G`.
    pub identifier: Option<&'a [u8]>,
    /// Options record: ptxas or LTO command line, or `.nv.compat` bytes.
    pub options: Option<&'a [u8]>,
    /// Unpacked size by the header, 0 where not packed.
    unpacked: u64,
    compressed: u32,
    header: Bytes<'a>,
    payload: &'a [u8],
    directory: Option<u32>,
}

impl<'a> Entry<'a> {
    /// Reads the entry at `at` of a container's body.
    pub(super) fn read(body: &Bytes<'a>, at: u64) -> Result<Self> {
        let fixed = body.part(at, HEADER, "fatbin entry header")?;
        let size = u64::from(fixed.u32(4)?);
        if size < HEADER {
            return Err(fixed.field(4, "header size", size, "at least 0x40"));
        }
        let header = body.part(at, size, "fatbin entry header")?;
        let length = header.u64(8)?;
        let payload = body.part(at + size, length, "fatbin entry payload")?;
        let compressed = header.u32(0x10)?;
        if u64::from(compressed) > length {
            let expected = format!("at most the payload size {length:#x}");
            return Err(header.field(0x10, "compressed size", compressed.into(), expected));
        }
        let kind = Kind::from_raw(header.u16(0)?);
        let options = Some(header.u32(0x14)?).filter(|&at| at != 0);
        let identifier = Some(header.u32(0x20)?).filter(|&at| at != 0);
        let identifier_size = header.u32(0x24)?;
        Ok(Self {
            offset: fixed.base(),
            payload_offset: payload.base(),
            kind,
            version: header.u16(2)?,
            minor: header.u16(0x18)?,
            major: header.u16(0x1A)?,
            sm: header.u32(0x1C)?,
            flags: header.u64(0x28)?,
            // The records are optional: a bad one does not invalidate the image.
            identifier: identifier
                .and_then(|at| header.slice(at.into(), identifier_size.into()).ok()),
            options: options.filter(|_| kind != Kind::Group).and_then(|at| {
                let (start, length) =
                    (header.u32(at.into()).ok()?, header.u32(u64::from(at) + 4).ok()?);
                header.slice(start.into(), length.into()).ok()
            }),
            unpacked: header.u64(0x38)?,
            compressed,
            header,
            payload: payload.data(),
            directory: options.filter(|_| kind == Kind::Group),
        })
    }

    /// Bytes from this entry's header to the next one's.
    pub(super) fn extent(&self) -> u64 {
        self.header.len() as u64 + self.payload.len() as u64
    }

    /// The target. (A group's images have their own.)
    pub fn arch(&self) -> Arch {
        arch(self.sm, self.flags)
    }

    /// How the payload is packed: by the flag bits; for a packed payload with
    /// neither bit, by the frame's magic number.
    pub fn codec(&self) -> Codec {
        if self.compressed == 0 {
            Codec::None
        } else if self.flags & flags::ZSTD != 0 {
            Codec::Zstd
        } else if self.flags & flags::LZ4 != 0 || !self.payload.starts_with(&ZSTD_MAGIC) {
            Codec::Lz4
        } else {
            Codec::Zstd
        }
    }

    /// The bytes as stored: packed bytes without padding, or the whole payload
    /// (padded to 8 bytes).
    pub fn stored(&self) -> &'a [u8] {
        match self.compressed {
            0 => self.payload,
            // `read` checked that the compressed size is within the payload.
            size => self.payload.get(..size as usize).unwrap_or_default(),
        }
    }

    /// Bytes after unpacking, padding included where nothing is packed.
    pub fn unpacked_size(&self) -> u64 {
        if self.compressed == 0 { self.payload.len() as u64 } else { self.unpacked }
    }

    /// The payload, unpacked where it must be. Uncompressed payloads keep
    /// their padding: see [`crate::sniff::trim`].
    pub fn unpack(&self, limits: &Limits) -> Result<Cow<'a, [u8]>> {
        match self.codec() {
            Codec::None => Ok(Cow::Borrowed(self.payload)),
            codec => unpack(codec, self.stored(), self.unpacked, self.payload_offset, limits)
                .map(Cow::Owned),
        }
    }

    /// The images of a group, in order; none for other kinds.
    pub fn members(&self, limits: &Limits) -> Result<Vec<Member>> {
        let Some(at) = self.directory.map(u64::from) else { return Ok(Vec::new()) };
        let count = self.header.u32(at)?;
        let length = u64::from(self.header.u32(at + 4)?);
        if count as usize > limits.max_items {
            return Err(Error::TooBig {
                what: "fatbin group",
                at: self.offset + at,
                found: count.into(),
                limit: limits.max_items as u64,
                name: "max_items",
            });
        }
        let directory = self.header.part(at, length, "fatbin group directory")?;
        (0..u64::from(count)).map(|index| Member::read(&directory, index, self)).collect()
    }
}

fn arch(sm: u32, flag: u64) -> Arch {
    let variant = if flag & flags::SPECIFIC != 0 {
        SmVariant::Specific
    } else if flag & flags::FAMILY != 0 {
        SmVariant::Family
    } else {
        SmVariant::Plain
    };
    if sm == 0 { Arch::Unknown } else { Arch::Sm(sm, variant) }
}

/// An image of a group: where it lies in the group's unpacked bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Offset of the sub-header in the outermost bytes.
    pub offset: u64,
    /// What it is.
    pub kind: Kind,
    /// Format version of the image.
    pub major: u16,
    /// See `major`.
    pub minor: u16,
    /// Decimal SM number.
    pub sm: u32,
    /// See [`flags`].
    pub flags: u64,
    /// Offset of the image in the unpacked bytes.
    pub start: u64,
    /// Its size there.
    pub size: u64,
}

impl Member {
    fn read(directory: &Bytes<'_>, index: u64, group: &Entry<'_>) -> Result<Self> {
        let at = DIRECTORY + index * HEADER;
        let header = directory.part(at, HEADER, "fatbin group member")?;
        let (start, size) = (u64::from(header.u32(4)?), header.u64(8)?);
        let whole = group.unpacked_size();
        if start.checked_add(size).is_none_or(|end| align_up(end, 8) > align_up(whole, 8)) {
            let expected = format!("an image within the group's {whole:#x} bytes");
            return Err(header.field(8, "size", size, expected));
        }
        Ok(Self {
            offset: header.base(),
            kind: Kind::from_raw(header.u16(0)?),
            minor: header.u16(0x18)?,
            major: header.u16(0x1A)?,
            sm: header.u32(0x1C)?,
            flags: header.u64(0x28)?,
            start,
            size,
        })
    }

    /// The target.
    pub fn arch(&self) -> Arch {
        arch(self.sm, self.flags)
    }

    /// The image in the group's unpacked bytes; shorter where those are.
    pub fn slice<'a>(&self, group: &'a [u8]) -> &'a [u8] {
        let length = group.len() as u64;
        let (start, end) =
            (self.start.min(length), self.start.saturating_add(self.size).min(length));
        group.get(start as usize..end as usize).unwrap_or_default()
    }
}
