//! The addresses of the thin libcuda.so.1's functions, for calls that return function addresses.
//!
//! Owns finding it among the loaded objects. A program that asks for a function's address gets the one that linking
//! and `dlsym` would have given it: the thin library's jump. So all ways give the same address, and a preloaded
//! tracer recognises it. Must not know: what the functions do.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cushim_abi::index::DRIVER_NAMES;
use cushim_process::elf::{self, Object, Version};

use crate::api::COUNT;

/// Addresses by number; 0 before the first request.
static KNOWN: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

/// The thin library's function with this number; `None` where the library is not loaded.
pub fn address(index: usize) -> Option<usize> {
    let known = KNOWN.get(index)?;
    match known.load(Ordering::Relaxed) {
        0 => {
            let name = CString::new(*DRIVER_NAMES.get(index)?).ok()?;
            let found = elf::find_object(|object| {
                is_thin(&object).then(|| object.symbol(&name, Version::Any)).flatten()
            })?;
            // It stays loaded: libvcuda.so is needed by it and never unloaded either.
            known.store(found, Ordering::Relaxed);
            Some(found)
        }
        found => Some(found),
    }
}

/// Whether it has libcuda's name and is beside this library.
fn is_thin(object: &Object) -> bool {
    static FOLDER: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    if object.soname() != Some(c"libcuda.so.1") {
        return false;
    }
    let own = FOLDER.get_or_init(|| {
        elf::find_object(|object| object.is_own().then(|| folder(object.file_name()))).flatten()
    });
    own.is_some() && folder(object.file_name()) == *own
}

fn folder(file: &CStr) -> Option<std::path::PathBuf> {
    let file = Path::new(std::ffi::OsStr::from_bytes(file.to_bytes()));
    std::fs::canonicalize(file).ok()?.parent().map(Path::to_path_buf)
}
