//! Host files: ELF executables, libraries and objects, and archives of them.
//!
//! Owns the names of the sections that carry device code. Parsing is the
//! `object` crate's.

use super::found::FoundWrapper;
use super::pointers::{Names, Pointers, WRAPPERS};
use super::walk::{Here, Said, Walker};
use crate::bundle;
use crate::error::Error;
use crate::wrapper::{SIZE, Wrapper};
use object::elf;
use object::endian::LittleEndian;
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use std::collections::HashSet;
use std::sync::Arc;

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// `sh_type` of LLVM's offloading section (llvm/BinaryFormat/ELF.h).
const SHT_LLVM_OFFLOADING: u32 = 0x6FFF_4C0B;
/// Sections of containers back to back.
const CONTAINERS: [&[u8]; 4] =
    [b".nv_fatbin", b"__nv_relfatbin", b".llvm.offloading", b".hip_fatbin"];
/// Prefix of the sections that clang-offload-bundler adds to an object.
const BUNDLED: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// Finds device code in the ELF file `data`, which begins at `start`.
pub(super) fn elf<'a>(walker: &mut Walker<'a, '_>, here: &Here<'a>, data: &[u8], start: u64) {
    if let Err(error) = sections(walker, here, data, start) {
        walker.problem(&here.trail, Error::object("ELF file", start, error));
    }
}

fn sections<'a>(
    walker: &mut Walker<'a, '_>,
    here: &Here<'a>,
    data: &[u8],
    start: u64,
) -> object::read::Result<()> {
    let header = Header::parse(data)?;
    let _ = header.endian()?;
    let sections = header.sections(LE, data)?;
    if sections.len() <= 1 {
        // Without a section table: the registered containers are still in a segment.
        for segment in header.program_headers(LE, data)? {
            if walker.work.is_over() {
                break;
            }
            if segment.p_type(LE) == elf::PT_LOAD
                && let Ok(bytes) = segment.data(LE, data)
            {
                walker.concatenated(here, bytes, start.saturating_add(segment.p_offset(LE)), false);
            }
        }
        return Ok(());
    }
    // Several headers may claim the same bytes.
    let mut seen = HashSet::new();
    let names = Names::of(header, &sections, data);
    let pointers = Pointers::of(header, &sections, &names, data, &mut walker.work);
    for section in sections.iter() {
        if walker.work.is_over() {
            break;
        }
        let name = names.of_section(section);
        let kind = section.sh_type(LE);
        let wrappers = WRAPPERS.contains(&name);
        let containers = CONTAINERS.contains(&name) || kind.0 == SHT_LLVM_OFFLOADING;
        let text = String::from_utf8_lossy(name);
        let bundled = text.strip_prefix(BUNDLED);
        if !(wrappers || containers || bundled.is_some())
            || kind == elf::SHT_NOBITS
            || !seen.insert(section.sh_offset(LE))
        {
            continue;
        }
        let mut here = here.clone();
        here.trail.section = Some(Arc::from(text.as_ref()));
        let offset = section.sh_offset(LE);
        let bytes = match section.data(LE, data) {
            Ok(bytes) => bytes,
            Err(_) => {
                let error = Error::Truncated {
                    what: "device-image section",
                    at: start.saturating_add(offset),
                    need: section.sh_size(LE),
                    have: (data.len() as u64).saturating_sub(offset),
                };
                walker.problem(&here.trail, error);
                // The existing part may still be readable.
                data.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default()
            }
        };
        if wrappers {
            self::wrappers(walker, &here, &pointers, section, bytes, start);
        } else if containers {
            walker.concatenated(&here, bytes, start.saturating_add(offset), true);
        } else if let Some(id) = bundled
            && bytes.len() > 1
        {
            // The host's section holds one byte.
            let entry = bundle::Entry { id: id.to_owned(), start: 0, size: bytes.len() as u64 };
            walker.image(&here, bytes, start.saturating_add(offset), Said::of(&entry));
        }
    }
    Ok(())
}

/// Reads the wrappers of a section and finds where they point.
fn wrappers<'a>(
    walker: &mut Walker<'a, '_>,
    here: &Here<'a>,
    pointers: &Pointers,
    section: &elf::SectionHeader64<LittleEndian>,
    bytes: &[u8],
    start: u64,
) {
    let offset = section.sh_offset(LE);
    if !walker.look(here, bytes, start.saturating_add(offset)) {
        return;
    }
    for (index, bytes) in bytes.chunks(SIZE).enumerate() {
        let at = offset.saturating_add((index * SIZE) as u64);
        match Wrapper::read(bytes, start.saturating_add(at)) {
            Ok(mut wrapper) => {
                let address = section.sh_addr(LE).wrapping_add((index * SIZE) as u64);
                let pointer = |slot: u64, stored| pointers.addend(slot).unwrap_or(stored);
                wrapper.data = pointer(address.wrapping_add(8), wrapper.data);
                wrapper.extra = pointer(address.wrapping_add(16), wrapper.extra);
                let target = pointers.file_offset(wrapper.data);
                let target = target.map(|target| start.saturating_add(target));
                let found = FoundWrapper {
                    trail: here.trail.clone(),
                    offset: start.saturating_add(at),
                    wrapper,
                    target,
                };
                if walker.out.wrappers.len() < walker.limits.max_items {
                    walker.out.wrappers.push(found);
                }
            }
            // Padding between units.
            Err(_) if bytes.iter().all(|&byte| byte == 0) => {}
            Err(error) => return walker.problem(&here.trail, error),
        }
    }
}

/// Finds device code in the members of the archive `data`.
pub(super) fn archive<'a>(walker: &mut Walker<'a, '_>, here: &Here<'a>, data: &[u8], start: u64) {
    let wrong = |error| Error::object("archive", start, error);
    let archive = match ArchiveFile::parse(data) {
        Ok(archive) => archive,
        Err(error) => return walker.problem(&here.trail, wrong(error)),
    };
    if archive.is_thin() {
        let error = Error::Field {
            what: "archive",
            field: "magic",
            at: start,
            found: u64::from_le_bytes(*b"!<thin>\n"),
            expected: "an archive that holds its members".into(),
        };
        return walker.problem(&here.trail, error);
    }
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => return walker.problem(&here.trail, wrong(error)),
        };
        let name = String::from_utf8_lossy(member.name());
        let (offset, _) = member.file_range();
        // Many members may share one long name.
        if !walker.look(here, member.name(), start.saturating_add(offset)) {
            return;
        }
        let mut inner = here.clone();
        inner.trail.member = Some(match &here.trail.member {
            Some(outer) => Arc::from(format!("{outer}({name})")),
            None => Arc::from(name.as_ref()),
        });
        let Some(inner) = walker.deeper(inner, start.saturating_add(offset)) else { return };
        match member.data(data) {
            Ok(bytes) if holds_something(bytes) => {
                walker.file(&inner, bytes, start.saturating_add(offset))
            }
            Ok(_) => {}
            Err(error) => walker.problem(&inner.trail, wrong(error)),
        }
    }
}

/// Members that are no objects (text, symbol tables) are no problem.
fn holds_something(bytes: &[u8]) -> bool {
    crate::sniff::sniff(bytes) != crate::sniff::Format::Unknown
}
