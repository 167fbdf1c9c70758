//! A replacement with all its images, prepared for one image of the program.
//!
//! Owns: the treatment of a replacement that also has machine code. Must not know: containers.

use cushim_image::inventory::ImageKind;
use cushim_image::{Format, Limits};

use crate::compare::{Bound, compare};
use crate::declare::{Variable, variables};
use crate::initial::Fixup;
use crate::rewrite::rewrite;
use crate::theirs::{Theirs, theirs_of};

/// A part of a replacement that the backend runs.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// PTX, or machine code.
    pub is_ptx: bool,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// How a replacement is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Variables that are bound to the program's, in the order of the table.
    pub bound: Vec<Bound>,
    /// Variables that keep their own storage.
    pub own: Vec<String>,
    /// The parts to use, by their number, with their texts; `None`: all of them, as they are.
    pub texts: Option<Vec<(usize, Vec<u8>)>>,
    /// Addresses to be written before the first launch.
    pub fixups: Vec<Fixup>,
}

/// Decides how, and rewrites. `theirs` is called if the replacement has variables.
///
/// # Errors
/// Why it cannot be used there.
pub fn serve(
    parts: &[Part<'_>],
    theirs: impl FnOnce() -> Theirs,
    own: &[String],
) -> Result<Service, String> {
    let (mut ours, mut machine): (Vec<Variable>, Vec<Variable>) = (Vec::new(), Vec::new());
    for part in parts {
        let (of, found) = match part.is_ptx {
            true => (&mut ours, variables(part.bytes).map_err(|why| why.to_string())?),
            false => (&mut machine, of_machine(part.bytes)?),
        };
        for variable in found {
            if !of.contains(&variable) {
                of.push(variable);
            }
        }
    }
    if ours.is_empty() && machine.is_empty() && own.is_empty() {
        return Ok(Service::default());
    }
    let theirs = theirs();
    let has = |name: &String| ours.iter().chain(&machine).any(|v| v.name == *name);
    if let Some(name) = own.iter().find(|name| !has(name)) {
        return Err(format!("`own` names {name}, which is not a variable of the replacement"));
    }
    let own_in = |list: &[Variable]| -> Vec<String> {
        own.iter().filter(|name| list.iter().any(|v| v.name == **name)).cloned().collect()
    };
    let compiled = compare(&machine, &theirs, &own_in(&machine));
    let meets = !compiled.bound.is_empty() || !compiled.problems.is_empty();
    if meets && !parts.iter().any(|part| part.is_ptx) {
        let names: Vec<&str> = compiled.bound.iter().map(|bound| bound.name.as_str()).collect();
        let why = match names.is_empty() {
            true => compiled.problems.join("; "),
            false => {
                format!("it defines {}, which the program's image defines too", names.join(", "))
            }
        };
        return Err(format!(
            "machine code cannot be bound to the program's variables: {why}; expected PTX, or these names in `own`, \
             or `whole = true`"
        ));
    }
    let compared = compare(&ours, &theirs, &own_in(&ours));
    if !compared.problems.is_empty() {
        return Err(compared.problems.join("; "));
    }
    let mut own = compared.own;
    own.extend(compiled.own.into_iter().filter(|name| !ours.iter().any(|v| v.name == *name)));
    if compared.bound.is_empty() && !meets {
        return Ok(Service { own, ..Service::default() });
    }
    let mut texts = Vec::new();
    let mut fixups: Option<Vec<Fixup>> = None;
    // Machine code beside the PTX would have its own storage: it is left out.
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| part.is_ptx) {
        let new = rewrite(part.bytes, &compared.bound).map_err(|why| why.to_string())?;
        if fixups.as_ref().is_some_and(|known| *known != new.fixups) {
            return Err("its images differ in which variables hold addresses".to_owned());
        }
        fixups = Some(new.fixups);
        texts.push((number, new.text));
    }
    let fixups = fixups.unwrap_or_default();
    Ok(Service { bound: compared.bound, own, texts: Some(texts), fixups })
}

/// The variables of machine code.
fn of_machine(bytes: &[u8]) -> Result<Vec<Variable>, String> {
    let kind = match cushim_image::sniff(bytes) {
        Format::AmdgpuElf => ImageKind::AmdgpuObject,
        _ => ImageKind::Cubin,
    };
    let found = theirs_of(kind, bytes, &Limits::DEFAULT)?.variables.into_iter();
    let found = found.flat_map(|(name, list)| list.into_iter().map(move |one| (name.clone(), one)));
    Ok(found
        .map(|(name, (space, size))| Variable {
            literal: name.starts_with('$') || name.starts_with("__unnamed_"),
            name,
            space,
            size: Some(size),
            external: false,
            reference: false,
        })
        .collect())
}
