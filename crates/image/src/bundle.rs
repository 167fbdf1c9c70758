//! clang's offload bundles, plain and compressed, and HIP's wrapper.
//!
//! Owns `__CLANG_OFFLOAD_BUNDLE__`, `CCOB` and `HIPF` headers; must not know
//! the images. Source: `llvm/lib/Object/OffloadBundle.cpp`,
//! `clang/lib/Driver/OffloadBundler.cpp`, LLVM 16 to 22.

use crate::bytes::Bytes;
use crate::codec::packed_size;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::packing::Codec;
use crate::work::Work;

/// First bytes of a plain bundle.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// First bytes of a compressed one.
pub const COMPRESSED_MAGIC: &[u8; 4] = b"CCOB";
/// Bytes of a bundle before its first entry.
const HEADER: u64 = 32;
/// The alignment of written images.
const PAGE: u64 = 4096;

/// An image of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`, `host-x86_64-…`.
    pub id: String,
    /// Offset from the bundle's start.
    pub start: u64,
    /// Its size; 0 for the host's place-holder.
    pub size: u64,
}

impl Entry {
    /// The offload kind: the text before the first `-` (`hip`, `hipv4`, `openmp`, `host`).
    pub fn producer(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }

    /// Triple and target id: `(amdgcn-amd-amdhsa, gfx90a:xnack+)`. A triple has three fields, or
    /// four of which the last may be empty (`…-amdhsa--gfx90a`); a fourth that is a target's name
    /// is taken as the target (LLVM before 21 wrote `openmp-nvptx64-nvidia-cuda-sm_80`).
    pub fn target(&self) -> (&str, &str) {
        let rest = self.id.split_once('-').map_or("", |(_, rest)| rest);
        let Some((third, _)) = rest.match_indices('-').nth(2) else { return (rest, "") };
        let (triple, tail) = (&rest[..third], &rest[third + 1..]);
        match tail.split_once('-') {
            Some(("", target)) => (triple, target),
            Some((environment, target)) => (&rest[..third + 1 + environment.len()], target),
            None => (triple, tail),
        }
    }
}

/// The table of a plain bundle at the start of `data`, which may be only the
/// bundle's first bytes; `base` is their offset in the outermost bytes.
pub fn entries(data: &[u8], base: u64, limits: &Limits) -> Result<Vec<Entry>> {
    entries_charged(data, base, limits, &mut Work::new(data.len(), limits))
}

/// As [`entries`], for one bundle among many: charges `work` the table's bytes.
pub fn entries_charged(
    data: &[u8],
    base: u64,
    limits: &Limits,
    work: &mut Work,
) -> Result<Vec<Entry>> {
    let bytes = Bytes::new(data, base, "offload bundle");
    if bytes.slice(0, 24)? != MAGIC {
        let found = bytes.u64(0)?;
        return Err(bytes.field(0, "magic", found, "__CLANG_OFFLOAD_BUNDLE__"));
    }
    let count = bytes.u64(24)?;
    if count > limits.max_items as u64 {
        let (at, limit) = (base + 24, limits.max_items as u64);
        let what = "offload bundle entries";
        return Err(Error::TooBig { what, at, found: count, limit, name: "max_items" });
    }
    let (mut at, mut out) = (HEADER, Vec::new());
    for _ in 0..count {
        let (start, size, length) = (bytes.u64(at)?, bytes.u64(at + 8)?, bytes.u64(at + 16)?);
        let id = bytes.slice(at + 24, length)?;
        work.look(length + 24, base.saturating_add(at))?;
        let id = String::from_utf8_lossy(id).into_owned();
        if start.checked_add(size).is_none() {
            return Err(bytes.field(at + 8, "size", size, "an image in memory"));
        }
        out.push(Entry { id, start, size });
        at += 24 + length;
    }
    Ok(out)
}

/// Bytes of a plain bundle: to the end of its last image or of its table.
pub fn total_size(entries: &[Entry]) -> u64 {
    let table: u64 = entries.iter().map(|entry| 24 + entry.id.len() as u64).sum();
    let images = entries.iter().map(|entry| entry.start.saturating_add(entry.size)).max();
    images.unwrap_or(0).max(HEADER + table)
}

/// A plain bundle of images with their ids ([`Entry::id`]), and first a place-holder for the host,
/// as HIP's runtime requires. Images begin on pages.
pub fn write(images: &[(String, &[u8])]) -> Vec<u8> {
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), &[][..]);
    let all: Vec<&(String, &[u8])> = std::iter::once(&host).chain(images).collect();
    let table: u64 = all.iter().map(|(id, _)| 24 + id.len() as u64).sum();
    let mut at = (HEADER + table).next_multiple_of(PAGE);
    let mut out = MAGIC.to_vec();
    out.extend((all.len() as u64).to_le_bytes());
    for (id, image) in &all {
        for n in [at, image.len() as u64, id.len() as u64] {
            out.extend(n.to_le_bytes());
        }
        out.extend(id.as_bytes());
        at += (image.len() as u64).next_multiple_of(PAGE);
    }
    for (_, image) in all {
        out.resize(out.len().next_multiple_of(PAGE as usize), 0);
        out.extend(*image);
    }
    out
}

/// A compressed bundle's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// 1, 2 or 3.
    pub version: u16,
    /// zlib (0) or zstd (1).
    pub codec: Codec,
    /// Bytes in all, header included. Version 1 does not state it: then the end of the packed
    /// stream decides.
    pub size: u64,
    /// Bytes of the plain bundle.
    pub unpacked: u64,
    /// Low 64 bits of the MD5 of the plain bundle.
    pub hash: u64,
    /// Where the packed bytes begin.
    pub start: u64,
}

/// Reads the compressed bundle at the start of `data`, at `base` of the
/// outermost bytes; what follows it is ignored.
pub fn compressed(data: &[u8], base: u64, limits: &Limits) -> Result<Compressed> {
    compressed_charged(data, base, limits, &mut Work::new(data.len(), limits))
}

/// As [`compressed`], for one bundle among many: charges `work` for finding the end of a stream
/// without a stated length.
pub fn compressed_charged(
    data: &[u8],
    base: u64,
    limits: &Limits,
    work: &mut Work,
) -> Result<Compressed> {
    let bytes = Bytes::new(data, base, "compressed bundle");
    if bytes.slice(0, 4)? != COMPRESSED_MAGIC {
        return Err(bytes.field(0, "magic", bytes.u32(0)?.into(), "CCOB"));
    }
    let (version, method) = (bytes.u16(4)?, bytes.u16(6)?);
    let codec = match method {
        0 => Codec::Zlib,
        1 => Codec::Zstd,
        other => return Err(bytes.field(6, "method", other.into(), "0 (zlib) or 1 (zstd)")),
    };
    let (size, unpacked, hash, start) = match version {
        1 => (None, bytes.u32(8)?.into(), bytes.u64(12)?, 20),
        2 => (Some(bytes.u32(8)?.into()), bytes.u32(12)?.into(), bytes.u64(16)?, 24),
        3 => (Some(bytes.u64(8)?), bytes.u64(16)?, bytes.u64(24)?, 32),
        other => return Err(bytes.field(4, "version", other.into(), "1, 2 or 3")),
    };
    let size = match size {
        Some(size) if size < start => {
            return Err(bytes.field(8, "size", size, format!("at least {start:#x}")));
        }
        Some(size) => size,
        None => {
            start
                + packed_size(
                    codec,
                    data.get(start as usize..).unwrap_or_default(),
                    base + start,
                    limits,
                    work,
                )?
        }
    };
    bytes.slice(0, size)?;
    Ok(Compressed { version, codec, size, unpacked, hash, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str) -> Entry {
        Entry { id: id.into(), start: 0, size: 0 }
    }

    #[test]
    fn targets_of_ids() {
        let cases = [
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "amdgcn-amd-amdhsa", "gfx90a:xnack+"),
            ("host-x86_64-unknown-linux-gnu-", "x86_64-unknown-linux-gnu", ""),
            ("openmp-nvptx64-nvidia-cuda-sm_80", "nvptx64-nvidia-cuda", "sm_80"),
            ("openmp-amdgcn-amd-amdhsa--gfx906", "amdgcn-amd-amdhsa", "gfx906"),
            ("host", "", ""),
        ];
        for (id, triple, target) in cases {
            assert_eq!(entry(id).target(), (triple, target), "{id}");
        }
    }

    #[test]
    fn versions_of_compressed_bundles() {
        let packed = crate::codec::pack(Codec::Zstd, &[7; 1000], 3).unwrap();
        let mut one = b"CCOB\x01\0\x01\0".to_vec();
        one.extend_from_slice(&1000u32.to_le_bytes());
        one.extend_from_slice(&42u64.to_le_bytes());
        one.extend_from_slice(&packed);
        let size = one.len() as u64;
        one.extend_from_slice(b"CCOB of the next one");
        let read = compressed(&one, 0, &Limits::DEFAULT).unwrap();
        assert_eq!((read.size, read.unpacked, read.hash, read.start), (size, 1000, 42, 20));

        let mut three = b"CCOB\x03\0\0\0".to_vec();
        for word in [40u64, 1000, 42] {
            three.extend_from_slice(&word.to_le_bytes());
        }
        three.extend_from_slice(&[0; 8]);
        let read = compressed(&three, 0, &Limits::DEFAULT).unwrap();
        assert_eq!((read.codec, read.size, read.start), (Codec::Zlib, 40, 32));
        assert!(compressed(&three[..39], 0, &Limits::DEFAULT).is_err());
        three[8] = 31;
        assert!(compressed(&three, 0, &Limits::DEFAULT).is_err());
        three[6] = 2;
        assert!(compressed(&three, 0, &Limits::DEFAULT).is_err());
    }

    #[test]
    fn tables_that_lie() {
        let table = |count: u64, entries: &[[u64; 2]]| {
            let mut out = MAGIC.to_vec();
            out.extend_from_slice(&count.to_le_bytes());
            for [start, size] in entries {
                for word in [*start, *size, 4] {
                    out.extend_from_slice(&word.to_le_bytes());
                }
                out.extend_from_slice(b"host");
            }
            out
        };
        let two = table(2, &[[0, 0], [64, 8]]);
        assert_eq!(entries(&two, 0, &Limits::DEFAULT).unwrap().len(), 2);
        let few = |max_items| Limits { max_items, ..Limits::DEFAULT };
        assert!(entries(&two, 0, &few(2)).is_ok());
        let error = entries(&two, 0, &few(1)).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_items", found: 2, .. }), "{error}");
        let error = entries(&table(1, &[[2, u64::MAX - 1]]), 0, &Limits::DEFAULT).unwrap_err();
        assert!(error.to_string().contains("an image in memory"), "{error}");
        assert!(entries(&table(1, &[[1, u64::MAX - 1]]), 0, &Limits::DEFAULT).is_ok());
    }

    #[test]
    fn what_is_written_is_read() {
        let (first, second) = ([7u8; 5000], [9u8; 3]);
        let ids = ["hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx1030"];
        let out = write(&[(ids[0].to_owned(), &first), (ids[1].to_owned(), &second)]);
        let found = entries(&out, 0, &Limits::DEFAULT).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].producer(), found[0].size), ("host", 0));
        for (entry, (id, image)) in found[1..].iter().zip([(ids[0], &first[..]), (ids[1], &second)])
        {
            assert_eq!((entry.id.as_str(), entry.start % PAGE), (id, 0));
            let start = entry.start as usize;
            assert_eq!(&out[start..start + entry.size as usize], image);
        }
        assert_eq!(found[2].target(), ("amdgcn-amd-amdhsa", "gfx1030"));
        assert_eq!(total_size(&found), out.len() as u64);
    }
}
