//! Writes memory: the jumps, and the ranges of code that finds no driver.
//!
//! Owns: changing access rights and back, the comparison before anything is overwritten, the table
//! `cushim_refused` of libcushim.so. Must not know: symbols.

use std::ffi::c_void;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cushim_patch::{File, JUMP, Patch, Plan, jump};

use crate::map::{Mapping, Object};

/// Why nothing was written.
#[derive(Debug)]
pub enum Error {
    /// The system does not let code be changed.
    Rights(std::io::Error),
    /// Memory does not hold what the file does.
    Changed {
        /// The function.
        name: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Rights(error) => {
                write!(f, "mprotect failed ({error}); SELinux (execmod) or a sandbox may forbid it")
            }
            Error::Changed { name } => {
                write!(
                    f,
                    "{name} has been changed in memory, by another tool or since the file was replaced"
                )
            }
        }
    }
}

/// Writes the jumps of `plan` into the object at `base`: all or nothing.
pub fn apply(base: u64, plan: &Plan<'_>) -> Result<(), Error> {
    if let Some(changed) = plan.patches.iter().find(|patch| !is_as_before(base, patch)) {
        return Err(Error::Changed { name: String::from_utf8_lossy(changed.name).into_owned() });
    }
    // SAFETY: cannot fail for this name.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let begin = base.wrapping_add(plan.span.0) as usize / page * page;
    let end = (base.wrapping_add(plan.span.1) as usize).div_ceil(page) * page;
    let rights = |write: i32| {
        let usual = [(4, libc::PROT_READ), (2, libc::PROT_WRITE), (1, libc::PROT_EXEC)];
        let usual = usual.iter().filter(|(flag, _)| plan.flags & flag != 0).fold(0, |a, b| a | b.1);
        // SAFETY: pages of the object's code. As execution stays allowed, removing the right to
        // write cannot be refused: nothing is half done.
        let done = unsafe { libc::mprotect(begin as *mut c_void, end - begin, usual | write) };
        if done == 0 { Ok(()) } else { Err(Error::Rights(std::io::Error::last_os_error())) }
    };
    rights(libc::PROT_WRITE)?;
    for patch in &plan.patches {
        let code = jump(patch.target);
        let at = base.wrapping_add(patch.address) as *mut u8;
        // SAFETY: JUMP bytes of the function's own, writable now; no thread runs here, since the object's
        // constructors have not.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at, JUMP) };
    }
    // A failure leaves the code writable, not wrong.
    let _ = rights(0);
    Ok(())
}

/// Whether memory holds what the file does.
fn is_as_before(base: u64, patch: &Patch<'_>) -> bool {
    let at = base.wrapping_add(patch.address) as *const u8;
    // SAFETY: code of a loaded object, inside an executable segment of its file.
    let now = unsafe { std::slice::from_raw_parts(at, patch.before.len()) };
    now == patch.before
}

/// A pair in the table of libcushim.so: begin and end of a part.
type Pair = [AtomicUsize; 2];

/// The objects for which there is no driver, and their pairs.
static REFUSED: Mutex<Vec<(usize, &'static Pair)>> = Mutex::new(Vec::new());

/// The table in libcushim.so, if that is loaded.
fn table(object: &Object) -> &'static [Pair] {
    for loaded in object.all() {
        if loaded.path().file_name().is_none_or(|name| name != "libcushim.so") {
            continue;
        }
        let Some(mapping) = Mapping::open(loaded.path()) else { continue };
        let Ok(file) = File::parse(mapping.bytes()) else { continue };
        if let Some((address, size)) = file.variable(b"cushim_refused") {
            let at = loaded.base().wrapping_add(address) as *const Pair;
            // SAFETY: a variable of that size in a library that is preloaded, hence never unloaded.
            return unsafe { std::slice::from_raw_parts(at, size as usize / size_of::<Pair>()) };
        }
    }
    &[]
}

/// From now on `dlopen` finds no driver for callers in this part of `object`. Does nothing where
/// the table is full.
pub fn refuse(object: &Object, part: (u64, u64)) {
    let address = |at: u64| object.base().wrapping_add(at) as usize;
    let free = |pair: &&Pair| pair[1].load(Ordering::Relaxed) == 0;
    let Some(pair) = table(object).iter().find(free) else { return };
    let [begin, end] = pair;
    begin.store(address(part.0), Ordering::Relaxed);
    end.store(address(part.1), Ordering::Release);
    if let Ok(mut refused) = REFUSED.try_lock() {
        refused.push((object.id(), pair));
    }
}

/// The object with this id is unloaded: others may take its addresses.
pub fn allow(id: usize) {
    let Ok(mut refused) = REFUSED.try_lock() else { return };
    refused.retain(|(object, [_, end])| {
        if *object == id {
            end.store(0, Ordering::Release);
        }
        *object != id
    });
}
