//! Names and pointers from the tables of a host ELF, each table read once, however many sections ask.
//!
//! Owns bounded section names, relative relocations and the conversion of addresses to file offsets; must not know
//! what the bytes there mean.

use crate::work::Work;
use object::elf;
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

type Header = elf::FileHeader64<LittleEndian>;
type Section = elf::SectionHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// Sections of wrappers.
pub(super) const WRAPPERS: [&[u8]; 2] = [b".nvFatBinSegment", b".hipFatBinSegment"];

/// The longest section name that matters: those of clang's bundles, which end with a target id.
const LONGEST: usize = 1024;

/// Names of sections, of which many may share one long string.
pub(super) struct Names<'d> {
    strings: &'d [u8],
}

impl<'d> Names<'d> {
    pub fn of(header: &Header, sections: &SectionTable<'d, Header>, data: &'d [u8]) -> Self {
        let table = header
            .shstrndx(LE, data)
            .ok()
            .and_then(|index| sections.section(object::SectionIndex(index as usize)).ok());
        let strings = table.and_then(|table| table.data(LE, data).ok()).unwrap_or_default();
        Self { strings }
    }

    /// The name; empty where it is longer than any that matters.
    pub fn of_section(&self, section: &Section) -> &'d [u8] {
        let start = section.sh_name(LE) as usize;
        let rest = self.strings.get(start..).unwrap_or_default();
        let rest = rest.get(..LONGEST).unwrap_or(rest);
        memchr::memchr(0, rest).and_then(|end| rest.get(..end)).unwrap_or_default()
    }
}

/// Resolves the pointers of wrappers.
pub(super) struct Pointers {
    /// Addends of the relative relocations in wrappers: in a
    /// position-independent file the pointers are there, not in the section.
    addends: HashMap<u64, u64>,
    /// Loaded segments by address: `(address, bytes, offset in the file)`.
    segments: Vec<(u64, u64, u64)>,
}

impl Pointers {
    pub fn of<'d>(
        header: &Header,
        sections: &SectionTable<'d, Header>,
        names: &Names<'d>,
        data: &'d [u8],
        work: &mut Work,
    ) -> Self {
        let wanted = merged(
            sections
                .iter()
                .filter(|section| WRAPPERS.contains(&names.of_section(section)))
                .map(|section| {
                    let start = section.sh_addr(LE);
                    start..start.saturating_add(section.sh_size(LE))
                })
                .collect(),
        );
        let mut out = Self { addends: HashMap::new(), segments: Vec::new() };
        if wanted.is_empty() {
            return out;
        }
        out.read_addends(sections, &wanted, data, work);
        let segments = header.program_headers(LE, data).unwrap_or_default();
        out.segments = segments
            .iter()
            .filter(|segment| segment.p_type(LE) == elf::PT_LOAD)
            .map(|segment| (segment.p_vaddr(LE), segment.p_filesz(LE), segment.p_offset(LE)))
            .collect();
        // The ELF standard requires this order; in a file that breaks it, less is found.
        out.segments.sort_by_key(|segment| segment.0);
        out
    }

    fn read_addends<'d>(
        &mut self,
        sections: &SectionTable<'d, Header>,
        wanted: &[Range<u64>],
        data: &'d [u8],
        work: &mut Work,
    ) {
        // R_X86_64_RELATIVE and R_AARCH64_RELATIVE.
        const RELATIVE: [u32; 2] = [8, 1027];
        let mut seen = HashSet::new();
        for table in sections.iter() {
            if !seen.insert(table.sh_offset(LE)) {
                continue;
            }
            let Ok(Some((relocations, _))) = table.rela(LE, data) else { continue };
            if work.look(std::mem::size_of_val(relocations) as u64, table.sh_offset(LE)).is_err() {
                return;
            }
            for relocation in relocations {
                let at = relocation.r_offset(LE);
                if contains(wanted, at) && RELATIVE.contains(&relocation.r_type(LE, false).0) {
                    self.addends.insert(at, relocation.r_addend(LE) as u64);
                }
            }
        }
    }

    /// The relocated value of the pointer at address `slot`.
    pub fn addend(&self, slot: u64) -> Option<u64> {
        self.addends.get(&slot).copied()
    }

    /// File offset of the byte at `address`.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let behind = self.segments.partition_point(|&(start, ..)| start <= address);
        let &(start, size, offset) = self.segments.get(behind.checked_sub(1)?)?;
        let into = address - start;
        offset.checked_add(into).filter(|_| into < size)
    }
}

/// Sorted ranges that do not overlap.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Whether one of the `sorted` ranges holds `at`.
fn contains(sorted: &[Range<u64>], at: u64) -> bool {
    let behind = sorted.partition_point(|range| range.start <= at);
    behind
        .checked_sub(1)
        .and_then(|index| sorted.get(index))
        .is_some_and(|range| range.contains(&at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_addresses() {
        let ranges = merged(vec![50..60, 10..20, 15..30, 30..31, 70..70]);
        assert_eq!(ranges, [10..31, 50..60, 70..70]);
        let inside: Vec<u64> = (0..80).filter(|&at| contains(&ranges, at)).collect();
        assert_eq!(inside, (10..31).chain(50..60).collect::<Vec<_>>());
        let segments = vec![(0x1000, 0x10, 0), (0x2000, 0x20, 0x10)];
        let pointers = Pointers { addends: HashMap::new(), segments };
        let offsets = [0xFFF, 0x1000, 0x100F, 0x1010, 0x201F, 0x2020];
        assert_eq!(
            offsets.map(|address| pointers.file_offset(address)),
            [None, Some(0), Some(15), None, Some(0x2F), None]
        );
    }
}
