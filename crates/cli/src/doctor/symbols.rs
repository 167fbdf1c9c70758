//! Where the symbols of a stripped CUDA runtime can be found, if anywhere.
//!
//! Owns: the same search that the backends driver and cpu make when they load such a file. Must not know: loading.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use cushim_patch::{File, Runtime, debug};

use super::cuda::{Part, What};
use crate::images::HostFile;

/// Whether a part is a runtime inside a file without symbols: neither in the file itself, nor in
/// the files `named`, nor where debug files are by convention.
pub fn are_lost(part: &Part, named: &[PathBuf]) -> bool {
    part.what == What::StaticRuntime && part.stripped && elsewhere(&part.file, named).is_none()
}

/// What the backends driver and cpu will find when they load the file at `path`, by the rules of
/// the audit library. None: no CUDA runtime inside; else whether it is not redirected, since its
/// functions cannot be located.
pub fn runtime_inside(path: &Path, named: &[PathBuf]) -> Option<bool> {
    let own = HostFile::open(path).ok()?;
    let file = File::parse(own.bytes()).ok()?;
    let facts = file.facts();
    if !facts.may_have_runtime() {
        return None;
    }
    match Runtime::find(&file, &facts, &file) {
        Ok(found) => found.map(|_| false),
        Err(cushim_patch::Error::NoSymbols) => Some(elsewhere(path, named).is_none()),
        Err(_) => Some(true),
    }
}

/// The file with the symbols for `path`; the files `named` are tried first.
fn elsewhere(path: &Path, named: &[PathBuf]) -> Option<PathBuf> {
    let own = HostFile::open(path).ok()?;
    let file = File::parse(own.bytes()).ok()?;
    let conventional = debug::places(path.as_os_str().as_bytes(), &file).into_iter();
    let conventional = conventional.map(|place| PathBuf::from(OsString::from_vec(place)));
    let has_it = |place: &PathBuf| {
        let Ok(opened) = HostFile::open(place) else { return false };
        let Ok(other) = File::parse(opened.bytes()) else { return false };
        let runtime = || Runtime::find(&file, &file.facts(), &other);
        file.belongs(&other) && matches!(runtime(), Ok(Some(_)))
    };
    named.iter().cloned().chain(conventional).find(has_it)
}
