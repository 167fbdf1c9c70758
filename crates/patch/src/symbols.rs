//! The functions that a library offers, and where the loader reads them.
//!
//! Owns: the dynamic symbol table as the loader has it in memory. Must not know: which functions matter.

use object::LittleEndian;
use object::elf;
use object::read::elf::{ProgramHeader, SectionHeader, Sym};

use crate::file::{File, LE, Symbol};
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

impl<'d> File<'d> {
    /// The functions that this library offers, in the order of its table.
    pub fn offers_all(&self) -> Vec<Offer<'d>> {
        let symbols = self.dynamic_symbols();
        let names = Names::of(self, &symbols);
        let dynamic = self.sections.iter().find(|s| s.sh_type(LE) == elf::SHT_DYNSYM);
        let Some(table) = dynamic.map(|section| section.sh_addr(LE)) else { return Vec::new() };
        let value = std::mem::offset_of!(elf::Sym64<LittleEndian>, st_value) as u64;
        (0u64..)
            .zip(symbols.iter())
            .filter(|(_, symbol)| symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LE))
            .filter_map(|(number, symbol)| {
                let name = names.name(symbol)?;
                let at = table.checked_add(number.checked_mul(size_of::<Symbol>() as u64)?)?;
                Some(Offer { name, address: symbol.st_value(LE), at: at.checked_add(value)? })
            })
            .collect()
    }

    /// The access rights, as PF_R, PF_W and PF_X, of the part that is mapped at an address.
    pub fn rights(&self, address: u64) -> Option<u32> {
        let inside = |begin: u64, size: u64| address.checked_sub(begin).is_some_and(|at| at < size);
        let mut loads = self.segments.iter().filter(|s| s.p_type(LE) == elf::PT_LOAD);
        let segment = loads.find(|s| inside(s.p_vaddr(LE), s.p_filesz(LE)))?;
        Some(segment.p_flags(LE).0)
    }
}
