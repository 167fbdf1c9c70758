//! NVIDIA's libcuda, for backend `driver`.
//!
//! Owns finding it (a file, by absolute path: the name would find cushim's own thin library), loading it, and the few
//! functions that cannot be passed through unchanged. Symbols are looked up in the object's own tables, not by
//! `dlsym`, which a preloaded tracer answers. Functions that return addresses are cushim's ([`entry_point`]).
//!
//! Must not know: the runtime.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use cushim_abi::index::DRIVER_NAMES;
use cushim_process::elf::{self, Object, Version};

mod entry_point;

/// Folders of libcuda that the loader's cache may not name: Debian, Fedora, WSL, containers.
const FOLDERS: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib",
    "/usr/local/cuda/compat",
];

/// The file of libcuda: `CUSHIM_LIBCUDA`, the library path, the loader's cache, the usual folders. Never cushim's own
/// thin library, which has that name in none of them unless somebody put it there.
pub fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("CUSHIM_LIBCUDA").filter(|given| !given.is_empty()) {
        return Some(PathBuf::from(given));
    }
    let path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = path.split([':', ';']).filter(|folder| folder.starts_with('/'));
    listed
        .map(|folder| Path::new(folder).join("libcuda.so.1"))
        .chain(cached("libcuda.so.1"))
        .chain(FOLDERS.iter().map(|folder| Path::new(folder).join("libcuda.so.1")))
        .find(|file| file.exists() && !is_ours(file))
}

/// Whether the file is one of cushim's: then it needs libvcuda.so.
fn is_ours(file: &Path) -> bool {
    let Ok(file) = std::fs::canonicalize(file) else { return false };
    file.parent().is_some_and(|folder| {
        folder.join("libvcuda.so").exists() || folder.join("libcushim_cuda.so").exists()
    })
}

/// The paths that the loader's cache has for a name (glibc, `elf/dl-cache.h`: strings after the table; every path is
/// one of them, so the layout of the entries does not matter).
fn cached(name: &str) -> Vec<PathBuf> {
    let Ok(cache) = std::fs::read("/etc/ld.so.cache") else { return Vec::new() };
    let tail = format!("/{name}");
    cache
        .split(|byte| *byte == 0)
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|text| text.starts_with('/') && text.ends_with(&tail))
        .map(PathBuf::from)
        .collect()
}

/// Loads it.
///
/// # Errors
/// What the loader said, for standard error.
pub fn open(file: &Path) -> Result<Object, String> {
    let shown = file.display();
    let Ok(path) = CString::new(file.as_os_str().as_encoded_bytes()) else {
        return Err(format!("backend driver: {shown} cannot be a path"));
    };
    // SAFETY: a NUL-terminated path. Never closed.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: `dlerror` gives a text of this thread, or null.
        let why = unsafe { libc::dlerror() };
        let why = match why.is_null() {
            true => String::from("the loader gives no reason"),
            // SAFETY: not null, so a string, which lasts until this thread asks the loader again.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
        };
        return Err(format!("backend driver: {shown} cannot be loaded: {why}"));
    }
    // The handle of a glibc object is its link map, whose first word is the load address (link.h).
    // SAFETY: as said; the object stays loaded.
    let base = unsafe { handle.cast::<usize>().read() };
    elf::find_object(|object| (object.base() == base).then_some(object)).ok_or_else(|| {
        format!("backend driver: {shown} was loaded, but is not among the loaded objects")
    })
}

/// The driver function with number `index`: libcuda's own, or cushim's replacement.
pub fn function(object: &Object, index: usize) -> Option<*const ()> {
    let name = DRIVER_NAMES.get(index)?;
    let name = CString::new(*name).ok()?;
    let address = object.symbol(&name, Version::Any)?;
    Some(entry_point::instead(index, address).unwrap_or(address as *const ()))
}
