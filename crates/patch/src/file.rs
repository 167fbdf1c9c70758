//! One ELF file: its tables, and the few facts that decide whether it concerns cushim.
//!
//! Owns: reading headers, dynamic section and dynamic symbols, all bounded by the file's length. Must not know: what
//! a runtime consists of, except the names in this file.

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{
    Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym, SymbolTable,
};
use object::{LittleEndian, SymbolIndex};

use crate::error::Error;
use crate::names::Dynamic;
use crate::work::Work;

pub(crate) type Header = FileHeader64<LittleEndian>;
pub(crate) type Symbol = elf::Sym64<LittleEndian>;
pub(crate) const LE: LittleEndian = LittleEndian;

/// The longest name of a section, bytes.
const NAME_MAX: usize = 4096;

/// Most program headers: 64 KiB of them, more than which Linux runs no program with (`load_elf_phdrs`).
const SEGMENTS_MAX: usize = 65536 / size_of::<ProgramHeader64<LittleEndian>>();

/// A file's bytes with their tables found.
pub struct File<'d> {
    pub(crate) data: &'d [u8],
    pub(crate) header: &'d Header,
    pub(crate) segments: &'d [ProgramHeader64<LittleEndian>],
    pub(crate) sections: SectionTable<'d, Header>,
}

/// What a glance at a file tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts<'d> {
    /// DT_SONAME.
    pub soname: Option<&'d [u8]>,
    /// It holds device code that is registered with a runtime (`.nvFatBinSegment`, `__nv_relfatbin`).
    pub registers: bool,
    /// It imports `__cudaRegisterFatBinary`: then no runtime is inside.
    pub wants_runtime: bool,
    /// It exports `__cudaRegisterFatBinary`: a shared runtime, or a stand-in for it.
    pub is_runtime: bool,
    /// It calls `dlopen` and `dlsym`, without which no static runtime reaches the driver.
    pub opens_libraries: bool,
    /// It has a symbol table besides the dynamic one.
    pub has_symbols: bool,
    /// Stripped, without device code, but with a static runtime's text and imports: a library that
    /// only calls CUDA (cuDNN's `libcudnn_graph.so.9`).
    pub looks_like_runtime: bool,
}

impl Facts<'_> {
    /// Whether a runtime may be inside. Device code is a sign of it; a program without kernels that
    /// only calls the runtime shows it by its symbols alone.
    pub fn may_have_runtime(&self) -> bool {
        !self.wants_runtime
            && !self.is_runtime
            && (self.registers
                || self.looks_like_runtime
                || self.opens_libraries && self.has_symbols)
    }
}

impl<'d> File<'d> {
    /// Finds the tables of an ELF file for x86-64.
    pub fn parse(data: &'d [u8]) -> Result<Self, Error> {
        let header = Header::parse(data).map_err(|_| Error::File("it has no 64-bit ELF header"))?;
        if !header.is_little_endian() || header.e_machine(LE) != elf::EM_X86_64 {
            return Err(Error::File("it is for another machine"));
        }
        let segments = header.program_headers(LE, data);
        let segments = segments.map_err(|_| Error::File("its program headers are truncated"))?;
        if segments.len() > SEGMENTS_MAX {
            return Err(Error::File("it has more than 64 KiB of program headers"));
        }
        let sections = header.sections(LE, data);
        let sections = sections.map_err(|_| Error::File("its section headers are truncated"))?;
        // A name is read to its end at each request, and all sections may have one.
        let names = header.shstrndx(LE, data).ok().and_then(|index| {
            sections.section(object::SectionIndex(index as usize)).ok()?.data(LE, data).ok()
        });
        if names.unwrap_or_default().split(|byte| *byte == 0).any(|name| name.len() > NAME_MAX) {
            return Err(Error::File("a section has a name of more than 4096 bytes"));
        }
        Ok(File { data, header, segments, sections })
    }

    /// The address of the dynamic section, which tells whether a loaded object is of this file.
    pub fn dynamic_address(&self) -> Option<u64> {
        let dynamic = self.segments.iter().find(|s| s.p_type(LE) == elf::PT_DYNAMIC)?;
        Some(dynamic.p_vaddr(LE))
    }

    /// Begin and end of what the loader maps of this file.
    pub fn extent(&self) -> Option<(u64, u64)> {
        let loads = self.segments.iter().filter(|s| s.p_type(LE) == elf::PT_LOAD);
        let spans = loads.map(|s| (s.p_vaddr(LE), s.p_vaddr(LE).saturating_add(s.p_memsz(LE))));
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The bytes that the file holds for an address in an executable part, and the part's access rights as
    /// PF_R, PF_W and PF_X.
    pub fn code(&self, address: u64, size: u64) -> Option<(&'d [u8], u32)> {
        let segment = self.segments.iter().find(|s| {
            let inside = address.checked_sub(s.p_vaddr(LE)).and_then(|at| at.checked_add(size));
            s.p_type(LE) == elf::PT_LOAD
                && s.p_flags(LE).contains(elf::PF_X)
                && inside.is_some_and(|end| end <= s.p_filesz(LE))
        })?;
        let from = segment.p_offset(LE).checked_add(address - segment.p_vaddr(LE))?;
        let range = usize::try_from(from).ok()?..usize::try_from(from.checked_add(size)?).ok()?;
        Some((self.data.get(range)?, segment.p_flags(LE).0))
    }

    /// What a glance tells.
    pub fn facts(&self) -> Facts<'d> {
        let mut facts = Facts::default();
        for section in self.sections.iter() {
            match section.sh_type(LE) {
                elf::SHT_SYMTAB => facts.has_symbols = true,
                _ => {
                    let name = self.sections.section_name(LE, section).unwrap_or_default();
                    facts.registers |= matches!(name, b".nvFatBinSegment" | b"__nv_relfatbin");
                }
            }
        }
        facts.soname = self.soname();
        let dynamic = Dynamic::of(self);
        // Imported symbols come before those in the hash table.
        let end = dynamic.first_hashed().unwrap_or(dynamic.symbols.len());
        let (mut opens, mut looks_up, mut shares) = (false, false, false);
        for symbol in dynamic.symbols.iter().take(end.max(1)) {
            if !symbol.is_undefined(LE) {
                continue;
            }
            match dynamic.names.name(symbol).unwrap_or_default() {
                b"dlopen" => opens = true,
                b"dlsym" => looks_up = true,
                b"shm_open" => shares = true,
                b"__cudaRegisterFatBinary" => facts.wants_runtime = true,
                _ => {}
            }
        }
        facts.opens_libraries = opens && looks_up;
        // Few libraries import all three, so few are searched.
        let stripped = !facts.registers && !facts.has_symbols && !facts.wants_runtime;
        facts.looks_like_runtime =
            facts.opens_libraries && shares && stripped && self.names_errors();
        facts.is_runtime = dynamic.offers(b"__cudaRegisterFatBinary");
        facts
    }

    /// Whether the read-only data has a name that only the runtime's table of errors has (measured:
    /// the static runtimes of 12.4 and 13.5).
    fn names_errors(&self) -> bool {
        let of_data = |name: &[u8]| matches!(name, b".rodata" | b".lrodata");
        // Several headers may claim the same bytes.
        let work = Work::over(self.data);
        self.sections.iter().any(|section| {
            let name = self.sections.section_name(LE, section).unwrap_or_default();
            let bytes = || section.data(LE, self.data).unwrap_or_default();
            of_data(name)
                && work.take(section.sh_size(LE))
                && memchr::memmem::find(bytes(), b"cudaErrorCudartUnloading\0").is_some()
        })
    }

    fn soname(&self) -> Option<&'d [u8]> {
        let (entries, link) = self.sections.dynamic(LE, self.data).ok()??;
        let strings = self.sections.strings(LE, self.data, link).ok()?;
        let entries = entries.iter().take_while(|d| d.tag(LE) != elf::DT_NULL);
        let mut named = entries.filter(|d| d.tag(LE) == elf::DT_SONAME);
        named.find_map(|d| d.string(LE, strings).ok())
    }

    /// The symbol table besides the dynamic one; empty where it is stripped.
    pub(crate) fn symbols(&self) -> SymbolTable<'d, Header> {
        self.sections.symbols(LE, self.data, elf::SHT_SYMTAB).unwrap_or_default()
    }

    /// The dynamic symbol table.
    pub(crate) fn dynamic_symbols(&self) -> SymbolTable<'d, Header> {
        self.sections.symbols(LE, self.data, elf::SHT_DYNSYM).unwrap_or_default()
    }

    /// The first section of this name.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&'d elf::SectionHeader64<LittleEndian>> {
        self.sections.section_by_name(LE, name).map(|(_, section)| section)
    }
}

/// All symbols of a table but the first, which is none.
pub(crate) fn each<'a, 'd>(
    table: &'a SymbolTable<'d, Header>,
) -> impl Iterator<Item = &'d Symbol> + use<'a, 'd> {
    (1..table.len()).filter_map(|index| table.symbol(SymbolIndex(index)).ok())
}
