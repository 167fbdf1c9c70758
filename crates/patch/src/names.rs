//! Names of symbols, and the lookup of a name by the file's own hash table.
//!
//! Owns: a bound on the cost of a name. A name ends with a zero byte, so a reader scans to it; in a crafted file all
//! symbols share one name of megabytes. Here no name is read further than the longest name that matters. Must not
//! know: which names matter.

use object::elf;
use object::read::elf::{SectionHeader, Sym, SymbolTable};

use crate::file::{File, Header, LE, Symbol};

/// The longest name that is read, bytes. CUDA's longest has 60; a longer one is none that is looked for here.
const LONGEST: usize = 256;

/// The strings of a symbol table.
#[derive(Clone, Copy, Default)]
pub(crate) struct Names<'d> {
    strings: &'d [u8],
}

impl<'d> Names<'d> {
    /// In these strings.
    pub fn new(strings: &'d [u8]) -> Self {
        Names { strings }
    }

    /// The names of `table` in `file`.
    pub fn of(file: &File<'d>, table: &SymbolTable<'d, Header>) -> Self {
        let section = file.sections.section(table.string_section()).ok();
        let strings = section.and_then(|section| section.data(LE, file.data).ok());
        Names { strings: strings.unwrap_or_default() }
    }

    /// The name that begins there; `None` where it does not end, or is longer than any that matters.
    pub fn at(&self, begin: u32) -> Option<&'d [u8]> {
        let rest = self.strings.get(begin as usize..)?;
        let rest = rest.get(..=LONGEST).unwrap_or(rest);
        rest.get(..memchr::memchr(0, rest)?)
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: &Symbol) -> Option<&'d [u8]> {
        self.at(symbol.st_name(LE))
    }
}

/// The dynamic symbols of a file, which the loader looks up.
pub(crate) struct Dynamic<'d> {
    pub symbols: SymbolTable<'d, Header>,
    pub names: Names<'d>,
    /// The section of type `SHT_GNU_HASH`.
    hash: Option<&'d [u8]>,
}

impl<'d> Dynamic<'d> {
    /// The lookup of `file`; empty if it has no hash table.
    pub fn of(file: &File<'d>) -> Self {
        let symbols = file.dynamic_symbols();
        let names = Names::of(file, &symbols);
        let hash = file.sections.iter().find(|s| s.sh_type(LE) == elf::SHT_GNU_HASH);
        Dynamic { symbols, names, hash: hash.and_then(|hash| hash.data(LE, file.data).ok()) }
    }

    /// The first symbol in the hash table; imported ones come before it.
    pub fn first_hashed(&self) -> Option<usize> {
        Some(word(self.hash?, 1)? as usize)
    }

    /// The symbol `name`, of any version, in at most one look at each symbol.
    pub fn find(&self, name: &[u8]) -> Option<&'d Symbol> {
        let is_it = |symbol: &&'d Symbol| self.names.name(symbol) == Some(name);
        let Some(table) = self.hash else { return self.symbols.iter().find(is_it) };
        // Counts of buckets, of words of 64 bits in the filter, and the first symbol's number; then filter, buckets, and a
        // word for each symbol.
        let (buckets, base) = (word(table, 0)? as usize, word(table, 1)? as usize);
        let first = (word(table, 2)? as usize).checked_mul(2)?.checked_add(4)?;
        let hash = elf::gnu_hash(name);
        let bucket = (hash as usize).checked_rem(buckets)?;
        let mut number = word(table, first.checked_add(bucket)?)? as usize;
        let chains = first.checked_add(buckets)?;
        while number != 0 {
            let value = word(table, chains.checked_add(number.checked_sub(base)?)?)?;
            let symbol = self.symbols.symbols().get(number)?;
            if value | 1 == hash | 1 && is_it(&symbol) {
                return Some(symbol);
            }
            // The last of its chain.
            if value & 1 != 0 {
                return None;
            }
            number += 1;
        }
        None
    }

    /// Whether `name` is defined for others.
    pub fn offers(&self, name: &[u8]) -> bool {
        self.find(name).is_some_and(|symbol| !symbol.is_undefined(LE))
    }

    /// The names of all exported symbols for which `wanted` is true, in order.
    pub fn offered(&self, wanted: impl Fn(&[u8]) -> bool) -> Vec<&'d [u8]> {
        let defined = self.symbols.iter().filter(|symbol| !symbol.is_undefined(LE));
        let named = defined.filter_map(|symbol| self.names.name(symbol));
        let mut names: Vec<&[u8]> = named.filter(|name| wanted(name)).collect();
        names.sort_unstable();
        names
    }
}

/// A word of a table of 32-bit words.
fn word(table: &[u8], number: usize) -> Option<u32> {
    let begin = number.checked_mul(4)?;
    Some(u32::from_le_bytes(*table.get(begin..)?.first_chunk()?))
}
