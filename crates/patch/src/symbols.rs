//! The functions that a library exports and imports, and where the loader reads them.
//!
//! Owns: the dynamic symbol table as the loader has it in memory. Must not know: which functions matter.

use object::LittleEndian;
use object::elf;
use object::read::elf::{ProgramHeader, SectionHeader, Sym};

use crate::file::{File, LE, Symbol, each};
use crate::names::Names;

/// A function that a library offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'d> {
    /// Its name, without a version.
    pub name: &'d [u8],
    /// Its address in the file.
    pub address: u64,
    /// Where the loader reads that address: `st_value` of the symbol, at this address in the file.
    pub at: u64,
}

/// A function that a library imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import<'d> {
    /// Its name, without a version.
    pub name: &'d [u8],
    /// Where the loader reads the symbol: its address in the file.
    pub at: u64,
}

impl<'d> File<'d> {
    /// The functions that this library offers, in the order of its table.
    pub fn offers_all(&self) -> Vec<Offer<'d>> {
        let value = std::mem::offset_of!(elf::Sym64<LittleEndian>, st_value) as u64;
        self.placed()
            .into_iter()
            .filter(|(_, _, symbol)| symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LE))
            .filter_map(|(name, at, symbol)| {
                Some(Offer { name, address: symbol.st_value(LE), at: at.checked_add(value)? })
            })
            .collect()
    }

    /// The functions that this library imports, in the order of its table. Linkers leave some of them without a type.
    pub fn imports_all(&self) -> Vec<Import<'d>> {
        let may_be = |kind| matches!(kind, elf::STT_FUNC | elf::STT_NOTYPE);
        self.placed()
            .into_iter()
            .filter(|(_, _, symbol)| may_be(symbol.st_type()) && symbol.is_undefined(LE))
            .map(|(name, at, _)| Import { name, at })
            .collect()
    }

    /// The dynamic symbols with their names and addresses in the file.
    fn placed(&self) -> Vec<(&'d [u8], u64, &'d Symbol)> {
        let symbols = self.dynamic_symbols();
        let names = Names::of(self, &symbols);
        let dynamic = self.sections.iter().find(|s| s.sh_type(LE) == elf::SHT_DYNSYM);
        let Some(table) = dynamic.map(|section| section.sh_addr(LE)) else { return Vec::new() };
        let place = |(symbol, number): (&'d Symbol, u64)| {
            let at = table.checked_add(number.checked_mul(size_of::<Symbol>() as u64)?)?;
            Some((names.name(symbol)?, at, symbol))
        };
        each(&symbols).zip(1..).filter_map(place).collect()
    }

    /// The access rights, as PF_R, PF_W and PF_X, of the segment that is mapped at an address.
    pub fn rights(&self, address: u64) -> Option<u32> {
        let inside = |begin: u64, size: u64| address.checked_sub(begin).is_some_and(|at| at < size);
        let mut loads = self.segments.iter().filter(|s| s.p_type(LE) == elf::PT_LOAD);
        let segment = loads.find(|s| inside(s.p_vaddr(LE), s.p_filesz(LE)))?;
        Some(segment.p_flags(LE).0)
    }
}
