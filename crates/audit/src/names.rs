//! Further names by which programs open CUDA's libraries.
//!
//! The loader uses a loaded library for a name if it is that library's file or SONAME: `libcuda.so.1`. For
//! `libcuda.so`, which toolkits and drivers install and which means the same library, it would search folders; LLVM's
//! libomptarget and many bindings open that one. For such a name, this module returns the path of the preloaded
//! library, which the loader knows is loaded. A name with a folder means that file; it means the preloaded library if
//! there is such a file: Python's packages open `libcudart.so.13` of a wheel by its path, and that runtime works over
//! NVIDIA's driver only. Over that driver it stays unchanged.
//!
//! Owns: which name means which library. Must not know: objects.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

use crate::say;

/// A library that stands for one of NVIDIA's: its file, the name of NVIDIA's without the version,
/// and the version.
struct Front {
    file: &'static str,
    name: &'static str,
    major: u32,
}

/// The preloaded ones; a name without a version means the first of that name.
const FRONTS: [Front; 5] = [
    Front { file: "libcushim_cuda.so", name: "libcuda.so", major: 1 },
    Front { file: "libcushim_cudart13.so", name: "libcudart.so", major: 13 },
    Front { file: "libcushim_cudart12.so", name: "libcudart.so", major: 12 },
    Front { file: "libcushim_cudart11.so", name: "libcudart.so", major: 11 },
    Front { file: "libcushim_nvml.so", name: "libnvidia-ml.so", major: 1 },
];

/// Where each was loaded from; never freed, since the loader keeps the answer.
static LOADED: Mutex<[Option<&'static CStr>; FRONTS.len()]> = Mutex::new([None; FRONTS.len()]);

/// A file was loaded into the program's namespace from this path.
pub fn loaded(path: &[u8]) {
    let file = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    let Some(place) = FRONTS.iter().position(|front| front.file.as_bytes() == file) else { return };
    let (Ok(mut loaded), Ok(path)) = (LOADED.try_lock(), CString::new(path)) else { return };
    if let Some(slot) = loaded.get_mut(place) {
        // Called once for each library and process.
        *slot = Some(Box::leak(path.into_boxed_c_str()));
    }
}

/// The index in [`FRONTS`] of the library that `name` means. `libcudart.so.12.4.127` is 12's; the driver's version
/// after `libcuda.so.` says nothing about its interface.
fn place(name: &[u8]) -> Option<usize> {
    let meant = |front: &Front| {
        let rest = name.strip_prefix(front.name.as_bytes())?;
        match rest.strip_prefix(b".") {
            None => rest.is_empty().then_some(()),
            Some(_) if front.major == 1 => Some(()),
            Some(version) => {
                let major = version.split(|b| *b == b'.').next()?;
                (std::str::from_utf8(major).ok()?.parse() == Ok(front.major)).then_some(())
            }
        }
    };
    FRONTS.iter().position(|front| meant(front).is_some())
}

/// The path to open instead of `name`, if any.
pub fn answer(name: &CStr) -> Option<&'static CStr> {
    let (folder, bytes) = split(name.to_bytes());
    if ![&b"libcuda"[..], b"libnvidia-ml"].iter().any(|name| bytes.starts_with(name)) {
        return None;
    }
    let place = place(bytes)?;
    if folder && (say::over_nvidias_driver() || !exists(name)) {
        return None;
    }
    LOADED.try_lock().ok()?.get(place).copied().flatten()
}

/// Whether a name has a folder, and the name of its file.
fn split(name: &[u8]) -> (bool, &[u8]) {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (true, name.get(at + 1..).unwrap_or_default()),
        None => (false, name),
    }
}

/// Whether there is such a file.
fn exists(path: &CStr) -> bool {
    Path::new(OsStr::from_bytes(path.to_bytes())).exists()
}
