//! Variables of loaded code, including those that the code refers to by an address word.
//!
//! Owns which symbols are the translator's own ([`cushim_translate::abi`]): the table of kernels, and the words that
//! hold the addresses of managed variables and of variables that other modules define. Must not know: kernels,
//! launches.

use std::alloc::Layout;
use std::sync::Arc;

use cushim_accel::{Failure, Image, MemoryKind, Variable};
use cushim_translate::abi::{EXTERNAL, Facts, MANAGED, TABLE};

use crate::memory::Memory;

/// The symbols of loaded code, sorted.
#[derive(Default)]
pub struct Linked {
    /// Variables as the program knows them.
    pub variables: Vec<Variable>,
    /// Memory of managed variables, freed with the code.
    pub taken: Taken,
    /// The facts about its kernels in the code, if it was translated.
    pub facts: Option<Vec<Facts>>,
    /// Undefined variables.
    pub missing: Vec<String>,
}

/// Memory of managed variables, freed when this is dropped.
#[derive(Default)]
pub struct Taken(Vec<(Arc<Memory>, u64)>);

impl Drop for Taken {
    fn drop(&mut self) {
        for (memory, address) in self.0.drain(..) {
            memory.free(address);
        }
    }
}

/// Sorts the symbols of loaded code, and writes the addresses of variables into it.
///
/// # Errors
/// [`Failure::InvalidImage`] for a table that is not understood; the runtime's.
pub fn link(
    memory: &Arc<Memory>,
    device: usize,
    symbols: Vec<Variable>,
    image: &Image<'_>,
) -> Result<Linked, Failure> {
    let mut linked = Linked::default();
    let own = |v: &Variable| {
        v.name == TABLE || v.name.starts_with(MANAGED) || v.name.starts_with(EXTERNAL)
    };
    let (own, variables): (Vec<_>, Vec<_>) = symbols.into_iter().partition(own);
    linked.variables = variables;
    for symbol in own {
        if symbol.name == TABLE {
            linked.facts = Some(table(memory, &symbol)?);
        } else if let Some(name) = symbol.name.strip_prefix(MANAGED) {
            let at = manage(memory, device, name, image, &mut linked)?;
            memory.write_device(symbol.address, &at.to_le_bytes())?;
        } else if let Some(name) = symbol.name.strip_prefix(EXTERNAL) {
            match (image.externals)(name) {
                Some(at) => memory.write_device(symbol.address, &at.to_le_bytes())?,
                None => linked.missing.push(name.to_owned()),
            }
        }
    }
    Ok(linked)
}

fn table(memory: &Memory, symbol: &Variable) -> Result<Vec<Facts>, Failure> {
    let mut text = vec![0; symbol.bytes];
    memory.read_device(symbol.address, &mut text)?;
    let facts = Facts::read(&String::from_utf8_lossy(&text));
    facts.ok_or_else(|| {
        Failure::InvalidImage("it was translated by another version of cushim".into())
    })
}

/// The address of a managed variable: that of the same library's code, or new memory with the
/// initial value.
fn manage(
    memory: &Arc<Memory>,
    device: usize,
    name: &str,
    image: &Image<'_>,
    linked: &mut Linked,
) -> Result<u64, Failure> {
    let nowhere = || Failure::InvalidImage(format!("the managed variable {name} has no value"));
    let variable = linked.variables.iter_mut().find(|v| v.name == name).ok_or_else(nowhere)?;
    let at = match image.managed(name, variable.bytes) {
        Some(at) => at,
        None => {
            let layout = Layout::from_size_align(variable.bytes, 4096);
            let layout = layout.map_err(|_| Failure::OutOfMemory)?;
            let at = memory.allocate(device, MemoryKind::Managed, layout)?;
            linked.taken.0.push((memory.clone(), at));
            let mut value = vec![0; variable.bytes];
            memory.read_device(variable.address, &mut value)?;
            memory.copy_bytes(at, value.as_ptr().expose_provenance() as u64, value.len())?;
            at
        }
    };
    (variable.address, variable.managed) = (at, true);
    Ok(at)
}
