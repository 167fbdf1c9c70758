//! Source strings that the compiler stores in constants: a region's location, a mapped variable's name.
//!
//! An event refers to such a string by number. A constant keeps its address as long as its library is loaded, so the
//! number is looked up by address; after an unload each address is read again. A string in no loaded file (made by a
//! compiler in the process) may change at any time, and is looked up by content each time.
//!
//! Must not know: what a string means.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use cushim_process::elf;
use cushim_process::table::PointerTable;
use cushim_trace::recorder::Recorder;

use crate::interned::{self, Name};
use crate::keep;
use crate::lock;
use crate::state::Global;

struct Known {
    name: &'static Name,
    /// The count of unloads when it was read.
    unloads: AtomicU32,
}

static KNOWN: PointerTable<Known> = PointerTable::new();
static UNLOADS: AtomicU32 = AtomicU32::new(0);

/// An object was unloaded: the constants may have changed.
pub fn forget() {
    UNLOADS.fetch_add(1, Ordering::AcqRel);
}

/// How often an object was unloaded.
#[inline(always)]
pub fn unloads() -> u32 {
    UNLOADS.load(Ordering::Acquire)
}

/// Whether the number of the text at `address` stays as it is until the next unload, and its record is written.
pub fn is_settled(global: &Global, address: u64) -> bool {
    let known = |known: &Known| {
        known.unloads.load(Ordering::Relaxed) == unloads() && known.name.is_told(global)
    };
    address == 0 || KNOWN.get(address as usize).is_some_and(known)
}

/// A text is not kept beyond this, bytes.
const MOST: usize = 1024;

/// The number of the text at `address`, whose record is written first if necessary; 0 where there
/// is none.
///
/// # Safety
/// `address` is 0 or a C string.
#[inline(always)]
pub unsafe fn number(global: &Global, recorder: &Recorder, address: u64) -> u32 {
    if address == 0 {
        return 0;
    }
    match KNOWN.get(address as usize) {
        Some(known) if known.unloads.load(Ordering::Relaxed) == unloads() => {
            known.name.number(global, recorder)
        }
        // SAFETY: as the caller promises.
        _ => unsafe { look(global, recorder, address) },
    }
}

#[cold]
unsafe fn look(global: &Global, recorder: &Recorder, address: u64) -> u32 {
    // SAFETY: errno is this thread's; what follows allocates.
    let errno = unsafe { *libc::__errno_location() };
    let address = address as usize;
    let unloads = UNLOADS.load(Ordering::Acquire);
    // SAFETY: a C string, as the caller promises.
    let bytes = unsafe {
        let size = libc::strnlen(address as *const libc::c_char, MOST);
        std::slice::from_raw_parts(address as *const u8, size)
    };
    let name = interned::intern(&String::from_utf8_lossy(bytes));
    if elf::object_at(address).is_some() {
        match KNOWN.get(address) {
            // A known text keeps its number: memory does not grow when libraries are loaded again.
            Some(known) if std::ptr::eq(known.name, name) => {
                known.unloads.store(unloads, Ordering::Relaxed);
            }
            _ => {
                let unloads = AtomicU32::new(unloads);
                let known: &'static Known = keep::forever(Known { name, unloads });
                lock::registry(|held| KNOWN.set(&mut held.tables, address, Some(known)));
            }
        }
    }
    let number = name.number(global, recorder);
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    number
}

/// The C string at `address`.
///
/// # Safety
/// `address` is a C string that outlives the result.
pub unsafe fn text<'a>(address: u64) -> &'a CStr {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(address as *const libc::c_char) }
}
