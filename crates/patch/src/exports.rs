//! What a library offers under one version node.
//!
//! Owns: the lookup by name and version, through the file's own hash table. Must not know: which libraries
//! are asked, and in which order.

use object::elf;
use object::read::elf::{GnuHashTable, Sym, SymbolTable, Version, VersionTable};

use crate::file::{File, Header, LE};

/// The functions `name@node` of one library.
pub struct Exports<'d> {
    symbols: SymbolTable<'d, Header>,
    versions: VersionTable<'d, Header>,
    hash: GnuHashTable<'d, Header>,
    node: Version<'d>,
}

impl<'d> Exports<'d> {
    /// Those of `file` under `node`; `None` where it defines no such version.
    pub fn of(file: &File<'d>, node: &str) -> Option<Self> {
        let versions = file.sections.versions(LE, file.data).ok()??;
        let mut defined = file.sections.gnu_verdef(LE, file.data).ok()??.0;
        let mut index = None;
        while let Ok(Some((definition, _))) = defined.next() {
            let own = definition.vd_ndx.get(LE);
            let named = versions.version(own).ok().flatten();
            if named.is_some_and(|v| v.name() == node.as_bytes()) {
                index = Some(own);
            }
        }
        let node = *versions.version(index?).ok()??;
        Some(Exports { symbols: file.dynamic_symbols(), hash: file.gnu_hash()?, versions, node })
    }

    /// The address of the function `name`, as it stands in the file.
    pub fn function(&self, name: &[u8]) -> Option<u64> {
        let hash = elf::gnu_hash(name);
        let found =
            self.hash.find(LE, name, hash, Some(&self.node), &self.symbols, &self.versions)?;
        let symbol = found.1;
        let function = symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LE);
        function.then(|| symbol.st_value(LE))
    }
}

impl File<'_> {
    /// Address and size of the variable `name` that this library offers.
    pub fn variable(&self, name: &[u8]) -> Option<(u64, u64)> {
        let (symbols, hash) = (self.dynamic_symbols(), self.gnu_hash()?);
        let versions = VersionTable::default();
        let (_, symbol) = hash.find(LE, name, elf::gnu_hash(name), None, &symbols, &versions)?;
        let variable = symbol.st_type() == elf::STT_OBJECT && !symbol.is_undefined(LE);
        variable.then(|| (symbol.st_value(LE), symbol.st_size(LE)))
    }
}
