//! A static runtime's archive (`libcudart_static.a`) as the symbols of a stripped program.
//!
//! Owns: reading an archive (ar(5)), and finding where a section of one of its objects was linked. The linker copies
//! a section as one piece and writes only where relocations say: what lies elsewhere must be equal, byte by byte, at exactly
//! one place. Must not know: what a runtime consists of.

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use crate::file::{File, LE};

/// How an archive begins.
pub const MAGIC: &[u8; 8] = b"!<arch>\n";
/// Bytes of a member's header; its size stands in decimal digits from the 49th on.
const HEADER: usize = 60;
/// What must be equal for a place to be no accident.
const LEAST: usize = 1024;

/// The ELF files in an archive; a broken one ends where it is broken.
pub fn members(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data.strip_prefix(MAGIC).unwrap_or_default();
    std::iter::from_fn(move || {
        let (header, after) = rest.split_at_checked(HEADER)?;
        let size = std::str::from_utf8(header.get(48..58)?).ok()?.trim_end().parse().ok()?;
        let body = after.get(..size)?;
        // Members begin at even places.
        rest = after.get(size + size % 2..).unwrap_or_default();
        Some(body)
    })
    .filter(|body| body.starts_with(&elf::ELFMAG))
}

/// A section of an object file that was found in a program.
pub struct Place {
    /// The section's number in the object file.
    pub section: usize,
    /// Where it begins, as addresses stand in the program's file.
    pub address: u64,
    /// How long it is.
    pub size: u64,
}

/// Where the longest section of code of `member` lies in the executable parts of `program`; `None` if it is at none or at
/// several places.
pub fn place(program: &File<'_>, member: &File<'_>) -> Option<Place> {
    if member.header.e_type(LE) != elf::ET_REL {
        return None;
    }
    let is_code = |s: &elf::SectionHeader64<_>| {
        s.sh_type(LE) == elf::SHT_PROGBITS && s.sh_flags(LE).contains(elf::SHF_EXECINSTR)
    };
    let (index, section) = member
        .sections
        .enumerate()
        .filter(|(_, s)| is_code(s))
        .max_by_key(|(_, s)| s.sh_size(LE))?;
    let body = section.data(LE, member.data).ok()?;
    let fixed = fixed(member, index.0, body.len());
    let align = usize::try_from(section.sh_addralign(LE)).ok()?.max(1);
    let anchor = anchor(&fixed)?;
    if fixed.iter().filter(|fixed| **fixed).count() < LEAST {
        return None;
    }
    let mut found = None;
    let executable = |s: &&elf::ProgramHeader64<_>| {
        s.p_type(LE) == elf::PT_LOAD && s.p_flags(LE).contains(elf::PF_X)
    };
    for segment in program.segments.iter().filter(executable) {
        let Ok(code) = segment.data(LE, program.data) else { continue };
        let begin = segment.p_vaddr(LE);
        let first = begin.next_multiple_of(align as u64) - begin;
        let last = code.len().checked_sub(body.len())?;
        for at in (usize::try_from(first).ok()?..=last).step_by(align) {
            let Some(here) = code.get(at..at + body.len()) else { break };
            // Most places differ in the first bytes that are compared.
            if here.get(anchor..anchor + 8) != body.get(anchor..anchor + 8)
                || !equal(here, body, &fixed)
            {
                continue;
            }
            if found.replace(begin + at as u64).is_some() {
                return None;
            }
        }
    }
    Some(Place { section: index.0, address: found?, size: body.len() as u64 })
}

fn equal(here: &[u8], body: &[u8], fixed: &[bool]) -> bool {
    here.iter().zip(body).zip(fixed).all(|((a, b), fixed)| !fixed || a == b)
}

/// Eight bytes in a row that no relocation touches.
fn anchor(fixed: &[bool]) -> Option<usize> {
    fixed.windows(8).position(|eight| eight.iter().all(|fixed| *fixed))
}

/// Which bytes of a section the linker leaves as they are (x86-64 psABI, "Relocation"; it may rewrite the instruction
/// around an access to the global offset table or to thread-local data).
fn fixed(member: &File<'_>, section: usize, size: usize) -> Vec<bool> {
    let mut fixed = vec![true; size];
    for table in member.sections.iter().filter(|s| s.sh_info(LE) as usize == section) {
        let Ok(Some((entries, _))) = table.rela(LE, member.data) else { continue };
        for entry in entries {
            let (before, after) = match entry.r_type(LE, false) {
                elf::R_X86_64_64 | elf::R_X86_64_PC64 => (0, 8),
                elf::R_X86_64_TLSGD | elf::R_X86_64_TLSLD => (4, 12),
                elf::R_X86_64_GOTPCREL
                | elf::R_X86_64_GOTPCRELX
                | elf::R_X86_64_REX_GOTPCRELX
                | elf::R_X86_64_GOTTPOFF => (3, 4),
                _ => (0, 4),
            };
            let Ok(at) = usize::try_from(entry.r_offset.get(LE)) else { continue };
            let end = at.saturating_add(after).min(size);
            if let Some(bytes) = fixed.get_mut(at.saturating_sub(before).min(end)..end) {
                bytes.fill(false);
            }
        }
    }
    fixed
}
