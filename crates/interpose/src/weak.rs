//! Weak references to CUDA functions: a program that tests for CUDA by comparing `cuInit` with null must get the same
//! result as without cushim.
//!
//! cushim's exports satisfy such references if nothing else does. So when cushim is loaded, it resets a reference to
//! null if it was bound to cushim and no object after cushim defines the name. Programs bind data references at
//! start; objects that `dlopen` loads later are not covered (documented in docs/limits.md).
//!
//! Must not know: what the functions do.

use std::ffi::CStr;

use crate::site::Home;
use cushim_process::elf::{self, Object, Version};

/// Resets weak references that only we satisfy; returns how many. Called from the library's
/// constructor, before the program's own code and after everything it needs was bound.
pub fn unbind(home: &Home) -> usize {
    let mut count = 0;
    elf::find_object::<()>(|object| {
        if !object.is_own() {
            count += unbind_in(&object, home);
        }
        None
    });
    count
}

fn unbind_in(object: &Object, home: &Home) -> usize {
    let weak: Vec<u32> = object
        .weak_references()
        .filter(|(_, name)| concerns_us(name, home))
        .map(|(index, _)| index)
        .collect();
    if weak.is_empty() {
        return 0;
    }
    let mut count = 0;
    for to in object.relocations() {
        if !weak.contains(&to.symbol) || to.of_address().is_none() {
            continue;
        }
        if elf::object_at(to.bound()).is_some_and(|o| o.is_own()) {
            count += usize::from(object.write_word(to.place, 0));
        }
    }
    count
}

/// Whether this library exports `name` and no later object does.
fn concerns_us(name: &CStr, home: &Home) -> bool {
    let bytes = name.to_bytes();
    if !bytes.starts_with(b"cu") && !bytes.starts_with(b"__cuda") {
        return false;
    }
    let ours = home.driver_site(name).is_some()
        || home.runtime.iter().any(|sites| sites.first().is_some_and(|s| s.name == name));
    ours && elf::next(name, Version::Any, |_| true).is_none()
}
