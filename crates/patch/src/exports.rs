//! The exports of a library under one version node.
//!
//! Owns: the lookup by name and version. Must not know: which libraries are searched, and in which order.

use object::elf;
use object::read::elf::{SectionHeader, Sym};

use crate::file::{File, LE};
use crate::names::{Dynamic, Names};

/// The functions `name@node` of one library.
pub struct Exports<'d> {
    /// Names and addresses, by name.
    functions: Vec<(&'d [u8], u64)>,
}

impl<'d> Exports<'d> {
    /// Those of `file` under `node`; `None` where it defines no such version.
    pub fn of(file: &File<'d>, node: &str) -> Option<Self> {
        let (versions, _) = file.sections.gnu_versym(LE, file.data).ok()??;
        let (mut defined, strings) = file.sections.gnu_verdef(LE, file.data).ok()??;
        let strings = file.sections.section(strings).ok()?.data(LE, file.data).ok()?;
        let strings = Names::new(strings);
        let mut index = None;
        while let Ok(Some((definition, mut names))) = defined.next() {
            let first = names.next().ok().flatten();
            let name = first.and_then(|name| strings.at(name.vda_name.get(LE)));
            if name == Some(node.as_bytes()) {
                index = Some(definition.vd_ndx.get(LE));
            }
        }
        let index = index?;
        let Dynamic { symbols, names, .. } = Dynamic::of(file);
        let of_node = symbols.iter().zip(versions).filter(|(symbol, version)| {
            version.0.get(LE).index() == index
                && symbol.st_type() == elf::STT_FUNC
                && !symbol.is_undefined(LE)
        });
        let mut functions: Vec<(&[u8], u64)> = of_node
            .filter_map(|(symbol, _)| Some((names.name(symbol)?, symbol.st_value(LE))))
            .collect();
        functions.sort_unstable();
        Some(Exports { functions })
    }

    /// The address of the function `name`, as the file has it.
    pub fn function(&self, name: &[u8]) -> Option<u64> {
        let at = self.functions.binary_search_by_key(&name, |function| function.0).ok()?;
        self.functions.get(at).map(|function| function.1)
    }
}

impl File<'_> {
    /// Address and size of the variable `name` that this library offers.
    pub fn variable(&self, name: &[u8]) -> Option<(u64, u64)> {
        let symbol = Dynamic::of(self).find(name)?;
        let variable = symbol.st_type() == elf::STT_OBJECT && !symbol.is_undefined(LE);
        variable.then(|| (symbol.st_value(LE), symbol.st_size(LE)))
    }
}
