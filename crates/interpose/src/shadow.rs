//! Variables of the program that have the names of CUDA's functions.
//!
//! Programs that open the driver themselves often keep its functions in variables named `cuInit`, `cuLaunchKernel` and
//! so on (Blender's cuew, slang-rhi, the loader of CUDA's old samples). If a library exports them, the loader binds the
//! library's own references to the first definition in the global scope: a function of a preloaded library of
//! cushim's, into which the program would then store an address. Without cushim there is no such function, because the
//! driver is opened later and locally. So such references are bound to the variables again: at the start for what is
//! loaded then, at the first `dlsym` after a `dlopen`, and before the program opens the driver or looks one of its
//! functions up, which is when it fills such variables in.
//!
//! Not covered: a constructor of a library that `dlopen` loads, if it reads such a variable before any of these calls
//! (docs/limits.md). Must not know: what the functions do.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use cushim_process::elf::{self, Object};

/// Whoever has the driver's functions in variables has one of these.
const USUAL: [&CStr; 2] = [c"cuInit", c"cuLaunchKernel"];

/// Whether `dlopen` was called since the last look.
static OPENED: AtomicBool = AtomicBool::new(false);

/// The program calls `dlopen`.
pub fn opens() {
    OPENED.store(true, Ordering::Release);
}

/// The program calls `dlsym`: looks if it opened a library before. Otherwise this is one load.
pub fn look_if_opened() {
    if OPENED.load(Ordering::Acquire) {
        OPENED.store(false, Ordering::Release);
        look();
    }
}

/// Binds references to such variables again, in everything that has been loaded since the last time.
pub fn look() {
    /// The loader's counts of loaded and unloaded objects at the last look.
    static COUNTS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    /// How many objects, from the first one on, were known then.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);

    let (loads, unloads) = elf::counts();
    let [loads_then, unloads_then] = &COUNTS;
    if loads_then.swap(loads, Ordering::AcqRel) == loads {
        return;
    }
    // New objects come last. Where there are such variables, later objects may refer to those of known ones.
    let is_tail = unloads_then.swap(unloads, Ordering::AcqRel) == unloads;
    let known =
        if is_tail && !FOUND.load(Ordering::Acquire) { KNOWN.load(Ordering::Acquire) } else { 0 };
    let mut count = 0;
    bind(|object| {
        count += 1;
        count > known && USUAL.iter().any(|name| object.variable(name).is_some())
    });
    KNOWN.store(count, Ordering::Release);
}

/// Whether a library has such variables.
static FOUND: AtomicBool = AtomicBool::new(false);

/// As [`look`], before the code at `caller` looks `name` up. A library that another thread was loading at the last
/// [`look`] is found by this variable.
pub fn look_for(name: &CStr, caller: usize) {
    look();
    let Some(asks) = elf::object_at(caller) else { return };
    let Some(variable) = asks.variable(name) else { return };
    let is_shadowed = |to: elf::Relocation| {
        asks.own_variable(to.symbol) == Some(variable)
            && to.of_address().is_some_and(|added| to.bound() != variable.wrapping_add(added))
    };
    if asks.relocations().any(is_shadowed) {
        bind(|object| object.base() == asks.base());
    }
}

/// Binds references to the variables of the libraries that `have` some again, where a library of cushim's shadows them.
fn bind(have: impl FnMut(&Object) -> bool) {
    // One thread at a time writes, and no library goes away meanwhile.
    elf::while_held(|| bind_held(have));
}

fn bind_held(mut have: impl FnMut(&Object) -> bool) {
    let mut owners = Vec::new();
    elf::find_object::<()>(|object| {
        if !is_cushims(&object) && have(&object) {
            owners.push(object);
        }
        None
    });
    if owners.is_empty() {
        return;
    }
    FOUND.store(true, Ordering::Release);
    let mut ours = Vec::new();
    elf::find_object::<()>(|object| {
        if is_cushims(&object) {
            ours.push(object);
        }
        None
    });
    elf::find_object::<()>(|object| {
        if !is_cushims(&object) {
            bind_in(&object, &owners, &ours);
        }
        None
    });
}

fn bind_in(object: &Object, owners: &[Object], ours: &[Object]) {
    for to in object.relocations() {
        let Some(added) = to.of_address().filter(|_| to.symbol != 0) else { continue };
        let bound = to.bound().wrapping_sub(added);
        if !ours.iter().any(|o| o.contains(bound)) {
            continue;
        }
        let of_others = || {
            let name = object.name_of(to.symbol)?;
            let needed = owners.iter().filter(|owner| is_needed(owner, object));
            needed.filter_map(|owner| owner.variable(name)).next()
        };
        if let Some(variable) = object.own_variable(to.symbol).or_else(of_others) {
            object.write_word(to.place, variable.wrapping_add(added));
        }
    }
}

/// Whether `by` was linked with `owner`, and not with the driver, whose function its reference could mean.
fn is_needed(owner: &Object, by: &Object) -> bool {
    owner.soname().is_some_and(|name| by.needs(name)) && !by.needs(c"libcuda.so.1")
}

/// Whether it is this library, or one that the launcher preloads with it.
fn is_cushims(object: &Object) -> bool {
    let path = object.file_name().to_bytes();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    object.is_own() || file.starts_with(b"libcushim")
}
