//! The walk through containers. Every function appends what it finds, and continues after what it cannot read.

use super::found::{Image, ImageKind, Inventory, Problem, Step, Trail};
use super::host;
use super::magics::Magics;
use super::place::{Blob, Place, Space};
use crate::arch::Arch;
use crate::bytes::zeros;
use crate::cubin::Cubin;
use crate::error::{Error, Result};
use crate::fatbin::{Entry, Fatbin, Kind};
use crate::limits::Limits;
use crate::packing::Codec;
use crate::sniff::{Extent, Format, extent, sniff, sniff_binary};
use crate::work::Work;
use crate::{amdgpu, linked, ptx};
use std::collections::HashMap;

/// The most problems listed for a file.
pub(super) const MAX_PROBLEMS: usize = 1000;

/// A slice of a space, and the path to it.
#[derive(Clone)]
pub(super) struct Here<'a> {
    pub space: Space<'a>,
    pub trail: Trail,
    pub depth: u32,
}

pub(super) struct Walker<'a, 'l> {
    pub limits: &'l Limits,
    pub out: Inventory<'a>,
    /// The remaining work for all tables of the file.
    pub work: Work,
    ordinals: HashMap<Format, u32>,
    /// Something was left out, and a problem says so.
    full: bool,
}

pub(super) fn walk<'a>(file: &'a [u8], limits: &Limits) -> Inventory<'a> {
    measured(file, limits).0
}

/// As [`walk`], with the work that it took.
pub(super) fn measured<'a>(file: &'a [u8], limits: &Limits) -> (Inventory<'a>, Work) {
    let mut walker = Walker {
        limits,
        out: Inventory::default(),
        work: Work::new(file.len(), limits),
        ordinals: HashMap::new(),
        full: false,
    };
    let here = Here { space: Space::File(file), trail: Trail::default(), depth: 0 };
    walker.file(&here, file, 0);
    (walker.out, walker.work)
}

/// What a container says about an image that was not read yet.
#[derive(Default, Clone)]
pub(super) struct Said {
    pub arch: Option<Arch>,
    pub triple: Option<String>,
    pub producer: Option<String>,
    pub strings: Vec<(String, String)>,
}

impl<'a> Walker<'a, '_> {
    pub fn problem(&mut self, trail: &Trail, error: Error) {
        let count = self.out.problems.len();
        if count < MAX_PROBLEMS {
            self.out.problems.push(Problem { trail: trail.clone(), error });
        } else if count == MAX_PROBLEMS {
            let limit = MAX_PROBLEMS as u64;
            let (what, found) = ("damaged parts of a file", limit + 1);
            let error =
                Error::TooBig { what, at: 0, found, limit, name: "no more of them are named" };
            self.out.problems.push(Problem { trail: Trail::default(), error });
        }
    }

    /// Charges a slice that is about to be read; false where the file's limit is reached, which is
    /// reported once.
    pub fn look(&mut self, here: &Here<'a>, data: &[u8], at: u64) -> bool {
        let before = self.work.is_over();
        let answer = self.work.look(data.len() as u64, at);
        self.goes_on(here, before, answer)
    }

    /// Whether `answer` lets the walk go on; reports the end unless the work was over `before`.
    fn goes_on(&mut self, here: &Here<'a>, before: bool, answer: Result<()>) -> bool {
        match answer {
            Ok(()) => true,
            Err(_) if before => false,
            Err(error) => {
                self.problem(&here.trail, error);
                false
            }
        }
    }

    pub fn push(&mut self, image: Image<'a>) {
        if self.out.images.len() < self.limits.max_items {
            return self.out.images.push(image);
        }
        let limit = self.limits.max_items as u64;
        if !std::mem::replace(&mut self.full, true) {
            let (what, at, found) = ("images of a file", image.place.start, limit + 1);
            let error = Error::TooBig { what, at, found, limit, name: "max_items" };
            self.problem(&image.trail, error);
        }
    }

    /// Enters the container at `offset`; `None` (and a problem) where it is
    /// nested too deeply.
    pub fn enter(&mut self, here: &Here<'a>, format: Format, offset: u64) -> Option<Here<'a>> {
        let ordinal = self.ordinals.entry(format).or_default();
        let step = Step { format, ordinal: *ordinal, offset };
        *ordinal += 1;
        let mut inner = here.clone();
        inner.trail.containers.push(step);
        self.deeper(inner, offset)
    }

    pub fn deeper(&mut self, mut here: Here<'a>, at: u64) -> Option<Here<'a>> {
        here.depth += 1;
        if here.depth <= self.limits.max_depth {
            return Some(here);
        }
        let (what, limit) = ("nested containers", self.limits.max_depth.into());
        let error = Error::TooBig { what, at, found: here.depth.into(), limit, name: "max_depth" };
        self.problem(&here.trail, error);
        None
    }

    /// A whole file or archive member: `data`, which begins at `start`.
    pub fn file(&mut self, here: &Here<'a>, data: &[u8], start: u64) {
        if !self.look(here, data, start) {
            return;
        }
        match sniff(data) {
            Format::Elf => host::elf(self, here, data, start),
            Format::Archive => host::archive(self, here, data, start),
            Format::Unknown | Format::FatbinWrapper | Format::HipWrapper => {
                let mut magic = [0; 8];
                magic.iter_mut().zip(data).for_each(|(to, byte)| *to = *byte);
                let error = Error::Field {
                    what: "file",
                    field: "magic",
                    at: start,
                    found: u64::from_le_bytes(magic),
                    expected: "a host file, a device-image container or a device image".into(),
                };
                self.problem(&here.trail, error);
            }
            _ => self.image(here, data, start, Said::default()),
        }
    }

    /// An image or a container that fills `data`.
    pub fn image(&mut self, here: &Here<'a>, data: &[u8], start: u64, said: Said) {
        if !self.look(here, data, start) {
            return;
        }
        let kind = match sniff(data) {
            Format::Fatbin | Format::OffloadBinary | Format::Bundle | Format::CompressedBundle => {
                return self.concatenated(here, data, start, true);
            }
            Format::LinkedPtx => return self.linked(here, data, start),
            Format::Cubin => ImageKind::Cubin,
            Format::Ptx => ImageKind::Ptx,
            Format::LtoIr => ImageKind::LtoIr,
            Format::AmdgpuElf => ImageKind::AmdgpuObject,
            Format::Elf => ImageKind::Object,
            Format::Bitcode => ImageKind::Bitcode,
            Format::SpirV => ImageKind::SpirV,
            // LLVM bundles archives of device objects.
            Format::Archive => {
                if let Some(here) = self.deeper(here.clone(), start) {
                    host::archive(self, &here, data, start);
                }
                return;
            }
            _ => ImageKind::Unknown(0),
        };
        let arch = match said.arch {
            Some(arch) => Ok(arch),
            None => native_arch(kind, data, self.limits),
        };
        let arch = arch.unwrap_or_else(|error| {
            self.problem(&here.trail, error.inside("image", start));
            Arch::Unknown
        });
        let size = data.len() as u64;
        self.push(Image {
            kind,
            arch,
            place: Place {
                space: here.space.clone(),
                start,
                stored: size,
                codec: Codec::None,
                unpacked: size,
            },
            trail: here.trail.clone(),
            version: None,
            flags: 0,
            triple: said.triple,
            producer: said.producer,
            identifier: None,
            options: None,
            strings: said.strings,
        });
    }

    /// The PTX texts of an image from cushim's own linker.
    fn linked(&mut self, here: &Here<'a>, data: &[u8], start: u64) {
        let Some(inner) = self.enter(here, Format::LinkedPtx, start) else { return };
        let Some(texts) = linked::read(data) else {
            let (what, expected) = ("linked PTX", "as many texts as its header says".into());
            let found = data.len() as u64;
            let error = Error::Field { what, field: "length", at: start, found, expected };
            return self.problem(&inner.trail, error);
        };
        for text in texts {
            let at = text.as_ptr().addr() - data.as_ptr().addr();
            self.image(&inner, text, start + at as u64, Said::default());
        }
    }

    /// Containers back to back with zero padding, as linkers leave them in a section. With
    /// `strict`, other bytes are a problem.
    pub fn concatenated(&mut self, here: &Here<'a>, data: &[u8], start: u64, strict: bool) {
        if !self.look(here, data, start) {
            return;
        }
        let mut magics = Magics::new(data);
        let mut at = 0;
        while !self.work.is_over() {
            at += zeros(data.get(at..).unwrap_or_default());
            let rest = data.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return;
            }
            let base = start + at as u64;
            let size = match sniff_binary(rest) {
                Format::Fatbin => self.fatbin(here, rest, base),
                Format::OffloadBinary => self.offload_binary(here, rest, base),
                Format::Bundle => self.bundle(here, rest, base),
                Format::CompressedBundle => self.compressed_bundle(here, rest, base),
                // clang puts bare cubins and code objects into some sections.
                Format::Cubin | Format::AmdgpuElf => self.bare_elf(here, rest, base),
                _ => {
                    let mut magic = [0; 4];
                    magic.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
                    Err(Error::Field {
                        what: "device-image section",
                        field: "magic",
                        at: base,
                        found: u32::from_le_bytes(magic).into(),
                        expected: "a device-image container".into(),
                    })
                }
            };
            let size = match size {
                Ok(size) => usize::try_from(size).unwrap_or(usize::MAX).max(1),
                Err(error) => {
                    // The end of the walk is always reported.
                    if strict || self.work.is_over() {
                        self.problem(&here.trail, error);
                    }
                    magics.behind(at) - at
                }
            };
            at = at.saturating_add(size).min(data.len());
        }
    }

    fn bare_elf(&mut self, here: &Here<'a>, data: &[u8], base: u64) -> Result<u64> {
        let limits = Limits { max_image: u64::MAX, ..*self.limits };
        let Extent::Exact(size) = extent(data, &limits)? else {
            let (what, have) = ("image", data.len() as u64);
            return Err(Error::Truncated { what, at: base, need: have + 1, have });
        };
        let end = size.min(data.len() as u64);
        self.image(here, data.get(..end as usize).unwrap_or_default(), base, Said::default());
        Ok(end)
    }

    fn fatbin(&mut self, here: &Here<'a>, data: &[u8], base: u64) -> Result<u64> {
        let container = Fatbin::read_truncated(data, base)?;
        let Some(mut here) = self.enter(here, Format::Fatbin, base) else {
            return Ok(container.size);
        };
        for (index, entry) in container.entries(self.limits).enumerate() {
            here.trail.entry = index as u32;
            match entry {
                Ok(entry) => self.fatbin_entry(&here, &entry),
                Err(error) => self.problem(&here.trail, error),
            }
        }
        Ok(container.size)
    }

    fn fatbin_entry(&mut self, here: &Here<'a>, entry: &Entry<'_>) {
        let place = Place {
            space: here.space.clone(),
            start: entry.payload_offset,
            stored: entry.stored().len() as u64,
            codec: entry.codec(),
            unpacked: entry.unpacked_size(),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        let image = |kind, arch, place, version, flags, trail| Image {
            kind,
            arch,
            place,
            trail,
            version: Some(version),
            flags,
            triple: None,
            producer: None,
            identifier: entry.identifier.map(text),
            options: entry.options.filter(|options| !options.is_empty()).map(<[u8]>::to_vec),
            strings: Vec::new(),
        };
        if entry.kind != Kind::Group {
            let version = (entry.major, entry.minor);
            let trail = here.trail.clone();
            return self.push(image(
                image_kind(entry.kind),
                entry.arch(),
                place,
                version,
                entry.flags,
                trail,
            ));
        }
        let members = match entry.members(self.limits) {
            Ok(members) => members,
            Err(error) => return self.problem(&here.trail, error),
        };
        // Each byte of the group belongs to one member; padding aside.
        let mut left = place.unpacked.saturating_add(8 * members.len() as u64);
        let blob = Blob::new(Vec::new(), place);
        for (index, member) in members.into_iter().enumerate() {
            let Some(rest) = left.checked_sub(member.size) else {
                let (what, found, limit) = ("images of a group together", member.size, left);
                let name = "what the group unpacks to";
                let error = Error::TooBig { what, at: member.offset, found, limit, name };
                return self.problem(&here.trail, error);
            };
            left = rest;
            let mut trail = here.trail.clone();
            trail.containers.push(Step {
                format: Format::FatbinGroup,
                ordinal: here.trail.entry,
                offset: entry.offset,
            });
            trail.entry = index as u32;
            let place = Place {
                space: Space::Blob(blob.clone()),
                start: member.start,
                stored: member.size,
                codec: Codec::None,
                unpacked: member.size,
            };
            let version = (member.major, member.minor);
            let kind = image_kind(member.kind);
            self.push(image(kind, member.arch(), place, version, member.flags, trail));
        }
    }
}

fn image_kind(kind: Kind) -> ImageKind {
    match kind {
        Kind::Ptx => ImageKind::Ptx,
        Kind::Cubin => ImageKind::Cubin,
        Kind::LtoIr => ImageKind::LtoIr,
        Kind::OldCubin => ImageKind::OldCubin,
        Kind::Group | Kind::Other(_) => ImageKind::Unknown(kind.raw()),
    }
}

/// The target by the image's own header.
fn native_arch(kind: ImageKind, data: &[u8], limits: &Limits) -> Result<Arch> {
    match kind {
        ImageKind::Cubin => Ok(Cubin::read(data, limits)?.arch()),
        ImageKind::Ptx => Ok(ptx::scan(data, limits)?.target),
        ImageKind::AmdgpuObject => amdgpu::arch(data),
        _ => Ok(Arch::Unknown),
    }
}
