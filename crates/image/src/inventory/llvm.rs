//! The walk through LLVM's containers: OffloadBinaries and bundles, plain and
//! compressed.

use super::place::{Blob, Place, Space};
use super::walk::{Here, Said, Walker};
use super::{Image, ImageKind};
use crate::arch::Arch;
use crate::bundle;
use crate::codec::unpack_prefix;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::offload::{self, OffloadBinary};
use crate::packing::Codec;
use crate::sniff::Format;
use crate::work::Work;

impl Said {
    /// The facts in a bundle's entry id.
    pub fn of(entry: &bundle::Entry) -> Self {
        let (triple, target) = entry.target();
        Self {
            arch: (!target.is_empty()).then(|| Arch::parse(target)),
            triple: Some(triple.to_owned()).filter(|triple| !triple.is_empty()),
            producer: Some(entry.producer().to_owned()),
            strings: Vec::new(),
        }
    }
}

impl<'a> Walker<'a, '_> {
    pub fn offload_binary(&mut self, here: &Here<'a>, data: &[u8], base: u64) -> Result<u64> {
        let binary = OffloadBinary::read(data, base)?;
        let step = binary.step();
        let Some(here) = self.enter(here, Format::OffloadBinary, base) else { return Ok(step) };
        let read = match binary.compressed() {
            Ok(None) => self.offload_entries(&here, &binary, data, base),
            Ok(Some(packed)) => self.compressed_offload(&here, &binary, packed, base),
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            self.problem(&here.trail, error);
        }
        Ok(step)
    }

    fn compressed_offload(
        &mut self,
        here: &Here<'a>,
        binary: &OffloadBinary<'_>,
        (codec, range, unpacked): (Codec, std::ops::Range<u64>, u64),
        base: u64,
    ) -> Result<()> {
        let place = Place {
            space: here.space.clone(),
            start: base + range.start,
            stored: range.end - range.start,
            codec,
            unpacked,
        };
        // Charged before memory is allocated, by the claimed size.
        self.work.unpack(unpacked, base, self.limits)?;
        let blob = Blob::new(binary.restored_header()?, place);
        let bytes = blob.bytes(self.limits)?;
        let here = Here { space: Space::Blob(blob), ..here.clone() };
        let inside = |error: Error| error.inside("unpacked OffloadBinary", base);
        let restored = OffloadBinary::read(&bytes, 0).map_err(inside)?;
        self.offload_entries(&here, &restored, &bytes, 0).map_err(inside)
    }

    fn offload_entries(
        &mut self,
        here: &Here<'a>,
        binary: &OffloadBinary<'_>,
        data: &[u8],
        base: u64,
    ) -> Result<()> {
        let mut here = here.clone();
        for (index, entry) in binary.entries(self.limits)?.into_iter().enumerate() {
            here.trail.entry = index as u32;
            if entry.image_size == 0 {
                continue;
            }
            let owned = |text: &str| text.to_owned();
            let rest = entry.strings.iter().filter(|(key, _)| !matches!(*key, "triple" | "arch"));
            let said = Said {
                arch: entry.string("arch").map(Arch::parse),
                triple: entry.string("triple").map(owned),
                producer: Some(offload::producer_name(entry.producer)),
                strings: rest.map(|(key, value)| (owned(key), owned(value))).collect(),
            };
            // `entries` checked that the image lies within the binary.
            let end = entry.start + entry.image_size;
            let image = data.get(entry.start as usize..end as usize).unwrap_or_default();
            self.image(&here, image, base + entry.start, said);
        }
        Ok(())
    }

    pub fn bundle(&mut self, here: &Here<'a>, data: &[u8], base: u64) -> Result<u64> {
        let entries = bundle::entries_charged(data, base, self.limits, &mut self.work)?;
        let size = bundle::total_size(&entries);
        if let Some(here) = self.enter(here, Format::Bundle, base) {
            self.bundle_entries(&here, &entries, base, data.len() as u64, Some(data));
        }
        Ok(size)
    }

    /// The images of a bundle that begins at `base` of `here.space`, with its bytes `data` where
    /// they are available.
    fn bundle_entries(
        &mut self,
        here: &Here<'a>,
        entries: &[bundle::Entry],
        base: u64,
        length: u64,
        data: Option<&[u8]>,
    ) {
        let mut here = here.clone();
        for (index, entry) in entries.iter().enumerate() {
            here.trail.entry = index as u32;
            // The host's place-holder.
            if entry.size == 0 {
                continue;
            }
            let end = entry.start.saturating_add(entry.size);
            if end > length {
                let error = Error::Truncated {
                    what: "offload bundle image",
                    at: base.saturating_add(entry.start),
                    need: entry.size,
                    have: length.saturating_sub(entry.start),
                };
                self.problem(&here.trail, error);
                continue;
            }
            let said = Said::of(entry);
            if let Some(data) = data {
                let image = data.get(entry.start as usize..end as usize).unwrap_or_default();
                self.image(&here, image, base + entry.start, said);
                continue;
            }
            // Not unpacked: only the table is known.
            let (triple, _) = entry.target();
            let kind = if triple.starts_with("amdgcn") {
                ImageKind::AmdgpuObject
            } else if triple.starts_with("nvptx") {
                ImageKind::Cubin
            } else if triple.starts_with("spirv") {
                ImageKind::SpirV
            } else {
                ImageKind::Object
            };
            self.push(Image {
                kind,
                arch: said.arch.unwrap_or(Arch::Unknown),
                place: Place {
                    space: here.space.clone(),
                    start: base + entry.start,
                    stored: entry.size,
                    codec: Codec::None,
                    unpacked: entry.size,
                },
                trail: here.trail.clone(),
                version: None,
                flags: 0,
                triple: said.triple,
                producer: said.producer,
                identifier: None,
                options: None,
                strings: Vec::new(),
            });
        }
    }

    pub fn compressed_bundle(&mut self, here: &Here<'a>, data: &[u8], base: u64) -> Result<u64> {
        let header = bundle::compressed_charged(data, base, self.limits, &mut self.work)?;
        let Some(here) = self.enter(here, Format::CompressedBundle, base) else {
            return Ok(header.size);
        };
        let place = Place {
            space: here.space.clone(),
            start: base + header.start,
            stored: header.size - header.start,
            codec: header.codec,
            unpacked: header.unpacked,
        };
        let packed = data.get(header.start as usize..header.size as usize).unwrap_or_default();
        let entries = bundle_table(packed, &header, place.start, self.limits, &mut self.work);
        match entries.map_err(|error| error.inside("compressed bundle", base)) {
            Ok(entries) => {
                let space = Space::Blob(Blob::new(Vec::new(), place));
                let here = Here { space, ..here };
                self.bundle_entries(&here, &entries, 0, header.unpacked, None);
            }
            Err(error) => self.problem(&here.trail, error),
        }
        Ok(header.size)
    }
}

/// The table of a compressed bundle, unpacking no more than it takes.
fn bundle_table(
    packed: &[u8],
    header: &bundle::Compressed,
    at: u64,
    limits: &Limits,
    work: &mut Work,
) -> Result<Vec<bundle::Entry>> {
    let whole = header.unpacked.min(limits.max_image) as usize;
    let mut want = whole.min(4096);
    loop {
        work.unpack(want as u64, at, limits)?;
        let prefix = unpack_prefix(header.codec, packed, want, at)?;
        match bundle::entries_charged(&prefix, 0, limits, work) {
            Err(Error::Truncated { .. }) if prefix.len() == want && want < whole => {
                want = want.saturating_mul(16).min(whole);
            }
            read => return read,
        }
    }
}
