//! Cubins: the ELF files that contain NVIDIA's machine code.
//!
//! Owns the ELF header's CUDA fields, sections, symbols and `.nv.info`
//! attributes (as measured on ptxas 11.8, 12.9 and 13.5 output); must not know
//! the containers cubins come in, nor machine instructions.

pub mod eiattr;
pub mod info;
mod kernels;
mod maker;

pub use maker::Maker;

use crate::arch::{Arch, SmVariant};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::params::layout::ParamLayout;
use crate::work::Work;
use object::elf;
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym, SymbolTable};

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// `e_machine` of a cubin.
pub const EM_CUDA: u16 = 190;
/// `e_ident[EI_OSABI]` up to CUDA 12 (SM below 100).
pub const OSABI_7: u8 = 0x33;
/// `e_ident[EI_OSABI]` of the later ABI.
pub const OSABI_8: u8 = 0x41;
/// Bit of a symbol's `st_other` that marks a kernel.
const STO_ENTRY: u8 = 0x10;
/// Attribute of `.nv.compat`: 1 for "a" targets (measured on sm_90 to sm_120).
const COMPAT_SPECIFIC: u8 = 0x09;
/// `e_flags` bit of ABI 7: architecture-specific ("a") target.
const EF_SPECIFIC: u32 = 0x800;

/// A cubin, borrowed.
#[derive(Debug)]
pub struct Cubin<'a> {
    pub(crate) data: &'a [u8],
    header: &'a Header,
    pub(crate) sections: SectionTable<'a, Header>,
    pub(crate) symbols: SymbolTable<'a, Header>,
}

/// Whether `data` begins like a cubin.
pub fn is_cubin(data: &[u8]) -> bool {
    data.len() >= 64
        && data.starts_with(b"\x7fELF\x02\x01")
        && data.get(18..20) == Some(&EM_CUDA.to_le_bytes())
}

fn length(name: &[u8]) -> u64 {
    name.len() as u64
}

impl<'a> Cubin<'a> {
    /// Reads headers and tables; every later access is checked again.
    pub fn read(data: &'a [u8], limits: &Limits) -> Result<Self> {
        let bytes = Bytes::new(data, 0, "cubin");
        if bytes.slice(0, 64)? != data.get(..64).unwrap_or_default() || !is_cubin(data) {
            let found = bytes.u16(18)?;
            return Err(bytes.field(18, "e_machine", found.into(), "190 in a 64-bit ELF"));
        }
        let wrong = |error| Error::object("cubin", 0, error);
        let header = Header::parse(data).map_err(wrong)?;
        let sections = header.sections(LE, data).map_err(wrong)?;
        let items = sections.len().max(1);
        let symbols = sections.symbols(LE, data, elf::SHT_SYMTAB).map_err(wrong)?;
        for (what, found) in [("cubin sections", items), ("cubin symbols", symbols.len())] {
            if found > limits.max_items {
                let (limit, found) = (limits.max_items as u64, found as u64);
                return Err(Error::TooBig { what, at: 0, found, limit, name: "max_items" });
            }
        }
        let cubin = Self { data, header, sections, symbols };
        cubin.measure(limits)?;
        Ok(cubin)
    }

    /// Charges for the names of sections and symbols. Where many share one long name, reading or
    /// copying them all would read the same bytes many times.
    fn measure(&self, limits: &Limits) -> Result<()> {
        let mut work = Work::new(self.data.len(), limits);
        let size = |section: object::read::Result<&elf::SectionHeader64<_>>| {
            section.map_or(0, |section| section.sh_size(LE))
        };
        // A name that does not end is looked for up to the end of the strings.
        let rest = |size: u64, name: u32| size.saturating_sub(name.into());
        let index = self.header.shstrndx(LE, self.data).unwrap_or_default();
        let strings = size(self.sections.section(object::SectionIndex(index as usize)));
        for section in self.sections.iter() {
            let name = self.sections.section_name(LE, section);
            let bytes = name.map_or_else(|_| rest(strings, section.sh_name(LE)), length);
            work.look(bytes, section.sh_offset(LE))?;
        }
        let strings = size(self.sections.section(self.symbols.string_section()));
        for symbol in self.symbols.iter() {
            let name = symbol.name(LE, self.symbols.strings());
            let bytes = name.map_or_else(|_| rest(strings, symbol.st_name(LE)), length);
            work.look(bytes, symbol.st_name(LE).into())?;
        }
        Ok(())
    }

    /// The ELF ABI: `(e_ident[EI_OSABI], e_ident[EI_ABIVERSION])`.
    pub fn abi(&self) -> (u8, u8) {
        let ident = self.header.e_ident();
        (ident.os_abi.0, ident.abi_version)
    }

    /// Whether it still has to go through nvlink (`-rdc`, `-c`).
    pub fn is_relocatable(&self) -> bool {
        self.header.e_type(LE) == elf::ET_REL
    }

    /// Word at 48 of the header, unchanged.
    pub fn flags(&self) -> u32 {
        self.header.e_flags(LE).0
    }

    /// The architecture. Whether code is for one architecture only ("a") is in the header, or in
    /// ABI 8 in `.nv.compat`; family code ("f") looks like plain code (measured, ptxas 13.5): only
    /// a container's flags tell.
    pub fn arch(&self) -> Arch {
        let flags = self.flags();
        let (number, specific) = if self.abi().0 == OSABI_8 {
            ((flags >> 8) & 0xFF, self.is_specific())
        } else {
            (flags & 0xFF, flags & EF_SPECIFIC != 0)
        };
        Arch::Sm(number, if specific { SmVariant::Specific } else { SmVariant::Plain })
    }

    /// The attribute of `.nv.compat`; its records have the form of `.nv.info`'s.
    fn is_specific(&self) -> bool {
        let compat =
            self.sections.iter().find(|section| self.section_name(section) == b".nv.compat");
        let Some(Ok(data)) = compat.map(|section| self.section_data(section)) else {
            return false;
        };
        let mut records = info::records(data, 0).flatten();
        records.any(|record| {
            record.attribute == COMPAT_SPECIFIC && record.value.data().first() == Some(&1)
        })
    }

    /// Name of a section; empty where the string table is wrong.
    pub(crate) fn section_name(&self, section: &elf::SectionHeader64<LittleEndian>) -> &'a [u8] {
        self.sections.section_name(LE, section).unwrap_or_default()
    }

    /// Contents of a section; an error where it lies outside the file.
    pub(crate) fn section_data(
        &self,
        section: &elf::SectionHeader64<LittleEndian>,
    ) -> Result<&'a [u8]> {
        section
            .data(LE, self.data)
            .map_err(|error| Error::object("cubin section", section.sh_offset(LE), error))
    }

    /// `(symbol index, name, text section index)` of every kernel, in the
    /// order of the symbol table.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &'a [u8], usize)> + '_ {
        let entries = self.code_symbols().filter(|&(.., entry)| entry);
        entries.map(|(index, name, text, _)| (index, name, text))
    }

    /// As [`Self::entries`], of all functions, and whether each is a kernel.
    fn code_symbols(&self) -> impl Iterator<Item = (usize, &'a [u8], usize, bool)> + '_ {
        self.symbols.enumerate().filter_map(|(index, symbol)| {
            if symbol.st_type() != elf::STT_FUNC || symbol.is_undefined(LE) {
                return None;
            }
            let name = symbol.name(LE, self.symbols.strings()).ok()?;
            let section = self.symbols.symbol_section(LE, symbol, index).ok()??;
            Some((index.0, name, section.0, symbol.st_other().0 & STO_ENTRY != 0))
        })
    }

    /// Parameter layout of the kernel named `kernel`, `None` where this cubin
    /// has no such kernel.
    pub fn params(&self, kernel: &[u8], limits: &Limits) -> Result<Option<ParamLayout>> {
        for section in self.sections.iter() {
            let name = self.section_name(section).strip_prefix(b".nv.info.");
            if name == Some(kernel) {
                let at = section.sh_offset(LE);
                return info::params(self.section_data(section)?, at, limits).map(Some);
            }
        }
        // Without attributes a kernel still has a symbol (hand-made cubins).
        let known = self.entries().any(|(_, name, _)| name == kernel);
        Ok(known.then(ParamLayout::default))
    }

    /// Name and parameter layout of every kernel, in symbol order.
    pub fn all_params(&self, limits: &Limits) -> Result<Vec<(String, ParamLayout)>> {
        let infos = self.info_sections();
        let mut work = Work::new(self.data.len(), limits);
        let mut out = Vec::new();
        for (_, name, text) in self.entries() {
            let layout = match infos.get(text).copied().flatten() {
                None => ParamLayout::default(),
                Some(section) => {
                    work.look(section.sh_size(LE), section.sh_offset(LE))?;
                    info::params(self.section_data(section)?, section.sh_offset(LE), limits)?
                }
            };
            out.push((String::from_utf8_lossy(name).into_owned(), layout));
        }
        Ok(out)
    }

    /// By index of a text section: its `.nv.info.NAME` section (linked by
    /// `sh_info`).
    pub(crate) fn info_sections(&self) -> Vec<Option<&'a elf::SectionHeader64<LittleEndian>>> {
        let mut out = vec![None; self.sections.len()];
        for section in self.sections.iter() {
            if self.section_name(section).starts_with(b".nv.info.")
                && let Some(slot) = out.get_mut(section.sh_info(LE) as usize)
            {
                *slot = Some(section);
            }
        }
        out
    }
}
