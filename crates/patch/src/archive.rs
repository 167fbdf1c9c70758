//! The archive of a static runtime (`libcudart_static.a`), which has the symbols that a stripped program lacks.
//!
//! Owns: reading an archive (ar(5)), and the functions of one of its objects: their bytes, which bytes the linker
//! leaves unchanged, and the functions that they refer to. Must not know: programs, nor what a runtime consists of.

use object::SymbolIndex;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::file::{File, LE, Symbol, each};
use crate::work::Work;

/// How an archive begins.
pub const MAGIC: &[u8; 8] = b"!<arch>\n";
/// Bytes of a member's header; its size is decimal digits from the 49th byte on.
const HEADER: usize = 60;

/// The ELF files in an archive; a broken one ends where it is broken.
pub fn members(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data.strip_prefix(MAGIC).unwrap_or_default();
    std::iter::from_fn(move || {
        let (header, after) = rest.split_at_checked(HEADER)?;
        let size = std::str::from_utf8(header.get(48..58)?).ok()?.trim_end().parse().ok()?;
        let body = after.get(..size)?;
        // Members begin at even offsets.
        rest = after.get(size + size % 2..).unwrap_or_default();
        Some(body)
    })
    .filter(|body| body.starts_with(&elf::ELFMAG))
}

/// The functions in the longest section of code of an object file, numbered by address.
pub struct Parts<'d> {
    /// The section's number.
    pub section: usize,
    body: &'d [u8],
    /// Begin and end of each in the section.
    spans: Vec<(usize, usize)>,
    relocations: Relocations,
}

impl<'d> Parts<'d> {
    /// The functions of `member`; `None` if it is no object file with code.
    pub fn of(member: &File<'d>) -> Option<Self> {
        if member.header.e_type(LE) != elf::ET_REL {
            return None;
        }
        let is_code = |s: &elf::SectionHeader64<_>| {
            s.sh_type(LE) == elf::SHT_PROGBITS && s.sh_flags(LE).contains(elf::SHF_EXECINSTR)
        };
        let sections = member.sections.enumerate().filter(|(_, s)| is_code(s));
        let (index, section) = sections.max_by_key(|(_, s)| s.sh_size(LE))?;
        let body = section.data(LE, member.data).ok()?;
        let span = |symbol: &Symbol| {
            let inside = usize::from(symbol.st_shndx(LE).0) == index.0;
            let begin = usize::try_from(symbol.st_value(LE)).ok()?;
            let end = begin.checked_add(usize::try_from(symbol.st_size(LE)).ok()?)?;
            let function = inside && symbol.st_type() == elf::STT_FUNC;
            (function && begin < end && end <= body.len()).then_some((begin, end))
        };
        let mut spans: Vec<(usize, usize)> = each(&member.symbols()).filter_map(span).collect();
        spans.sort_unstable();
        spans.dedup_by_key(|span| span.0);
        let relocations = Relocations::of(member, index.0, body.len());
        Some(Parts { section: index.0, body, spans, relocations })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    fn span(&self, part: usize) -> (usize, usize) {
        self.spans.get(part).copied().unwrap_or_default()
    }

    /// The index of the function that begins at this offset in the section.
    pub fn at(&self, begin: u64) -> Option<usize> {
        let begin = usize::try_from(begin).ok()?;
        self.spans.binary_search_by_key(&begin, |span| span.0).ok()
    }

    /// The bytes of a function.
    pub fn bytes(&self, part: usize) -> &'d [u8] {
        let (begin, end) = self.span(part);
        self.body.get(begin..end).unwrap_or_default()
    }

    /// Which of its bytes the linker does not change.
    pub fn fixed(&self, part: usize) -> &[bool] {
        let (begin, end) = self.span(part);
        self.relocations.fixed.get(begin..end).unwrap_or_default()
    }

    /// Its four-byte relative references to other functions: the offset in its bytes, and the other function's
    /// index.
    pub fn refers(&self, part: usize) -> impl Iterator<Item = (usize, usize)> {
        let (begin, end) = self.span(part);
        let distances = &self.relocations.distances;
        let first = distances.partition_point(|(at, _)| *at < begin);
        let inside = distances.iter().skip(first).take_while(move |(at, _)| at + 4 <= end);
        inside.filter_map(move |(at, target)| Some((at - begin, self.at(*target)?)))
    }
}

/// What the linker changes in a section.
struct Relocations {
    /// For each byte, whether it stays.
    fixed: Vec<bool>,
    /// Relative references within the same section, by their offset.
    distances: Vec<(usize, u64)>,
}

impl Relocations {
    /// By the x86-64 psABI, "Relocation". The linker may rewrite the instruction around an access to the global offset table or
    /// to thread-local data.
    fn of(member: &File<'_>, section: usize, size: usize) -> Self {
        let (mut fixed, mut distances) = (vec![true; size], Vec::new());
        let table = member.symbols();
        let work = Work::over(member.data);
        for relocations in member.sections.iter().filter(|s| s.sh_info(LE) as usize == section) {
            let Ok(Some((entries, _))) = relocations.rela(LE, member.data) else { continue };
            if !work.take(relocations.sh_size(LE)) {
                break;
            }
            for entry in entries {
                let kind = entry.r_type(LE, false);
                let (before, after) = match kind {
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
                let symbol = table.symbol(SymbolIndex(entry.r_sym(LE, false) as usize)).ok();
                let inside = symbol.filter(|s| usize::from(s.st_shndx(LE).0) == section);
                if let (elf::R_X86_64_PC32 | elf::R_X86_64_PLT32, Some(symbol)) = (kind, inside) {
                    // The addend is four less, since a distance counts from its own end.
                    let addend = entry.r_addend.get(LE).wrapping_add(4);
                    distances.push((at, symbol.st_value(LE).wrapping_add_signed(addend)));
                }
            }
        }
        distances.sort_unstable();
        Relocations { fixed, distances }
    }
}
